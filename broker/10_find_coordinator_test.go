package broker

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

func find(kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = kind, keys[0], keys
	return req
}

func TestFindCoordinatorCreatesTheTopicAndAnswers(t *testing.T) {
	for version := int16(0); version <= 6; version++ {
		a, meta, _ := newAdmin(t)
		resp := serveAs(t, a, "EXTERNAL", version, find(0, "g", "", "g")).(*kmsg.FindCoordinatorResponse)
		topic := meta.Image().Topic("__consumer_offsets")
		if topic == nil || len(topic.Partitions) != 50 || len(topic.Partitions[0].Replicas) != 1 {
			t.Fatalf("v%d: topic %+v", version, topic)
		}
		if meta.served != meta.Image().Offset() {
			t.Errorf("v%d: answered before the topic was served", version)
		}
		if got, want := meta.Image().Config(metadata.TopicResource, topic.Name), map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}; !maps.Equal(got, want) {
			t.Errorf("v%d: configs %v", version, got)
		}
		if version < 4 {
			if resp.ErrorCode != 0 || resp.NodeID != 1 || resp.Host != "kafka.example" || resp.Port != 19001 || version > 0 && *resp.ErrorMessage != "NONE" {
				t.Errorf("v%d: %+v", version, resp)
			}
			continue
		}
		if len(resp.Coordinators) != 3 {
			t.Fatalf("v%d: %+v", version, resp)
		}
		for i, key := range []string{"g", "", "g"} {
			if c := resp.Coordinators[i]; c.Key != key || c.ErrorCode != 0 || c.NodeID != 1 || c.Host != "kafka.example" || c.Port != 19001 {
				t.Errorf("v%d: %+v", version, c)
			}
		}
		before := meta.Image()
		serve[*kmsg.FindCoordinatorResponse](t, a, version, find(0, "other"))
		if meta.Image() != before {
			t.Errorf("v%d: the topic was created again", version)
		}
	}
}

// What is not there is answered so that clients give up.
func TestFindCoordinatorOfOtherKinds(t *testing.T) {
	for version := int16(1); version <= 6; version++ {
		for kind, code := range map[int8]int16{1: 53, 2: 42, 3: 42, -1: 42} {
			a, meta, _ := newAdmin(t)
			resp := serve[*kmsg.FindCoordinatorResponse](t, a, version, find(kind, "x"))
			got, node, port := resp.ErrorCode, resp.NodeID, resp.Port
			if version >= 4 {
				c := resp.Coordinators[0]
				got, node, port = c.ErrorCode, c.NodeID, c.Port
			}
			if got != code || node != -1 || port != -1 || meta.Image().NumTopics() != 0 {
				t.Errorf("v%d kind %d: code %d, node %d, port %d, %d topics", version, kind, got, node, port, meta.Image().NumTopics())
			}
		}
	}
}

func TestFindCoordinatorWithoutMetadataOrLeader(t *testing.T) {
	a, meta, _ := newAdmin(t)
	meta.failWith = errors.New("no quorum")
	if resp := serve[*kmsg.FindCoordinatorResponse](t, a, 3, find(0, "g")); resp.ErrorCode != 15 || resp.NodeID != -1 || resp.Port != -1 {
		t.Errorf("without a quorum: %+v", resp)
	}
	a, meta, _ = newAdmin(t)
	addTopic(t, meta, "__consumer_offsets", 1)
	fenced := brokerRecord(1)
	fenced.Broker.Fenced = true
	meta.apply(t, fenced)
	if resp := serve[*kmsg.FindCoordinatorResponse](t, a, 4, find(0, "g")); resp.Coordinators[0].ErrorCode != 15 {
		t.Errorf("with its leader fenced: %+v", resp)
	}
}

// More replicas than brokers would leave a single node without groups.
func TestTheOffsetsTopicHasAsManyReplicasAsThereAreBrokers(t *testing.T) {
	for brokers, want := range map[int32]int{1: 1, 2: 2, 3: 3, 5: 3} {
		a, meta, _ := newAdmin(t)
		for id := int32(2); id <= brokers; id++ {
			meta.apply(t, brokerRecord(id))
		}
		serve[*kmsg.FindCoordinatorResponse](t, a, 3, find(0, "g"))
		if got := len(meta.Image().Topic("__consumer_offsets").Partitions[0].Replicas); got != want {
			t.Errorf("%d brokers: %d replicas", brokers, got)
		}
	}
}

func TestMetadataCreatesTheOffsetsTopicAsItsCoordinatorWould(t *testing.T) {
	a, meta, _ := newAdmin(t)
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = true
	for _, name := range []string{"__consumer_offsets", "__transaction_state"} {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &name
		req.Topics = append(req.Topics, topic)
	}
	serve[*kmsg.MetadataResponse](t, a, 12, req)
	if topic := meta.Image().Topic("__consumer_offsets"); topic == nil || len(topic.Partitions) != 50 || meta.Image().Config(metadata.TopicResource, topic.Name)["cleanup.policy"] != "compact" {
		t.Errorf("topic %+v", topic)
	}
	if meta.Image().Topic("__transaction_state") != nil {
		t.Error("a topic of a coordinator that is not here was created")
	}
}

// Java's String.hashCode, some of whose values are well known.
func TestGroupsArePlacedAsInKafka(t *testing.T) {
	for id, hash := range map[string]int32{"": 0, "hello": 99162322, "g": 103, "\U0001F600": 1772899, "polygenelubricants": -1 << 31, "zzzzzz": -685785664} {
		want := max(hash, -hash, 0)
		for _, n := range []int32{1, 7, 50} {
			if got := partitionOfGroup(id, n); got != want%n {
				t.Errorf("%q of %d: %d, want %d", id, n, got, want%n)
			}
		}
	}
}

func TestAddressesAreWrittenAsInJava(t *testing.T) {
	for ip, want := range map[string]string{"127.0.0.1": "/127.0.0.1", "::1": "/0:0:0:0:0:0:0:1", "2001:db8::ff00:42:8329": "/2001:db8:0:0:0:ff00:42:8329"} {
		if got := javaAddress(ip); got != want {
			t.Errorf("%s is %s", ip, got)
		}
	}
	if a, b := newUUID(), newUUID(); a == b || len(a) != 36 || strings.Count(a, "-") != 4 {
		t.Errorf("%s, %s", a, b)
	}
}
