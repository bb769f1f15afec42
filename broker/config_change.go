package broker

import (
	"context"
	"maps"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/config"
	"ringmain/metadata"
)

// configEdit is one operation on one key.
type configEdit struct {
	key   string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

// configChange is what one request wants of one resource's configuration.
type configChange struct {
	kind    kmsg.ConfigResourceType
	name    string
	edits   []configEdit
	replace bool // what is not in edits goes away

	bad  *refusal // what is wrong with the request itself
	late *refusal // what the metadata says against it
}

func (c *configChange) refusal() *refusal {
	if c.bad != nil {
		return c.bad
	}
	return c.late
}

// alterConfigs makes the changes that can be made; each resource stands for
// itself. With validateOnly all is checked and nothing changed. When it
// returns, the changes are in effect on this broker.
func (a *admin) alterConfigs(ctx context.Context, changes []*configChange, validateOnly bool) {
	resources := make(map[metadata.ResourceRef]int, len(changes))
	for _, c := range changes {
		resources[c.ref()]++
	}
	sound := false
	for _, c := range changes {
		c.bad = a.checkResource(c)
		if resources[c.ref()] > 1 {
			c.bad = refuse(kerr.InvalidRequest, "the request names %v %q more than once", c.ref().Kind, c.name)
		}
		sound = sound || c.bad == nil
	}
	if !sound {
		return
	}
	for _, c := range changes {
		if c.bad == nil && c.kind == kmsg.ConfigResourceTypeBrokerLogger {
			// Not metadata: levels are this broker's, and only while it runs.
			c.bad = a.loggers.alter(c.edits, validateOnly)
		}
	}
	plan := func(img *metadata.Image) ([]metadata.Record, error) {
		var records []metadata.Record
		for _, c := range changes {
			if c.bad != nil || c.kind == kmsg.ConfigResourceTypeBrokerLogger {
				continue
			}
			var next map[string]string
			if next, c.late = a.planConfig(img, c); c.late == nil {
				records = appendConfigRecords(records, c.ref(), img.Config(c.ref().Kind, c.name), next)
			}
		}
		return records, nil
	}
	if validateOnly {
		plan(a.meta.Image())
		return
	}
	if why := adminRefusal(a.change(ctx, configTimeoutMs, plan)); why != nil {
		for _, c := range changes {
			if c.late == nil && c.kind != kmsg.ConfigResourceTypeBrokerLogger {
				c.late = why
			}
		}
	}
}

func (c *configChange) ref() metadata.ResourceRef {
	return metadata.ResourceRef{Kind: metadata.ResourceKind(c.kind), Name: c.name}
}

// checkResource says what is wrong with the kind of a resource, or with the name
// of a broker.
func (a *admin) checkResource(c *configChange) *refusal {
	switch c.kind {
	case kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig:
	case kmsg.ConfigResourceTypeBroker:
		if c.name != "" {
			return a.checkNode(c.name)
		}
	case kmsg.ConfigResourceTypeBrokerLogger:
		if c.replace {
			return refuse(kerr.InvalidRequest, "levels of loggers can only be changed one by one (IncrementalAlterConfigs)")
		}
		return a.checkNode(c.name)
	default:
		return refuse(kerr.InvalidRequest, "there is no resource type %d", c.kind)
	}
	return nil
}

// checkResourceName says what is wrong with the name of a resource that is no broker.
func checkResourceName(kind kmsg.ConfigResourceType, name string) *refusal {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		if name == "" {
			return refuse(kerr.InvalidRequest, "a topic's name is missing: there are no configurations for all topics; set the broker's")
		}
		return checkTopicName(name)
	case kmsg.ConfigResourceTypeClientMetrics:
		if name == "" {
			return refuse(kerr.InvalidRequest, "a subscription to client metrics needs a name")
		}
	case kmsg.ConfigResourceTypeGroupConfig:
		if name == "" {
			return refuse(kerr.InvalidRequest, "a group needs a name: there are no configurations for all groups; set the broker's")
		}
	}
	return nil
}

// planConfig gives what a resource shall be set to after a change. Of several
// mistakes the one is told that Kafka tells: first what is wrong with the
// operations, then with the resource's name, then with the values, and only then
// that there is no such topic.
func (a *admin) planConfig(img *metadata.Image, c *configChange) (map[string]string, *refusal) {
	layers := a.configs.layers(img, a.cfg.NodeID)
	holds := layers.BrokerHolds
	if c.kind == kmsg.ConfigResourceTypeTopic {
		holds = layers.TopicHolds
	}
	had := img.Config(c.ref().Kind, c.name)
	if c.replace {
		had = nil
	}
	edits := make([]config.Change, len(c.edits))
	for i, e := range c.edits {
		edits[i] = config.Change{Key: e.key, Op: config.Op(e.op), Null: e.value == nil}
		if e.value != nil {
			edits[i].Value = *e.value
		}
	}
	next, err := config.Apply(config.Kind(c.kind), had, holds, edits)
	if err != nil {
		return nil, configRefusal(err)
	}
	if bad := checkResourceName(c.kind, c.name); bad != nil {
		return nil, bad
	}
	if bad := a.checkConfigs(img, c.ref(), next, c.setKeys()); bad != nil {
		return nil, bad
	}
	if c.kind == kmsg.ConfigResourceTypeTopic && img.Topic(c.name) == nil {
		return nil, refuse(kerr.UnknownTopicOrPartition, "there is no topic %q", c.name)
	}
	return next, nil
}

// setKeys are the keys that get a value; deleting one is always allowed.
func (c *configChange) setKeys() []string {
	var keys []string
	for _, e := range c.edits {
		if e.op != kmsg.IncrementalAlterConfigOpDelete {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// checkConfigs checks all that a resource is to be set to, together.
func (a *admin) checkConfigs(img *metadata.Image, ref metadata.ResourceRef, next map[string]string, set []string) *refusal {
	layers := a.configs.layers(img, a.cfg.NodeID)
	switch ref.Kind {
	case metadata.TopicResource:
		return configRefusal(layers.ValidateTopic(next))
	case metadata.BrokerResource:
		return configRefusal(layers.ValidateBroker(next, ref.Name == "", set))
	case metadata.GroupResource:
		return configRefusal(layers.ValidateGroup(next))
	case metadata.ClientMetricsResource:
		return configRefusal(config.ValidateClientMetrics(next))
	}
	return nil
}

// appendConfigRecords appends the records that turn one set of configurations
// into another, in order of their keys.
func appendConfigRecords(dst []metadata.Record, ref metadata.ResourceRef, had, next map[string]string) []metadata.Record {
	all := maps.Clone(next)
	if all == nil {
		all = map[string]string{}
	}
	for key := range had {
		if _, kept := next[key]; !kept {
			all[key] = ""
		}
	}
	for _, key := range sortedNames(all) {
		record := metadata.ConfigRecord{Kind: ref.Kind, Name: ref.Name, Key: key}
		value, kept := next[key]
		if kept {
			record.Value = &value
		}
		if was, had := had[key]; had != kept || was != value {
			dst = append(dst, record)
		}
	}
	return dst
}
