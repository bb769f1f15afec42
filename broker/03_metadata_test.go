package broker

import (
	"math"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
	"ringmain/model"
)

func metadataOfTopics(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func topicErrors(resp *kmsg.MetadataResponse) map[string]int16 {
	errs := map[string]int16{}
	for _, t := range resp.Topics {
		errs[*t.Topic] = t.ErrorCode
	}
	return errs
}

func TestMetadataNullAndEmptyTopics(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "b", 2)
	addTopic(t, meta, "a", 1)
	for version := int16(0); version <= 13; version++ {
		empty := serve[*kmsg.MetadataResponse](t, a, version, metadataOfTopics())
		if want := map[bool]int{true: 2, false: 0}[version == 0]; len(empty.Topics) != want {
			t.Errorf("v%d: an empty list gives %d topics, want %d", version, len(empty.Topics), want)
		}
		if version == 0 {
			continue
		}
		all := serve[*kmsg.MetadataResponse](t, a, version, kmsg.NewPtrMetadataRequest())
		if len(all.Topics) != 2 || *all.Topics[0].Topic != "a" || *all.Topics[1].Topic != "b" || len(all.Topics[1].Partitions) != 2 {
			t.Errorf("v%d: all topics are %+v", version, all.Topics)
		}
		if all.ControllerID != 1 || version >= 2 && *all.ClusterID != stubCluster {
			t.Errorf("v%d: controller %d, cluster %v", version, all.ControllerID, all.ClusterID)
		}
		p := all.Topics[0].Partitions[0]
		if p.Leader != 1 || !slices.Equal(p.Replicas, []int32{1}) || !slices.Equal(p.ISR, []int32{1}) || len(p.OfflineReplicas) != 0 {
			t.Errorf("v%d: partition %+v", version, p)
		}
		if version >= 7 && p.LeaderEpoch != 0 {
			t.Errorf("v%d: leader epoch %d, want 0", version, p.LeaderEpoch)
		}
		if id := all.Topics[0].TopicID; (version >= 10) != (id != [16]byte{}) {
			t.Errorf("v%d: topic id %v", version, id)
		}
	}
}

func TestMetadataNamesErrorsAndOrder(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "there", 1)
	req := metadataOfTopics("absent", "there", "a b", "", ".", "there", "__consumer_offsets")
	req.AllowAutoTopicCreation = false
	resp := serve[*kmsg.MetadataResponse](t, a, 12, req)
	want := map[string]int16{"there": 0, "absent": 3, "a b": 17, "": 17, ".": 17, "__consumer_offsets": 3}
	got := topicErrors(resp)
	if len(resp.Topics) != len(want) {
		t.Fatalf("%d topics, want %d: one for each name", len(resp.Topics), len(want))
	}
	for name, code := range want {
		if got[name] != code {
			t.Errorf("topic %q: code %d, want %d", name, got[name], code)
		}
	}
	if *resp.Topics[0].Topic != "there" {
		t.Errorf("the first topic is %q; topics that exist come first", *resp.Topics[0].Topic)
	}
	for _, topic := range resp.Topics {
		if topic.IsInternal != (*topic.Topic == "__consumer_offsets") {
			t.Errorf("topic %q: internal %v", *topic.Topic, topic.IsInternal)
		}
	}
	if a.meta.Image().NumTopics() != 1 {
		t.Error("a topic was created although the client did not allow it")
	}
}

func TestMetadataAutoCreation(t *testing.T) {
	a, meta, _ := newAdmin(t)
	a.cfg.NumPartitions = 3
	for _, c := range []struct {
		version int16
		allowed bool
		created bool
	}{{0, false, true}, {3, false, true}, {4, false, false}, {4, true, true}, {13, true, true}, {13, false, false}} {
		name := model.NewTopicID().String()
		req := metadataOfTopics(name, name)
		req.AllowAutoTopicCreation = c.allowed
		first := serve[*kmsg.MetadataResponse](t, a, c.version, req)
		if got := topicErrors(first)[name]; got != 3 || len(first.Topics) != 1 {
			t.Errorf("v%d: the first answer is %d, want UNKNOWN_TOPIC_OR_PARTITION once", c.version, got)
		}
		topic := meta.Image().Topic(name)
		if (topic != nil) != c.created {
			t.Errorf("v%d, allowed %v: created %v, want %v", c.version, c.allowed, topic != nil, c.created)
			continue
		}
		if !c.created {
			continue
		}
		if meta.served != meta.Image().Offset() {
			t.Errorf("v%d: answered before the topic was served", c.version)
		}
		second := serve[*kmsg.MetadataResponse](t, a, c.version, req)
		if second.Topics[0].ErrorCode != 0 || len(second.Topics[0].Partitions) != 3 {
			t.Errorf("v%d: the second answer is %+v", c.version, second.Topics)
		}
	}
	before := meta.Image().NumTopics()
	serve[*kmsg.MetadataResponse](t, a, 0, metadataOfTopics("a b", "", "__share_group_state", "__transaction_state", "__cluster_metadata"))
	a.cfg.AutoCreateTopics = false
	serve[*kmsg.MetadataResponse](t, a, 0, metadataOfTopics("never"))
	a.cfg.AutoCreateTopics, a.cfg.MaxNewPartitions = true, 5
	serve[*kmsg.MetadataResponse](t, a, 0, metadataOfTopics("too", "many"))
	if meta.Image().NumTopics() != before {
		t.Errorf("topics are now %v; none of these may be created", meta.Image().TopicNames())
	}
}

func TestMetadataAutoCreationSkipsACollision(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "a.b", 1)
	serve[*kmsg.MetadataResponse](t, a, 0, metadataOfTopics("a_b", "c"))
	if got := meta.Image().TopicNames(); !slices.Equal(got, []string{"a.b", "c"}) {
		t.Errorf("topics %v, want a.b and c", got)
	}
}

func TestMetadataByTopicID(t *testing.T) {
	a, meta, _ := newAdmin(t)
	here := addTopic(t, meta, "here", 1)
	byID := func(ids ...model.TopicID) *kmsg.MetadataRequest {
		req := kmsg.NewPtrMetadataRequest()
		for _, id := range ids {
			r := kmsg.NewMetadataRequestTopic()
			r.TopicID = id
			req.Topics = append(req.Topics, r)
		}
		return req
	}
	gone := model.NewTopicID()
	resp := serve[*kmsg.MetadataResponse](t, a, 12, byID(here.ID, gone, here.ID))
	if len(resp.Topics) != 2 || resp.Topics[0].ErrorCode != 100 || resp.Topics[0].Topic != nil || resp.Topics[0].TopicID != gone ||
		resp.Topics[1].ErrorCode != 0 || *resp.Topics[1].Topic != "here" {
		t.Errorf("by id: %+v", resp.Topics)
	}
	for version := int16(10); version <= 11; version++ {
		resp := serve[*kmsg.MetadataResponse](t, a, version, byID(here.ID))
		if resp.Topics[0].ErrorCode != 42 || len(resp.Brokers) != 0 || resp.ControllerID != -1 {
			t.Errorf("v%d by id: %+v, want INVALID_REQUEST and nothing else", version, resp)
		}
	}
	if resp := serve[*kmsg.MetadataResponse](t, a, 12, byID(model.TopicID{})); resp.Topics[0].ErrorCode != 42 {
		t.Errorf("a topic without name and id: %+v", resp.Topics)
	}
}

func TestMetadataListeners(t *testing.T) {
	a, meta, _ := newAdmin(t)
	two := metadata.Broker{ID: 2, Rack: "r2", Endpoints: []metadata.Endpoint{{Listener: "PLAINTEXT", Host: "two", Port: 2}}}
	gone := metadata.Broker{ID: 3, Fenced: true, Endpoints: two.Endpoints}
	meta.apply(t, metadata.RegisterBrokerRecord{Broker: two}, metadata.RegisterBrokerRecord{Broker: gone})
	id := model.NewTopicID()
	part := func(index, leader int32) metadata.Record {
		return metadata.PartitionRecord{TopicID: id, Index: index, Partition: metadata.Partition{Replicas: []int32{leader}, ISR: []int32{leader}, Leader: leader}}
	}
	meta.apply(t, metadata.TopicRecord{Name: "t", ID: id}, part(0, 1), part(1, 2), part(2, 3))
	for _, c := range []struct {
		listener string
		version  int16
		host     string
		brokers  int
		codes    []int16
	}{
		{"PLAINTEXT", 13, "127.0.0.1", 2, []int16{0, 0, 5}},
		{"EXTERNAL", 13, "kafka.example", 1, []int16{0, 72, 5}},
		{"EXTERNAL", 6, "kafka.example", 1, []int16{0, 72, 5}},
		{"EXTERNAL", 5, "kafka.example", 1, []int16{0, 5, 5}},
	} {
		resp := serveAs(t, a, c.listener, c.version, metadataOfTopics("t")).(*kmsg.MetadataResponse)
		if len(resp.Brokers) != c.brokers || resp.Brokers[0].Host != c.host {
			t.Errorf("%s v%d: brokers %+v", c.listener, c.version, resp.Brokers)
		}
		if c.brokers == 2 && *resp.Brokers[1].Rack != "r2" {
			t.Errorf("rack of broker 2 is %v", resp.Brokers[1].Rack)
		}
		for i, p := range resp.Topics[0].Partitions {
			if p.ErrorCode != c.codes[i] {
				t.Errorf("%s v%d: partition %d has code %d, want %d", c.listener, c.version, i, p.ErrorCode, c.codes[i])
			}
			if (p.ErrorCode == 5) != (p.Leader == -1) {
				t.Errorf("%s v%d: partition %d with code %d has leader %d", c.listener, c.version, i, p.ErrorCode, p.Leader)
			}
		}
		if !slices.Equal(resp.Topics[0].Partitions[2].OfflineReplicas, []int32{3}) {
			t.Errorf("offline replicas of a fenced leader: %v", resp.Topics[0].Partitions[2].OfflineReplicas)
		}
	}
}

func TestMetadataAuthorizedOperations(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "t", 1)
	req := metadataOfTopics("t")
	resp := serve[*kmsg.MetadataResponse](t, a, 8, req)
	if resp.AuthorizedOperations != math.MinInt32 || resp.Topics[0].AuthorizedOperations != math.MinInt32 {
		t.Errorf("not asked for: %d, %d", resp.AuthorizedOperations, resp.Topics[0].AuthorizedOperations)
	}
	req.IncludeClusterAuthorizedOperations, req.IncludeTopicAuthorizedOperations = true, true
	resp = serve[*kmsg.MetadataResponse](t, a, 8, req)
	if resp.AuthorizedOperations != 8096 || resp.Topics[0].AuthorizedOperations != 3576 {
		t.Errorf("asked for: %d, %d; want what Kafka answers without an authorizer, 8096 and 3576",
			resp.AuthorizedOperations, resp.Topics[0].AuthorizedOperations)
	}
}
