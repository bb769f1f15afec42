package main

import (
	"strconv"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func newConfigCmd() *cobra.Command {
	t := &target{}
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and change configs of topics, brokers and groups",
		Long: "Show and change configs. A resource is named by two words:\n\n" +
			"  topic NAME            a topic\n" +
			"  broker ID             one broker\n" +
			"  broker default        all brokers, where they have no value of their own\n" +
			"  group NAME            a consumer group\n" +
			"  client-metrics NAME   a client metrics subscription",
		Example: "  ringmain config describe topic orders\n" +
			"  ringmain config set topic orders retention.ms=3600000\n" +
			"  ringmain config append topic orders cleanup.policy=compact\n" +
			"  ringmain config delete broker default log.retention.ms",
		RunE: needCommand,
	}
	t.flags(cmd)
	cmd.AddCommand(
		newConfigDescribeCmd(t),
		newConfigSetCmd(t),
		newConfigDeleteCmd(t),
		newConfigAppendCmd(t),
		newConfigSubtractCmd(t),
	)
	return cmd
}

// configResource names what configs belong to, in Kafka's terms: brokers by
// their id in decimal, or "" for the default of all brokers.
type configResource struct {
	kind kmsg.ConfigResourceType
	name string
}

// allBrokers is how a person names the default of all brokers.
const allBrokers = "default"

func parseResource(kind, name string) (configResource, error) {
	switch kind {
	case "topic":
		return configResource{kmsg.ConfigResourceTypeTopic, name}, nil
	case "group":
		return configResource{kmsg.ConfigResourceTypeGroupConfig, name}, nil
	case "client-metrics":
		return configResource{kmsg.ConfigResourceTypeClientMetrics, name}, nil
	case "broker":
		if name == allBrokers {
			return configResource{kmsg.ConfigResourceTypeBroker, ""}, nil
		}
		if id, err := strconv.ParseInt(name, 10, 32); err != nil || id < 0 {
			return configResource{}, usagef("broker %q is not an id; give a number, or %q for all brokers", name, allBrokers)
		}
		return configResource{kmsg.ConfigResourceTypeBroker, name}, nil
	}
	return configResource{}, usagef("resource type %q is not known; use topic, broker, group or client-metrics", kind)
}

// word is the type of the resource as parseResource reads it.
func (r configResource) word() string {
	switch r.kind {
	case kmsg.ConfigResourceTypeTopic:
		return "topic"
	case kmsg.ConfigResourceTypeGroupConfig:
		return "group"
	case kmsg.ConfigResourceTypeClientMetrics:
		return "client-metrics"
	}
	return "broker"
}

// shown is the name of the resource as parseResource reads it.
func (r configResource) shown() string {
	if r.kind == kmsg.ConfigResourceTypeBroker && r.name == "" {
		return allBrokers
	}
	return r.name
}

func (r configResource) String() string { return r.word() + " " + strconv.Quote(r.shown()) }
