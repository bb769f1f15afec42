// Package deps pins modules that packages still being written import.
package deps

import (
	_ "github.com/HdrHistogram/hdrhistogram-go"
	_ "github.com/hashicorp/go-hclog"
	_ "github.com/hashicorp/raft"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/panjf2000/gnet/v2"
	_ "github.com/pierrec/lz4/v4"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/spf13/cobra"
	_ "github.com/twmb/franz-go/pkg/kadm"
	_ "github.com/twmb/franz-go/pkg/kgo"
	_ "github.com/twmb/franz-go/pkg/kmsg"
	_ "golang.org/x/sys/unix"
)
