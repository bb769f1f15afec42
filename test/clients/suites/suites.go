// Package suites names the clients whose own tests are run, so that their versions
// and what their tests need are pinned in this module's go.mod and go.sum.
package suites

import (
	_ "github.com/IBM/sarama"
	_ "github.com/Shopify/toxiproxy/v2"
	_ "github.com/segmentio/kafka-go"
	_ "github.com/twmb/franz-go/pkg/kadm"
	_ "github.com/twmb/franz-go/pkg/kgo"
)
