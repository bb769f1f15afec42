package broker

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/config"
	"ringmain/metadata"
)

// CreateTopics, versions 2 to 7.
//
//   - v5 flexible; the answer tells partitions, replicas and configurations of
//     what was created
//   - v6 may be refused by the quota on changes of the metadata (KIP-599)
//   - v7 topic ids
//
// -1 partitions or replicas stand for the broker's defaults in every version:
// KIP-464 made it part of v4, Kafka takes it in older ones too. With a timeout
// of 0 or less nothing is done, and each entry is REQUEST_TIMED_OUT whatever else is
// wrong with it, unless none could have been done anyway: Kafka's behaviour, and
// that of the other requests that change topics.
//
// The answer comes when the topics are served here. Two names in one request
// that differ only in '.' and '_' do not collide with each other, only with
// topics that exist: Kafka's behaviour.
var createTopicsAPI = api{key: 19, min: 2, max: 7, serve: createTopics}

func createTopics(a *admin, ctx context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.CreateTopicsRequest)
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	named := make(map[string]int, len(req.Topics))
	for i := range req.Topics {
		named[req.Topics[i].Topic]++
	}
	specs := make([]topicSpec, 0, len(req.Topics))
	var refused []kmsg.CreateTopicsResponseTopic // before the metadata is looked at; they come last
	for i := range req.Topics {
		t := &req.Topics[i]
		switch n := named[t.Topic]; {
		case n == 0: // answered already
		case n > 1:
			refused = append(refused, refusedTopic(t.Topic, refuse(kerr.InvalidRequest, "topic %q is named more than once in the request", t.Topic)))
			named[t.Topic] = 0
		case t.Topic == clusterMetadataTopic:
			refused = append(refused, refusedTopic(t.Topic, refuse(kerr.InvalidRequest, "%s is internal and cannot be created", t.Topic)))
		default:
			specs = append(specs, specOf(t))
		}
	}
	whole := a.creationsRefusal(req, specs)
	var outcome []topicOutcome
	if whole == nil && len(specs) > 0 {
		outcome, whole = a.createTopics(ctx, req, specs)
	}
	if whole != nil { // each entry as it stands, whatever else is wrong with it
		resp.Topics = make([]kmsg.CreateTopicsResponseTopic, 0, len(req.Topics))
		for i := range req.Topics {
			out := refusedTopic(req.Topics[i].Topic, whole)
			out.ErrorCode, out.ErrorMessage = whole.told(i)
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	}
	img := a.meta.Image()
	resp.Topics = make([]kmsg.CreateTopicsResponseTopic, 0, len(specs)+len(refused))
	for i := range specs {
		if bad := outcome[i].bad; bad != nil {
			resp.Topics = append(resp.Topics, refusedTopic(specs[i].name, bad))
		} else {
			resp.Topics = append(resp.Topics, a.createdTopic(img, specs[i], outcome[i].plannedTopic))
		}
	}
	resp.Topics = append(resp.Topics, refused...)
	return resp
}

// creationsRefusal says why no topic of a request is even looked at.
func (a *admin) creationsRefusal(req *kmsg.CreateTopicsRequest, specs []topicSpec) *refusal {
	if req.TimeoutMillis <= 0 && len(specs) > 0 {
		return bare(kerr.RequestTimedOut)
	}
	return a.tooManyPartitions(specs)
}

// topicOutcome is what became of one topic of the request.
type topicOutcome struct {
	plannedTopic
	bad *refusal
}

// createTopics creates what can be created. whole is set when it is not known
// what became of the topics that could.
func (a *admin) createTopics(ctx context.Context, req *kmsg.CreateTopicsRequest, specs []topicSpec) (outcome []topicOutcome, whole *refusal) {
	plan := func(img *metadata.Image) ([]metadata.Record, error) {
		outcome = make([]topicOutcome, len(specs))
		var records []metadata.Record
		for i := range specs {
			outcome[i].plannedTopic, outcome[i].bad = a.planTopic(img, specs[i])
			records = append(records, outcome[i].records...)
		}
		return records, nil
	}
	if req.ValidateOnly {
		plan(a.meta.Image())
		return outcome, nil
	}
	if bad := adminRefusal(a.change(ctx, req.TimeoutMillis, plan)); bad != nil {
		// What was refused before the records were written stays refused.
		for i := range outcome {
			if outcome[i].bad == nil {
				outcome[i].bad = bad
			}
		}
		if outcome == nil {
			return nil, bad
		}
	}
	return outcome, nil
}

// specOf takes a topic from the request. Of a configuration that is given
// twice the last value counts, as in Kafka.
func specOf(t *kmsg.CreateTopicsRequestTopic) topicSpec {
	s := topicSpec{name: t.Topic, partitions: t.NumPartitions, replicationFactor: t.ReplicationFactor}
	for _, m := range t.ReplicaAssignment {
		s.assignment = append(s.assignment, manualPartition{m.Partition, m.Replicas})
	}
	if len(t.Configs) > 0 {
		s.configs = make(map[string]string, len(t.Configs))
	}
	for _, c := range t.Configs {
		if config.IgnoredTopicKey(c.Name) {
			continue // Kafka removed it in 4.0; old tools still send it
		}
		if c.Value == nil {
			s.badConfig = refuse(kerr.InvalidConfig, "the configuration %q of topic %q is null; leave it out to have the default", c.Name, t.Topic)
			continue
		}
		s.configs[c.Name] = *c.Value
	}
	return s
}

func refusedTopic(name string, why *refusal) kmsg.CreateTopicsResponseTopic {
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.NumPartitions, out.ReplicationFactor = name, -1, -1
	out.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // null would mean something else to clients
	out.ErrorCode, out.ErrorMessage = why.wire()
	return out
}

func (a *admin) createdTopic(img *metadata.Image, s topicSpec, t plannedTopic) kmsg.CreateTopicsResponseTopic {
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.NumPartitions, out.ReplicationFactor = s.name, t.partitions, t.replicationFactor
	out.TopicID = t.id
	out.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	for _, e := range byName(a.configs.layers(img, a.cfg.NodeID).DescribeTopic(s.configs)) {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.ReadOnly, c.Source, c.IsSensitive = e.Name, textOrNull(e.Value, e.Null), e.ReadOnly, int8(e.Source), e.Sensitive
		if asWritten, set := s.configs[e.Name]; set {
			c.Value = &asWritten // here Kafka gives back what it got; DescribeConfigs shows the parsed value
		}
		out.Configs = append(out.Configs, c)
	}
	return out
}

// sortedNames gives a map's keys in order.
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
