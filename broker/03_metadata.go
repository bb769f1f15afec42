package broker

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
	"ringmain/model"
)

// Metadata, versions 0 to 13.
//
//   - v0 an empty list means all topics; from v1 null does, and empty means none
//   - v4 the client says whether a topic may be created; before it always may
//   - v5 offline replicas, v7 leader epochs, v8 authorized operations
//   - v9 flexible, v10 topic ids in the answer, v12 in the request, v13 an
//     error for the whole answer (KIP-1102), which we never need
//
// Brokers are given with the address that they advertise on the listener which
// the request came in on. A topic that does not exist is created if it may be,
// and answered UNKNOWN_TOPIC_OR_PARTITION this once, as Kafka does: clients
// ask again, and test suites expect the error.
var metadataAPI = api{key: 3, min: 0, max: 13, serve: serveMetadata}

func serveMetadata(a *admin, ctx context.Context, c *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.MetadataRequest)
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	if malformedMetadata(req) {
		for i := range req.Topics {
			t := &req.Topics[i]
			out := kmsg.NewMetadataResponseTopic()
			out.ErrorCode, out.Topic, out.TopicID = kerr.InvalidRequest.Code, t.Topic, t.TopicID
			if out.Topic == nil {
				out.Topic = new(string)
			}
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	}
	img := a.meta.Image()
	resp.Brokers = metadataBrokers(img, c.listener)
	if id := img.ClusterID(); id != "" {
		resp.ClusterID = &id
	}
	resp.ControllerID = a.cfg.NodeID
	resp.AuthorizedOperations = operations(req.IncludeClusterAuthorizedOperations, allClusterOperations)
	d := topicDescriber{img: img, listener: c.listener, version: req.Version,
		operations: operations(req.IncludeTopicAuthorizedOperations, allTopicOperations)}
	switch {
	case req.Topics == nil, req.Version == 0 && len(req.Topics) == 0:
		names := img.TopicNames()
		resp.Topics = make([]kmsg.MetadataResponseTopic, 0, len(names))
		for _, name := range names {
			resp.Topics = append(resp.Topics, d.topic(img.Topic(name)))
		}
	case slices.ContainsFunc(req.Topics, func(t kmsg.MetadataRequestTopic) bool { return t.TopicID != [16]byte{} }):
		resp.Topics = d.byID(req.Topics)
	default:
		var missing []string
		resp.Topics, missing = d.byName(req.Topics)
		if a.cfg.AutoCreateTopics && (req.Version < 4 || req.AllowAutoTopicCreation) {
			a.autoCreate(ctx, missing)
		}
	}
	return resp
}

// malformedMetadata says whether the request mixes what its version cannot: a
// topic id before v12 (KIP-516), or a topic with neither name nor id.
func malformedMetadata(req *kmsg.MetadataRequest) bool {
	for i := range req.Topics {
		byID := req.Topics[i].TopicID != [16]byte{}
		if byID && req.Version < 12 || !byID && req.Topics[i].Topic == nil {
			return true
		}
	}
	return false
}

// metadataBrokers lists the brokers that serve clients, with their addresses
// on the listener.
func metadataBrokers(img *metadata.Image, listener string) []kmsg.MetadataResponseBroker {
	out := make([]kmsg.MetadataResponseBroker, 0, len(img.Brokers()))
	for _, b := range img.Brokers() {
		e := b.Endpoint(listener)
		if e == nil || b.Fenced {
			continue
		}
		m := kmsg.NewMetadataResponseBroker()
		m.NodeID, m.Host, m.Port, m.Rack = b.ID, e.Host, e.Port, rackOf(b)
		out = append(out, m)
	}
	return out
}

func rackOf(b *metadata.Broker) *string {
	if b.Rack == "" {
		return nil
	}
	rack := b.Rack
	return &rack
}

// topicDescriber writes the topics of one answer.
type topicDescriber struct {
	img        *metadata.Image
	listener   string
	version    int16
	operations int32
}

// byID answers a request by topic ids; names beside them are ignored, as in
// Kafka. Unknown ids come first.
func (d *topicDescriber) byID(asked []kmsg.MetadataRequestTopic) []kmsg.MetadataResponseTopic {
	var unknown, known []kmsg.MetadataResponseTopic
	seen := make(map[[16]byte]bool, len(asked))
	for i := range asked {
		id := asked[i].TopicID
		if id == [16]byte{} || seen[id] {
			continue
		}
		seen[id] = true
		if t := d.img.TopicByID(model.TopicID(id)); t != nil {
			known = append(known, d.topic(t))
			continue
		}
		out := kmsg.NewMetadataResponseTopic()
		out.ErrorCode, out.TopicID = kerr.UnknownTopicID.Code, id // operations: those of names only
		unknown = append(unknown, out)
	}
	return append(unknown, known...)
}

// byName answers a request by names, each once: first the topics that exist,
// then the others. missing are the valid names among the latter.
func (d *topicDescriber) byName(asked []kmsg.MetadataRequestTopic) (topics []kmsg.MetadataResponseTopic, missing []string) {
	var absent []kmsg.MetadataResponseTopic
	topics = make([]kmsg.MetadataResponseTopic, 0, len(asked))
	seen := make(map[string]bool, len(asked))
	for i := range asked {
		name := *asked[i].Topic
		if seen[name] {
			continue
		}
		seen[name] = true
		if t := d.img.Topic(name); t != nil {
			topics = append(topics, d.topic(t))
			continue
		}
		out := kmsg.NewMetadataResponseTopic()
		out.Topic, out.IsInternal, out.AuthorizedOperations = &name, isInternalTopic(name), d.operations
		if bad := checkTopicName(name); bad != nil {
			out.ErrorCode = bad.code
		} else {
			out.ErrorCode = kerr.UnknownTopicOrPartition.Code
			missing = append(missing, name)
		}
		absent = append(absent, out)
	}
	return append(topics, absent...), missing
}

func (d *topicDescriber) topic(t *metadata.Topic) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID, out.IsInternal = &t.Name, t.ID, isInternalTopic(t.Name)
	out.AuthorizedOperations = d.operations
	out.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(t.Partitions))
	for i := range t.Partitions {
		p := &t.Partitions[i]
		m := &out.Partitions[i]
		m.Partition, m.Leader, m.LeaderEpoch = int32(i), p.Leader, p.LeaderEpoch
		m.Replicas, m.ISR, m.OfflineReplicas = p.Replicas, p.ISR, offlineReplicas(d.img, p, d.listener)
		m.ErrorCode = leaderError(d.img, p, d.listener, d.version >= 6)
		if m.ErrorCode == kerr.LeaderNotAvailable.Code {
			m.Leader = model.NoBroker
		}
	}
	return out
}

// leaderError says why clients of a listener cannot use a partition's leader:
// there is none, or it has no such listener (a code that clients know from
// Metadata v6 on).
func leaderError(img *metadata.Image, p *metadata.Partition, listener string, knowsListenerError bool) int16 {
	b := img.Broker(p.Leader)
	switch {
	case b == nil || b.Fenced:
		return kerr.LeaderNotAvailable.Code
	case b.Endpoint(listener) != nil:
		return 0
	case knowsListenerError:
		return kerr.ListenerNotFound.Code
	}
	return kerr.LeaderNotAvailable.Code
}

// offlineReplicas lists the replicas whose broker clients of a listener cannot
// reach.
func offlineReplicas(img *metadata.Image, p *metadata.Partition, listener string) []int32 {
	var out []int32
	for _, id := range p.Replicas {
		if b := img.Broker(id); b == nil || b.Fenced || b.Endpoint(listener) == nil {
			out = append(out, id)
		}
	}
	return out
}
