package broker

import (
	"cmp"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/config"
	"ringmain/metadata"
)

// configsOf answers what holds for a resource and what it may be set to: the
// metadata's dynamic configurations over server.properties over the defaults.
type configsOf struct {
	server *config.Server
}

// layers gives what lies below topics and groups on this broker.
func (s configsOf) layers(img *metadata.Image, node int32) config.Layers {
	return config.Layers{
		Server:  s.server,
		Broker:  img.Config(metadata.BrokerResource, nodeName(node)),
		Cluster: img.Config(metadata.BrokerResource, ""),
	}
}

// byName sorts entries, as CreateTopics shows them.
func byName(entries []config.Entry) []config.Entry {
	slices.SortFunc(entries, func(x, y config.Entry) int { return cmp.Compare(x.Name, y.Name) })
	return entries
}

// textOrNull gives a value as the wire has it.
func textOrNull(text string, null bool) *string {
	if null {
		return nil
	}
	return &text
}

// configRefusal turns an error of package config into an answer.
func configRefusal(err error) *refusal {
	var invalid *config.InvalidError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid) && invalid.BadRequest:
		return refuse(kerr.InvalidRequest, "%s", invalid.Message)
	}
	return refuse(kerr.InvalidConfig, "%s", err)
}
