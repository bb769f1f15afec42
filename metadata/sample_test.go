package metadata

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"ringmain/model"
)

func ptr[T any](v T) *T { return &v }

func topicID(n int) model.TopicID { return model.TopicID{0: 1, 14: byte(n >> 8), 15: byte(n)} }

// onePartition is a new partition on broker 1, as CreateTopics makes it.
func onePartition() Partition {
	return Partition{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}
}

// topicRecords creates a topic with n partitions.
func topicRecords(name string, id model.TopicID, n int) []Record {
	records := []Record{TopicRecord{Name: name, ID: id}}
	for p := range n {
		records = append(records, PartitionRecord{TopicID: id, Index: int32(p), Partition: onePartition()})
	}
	return records
}

// samples has each record type, with every field set and with every optional
// field absent.
func samples() map[string]Record {
	return map[string]Record{
		"cluster": ClusterRecord{ClusterID: "6OrsXMpnRmWEyxB5y4yEVw"},
		"feature": FeatureRecord{Name: "metadata.version", Level: 33},
		"broker": RegisterBrokerRecord{Broker: Broker{ID: 7, Rack: "r1", Incarnation: [16]byte{1, 2, 3, 15: 9}, Fenced: true,
			Endpoints: []Endpoint{{"PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT"}, {"OUT", "h.example", 65535, "SASL_SSL"}}}},
		"broker-bare": RegisterBrokerRecord{Broker: Broker{ID: 0}},
		"topic":       TopicRecord{Name: "orders.v1", ID: topicID(3)},
		"partition": PartitionRecord{TopicID: topicID(3), Index: 2, Partition: Partition{Replicas: []int32{1, 2, 3}, ISR: []int32{1, 3},
			Adding: []int32{3}, Removing: []int32{2}, Leader: 1, LeaderEpoch: 4, PartitionEpoch: 300}},
		"partition-bare": PartitionRecord{TopicID: topicID(3), Partition: onePartition()},
		"change": PartitionChangeRecord{TopicID: topicID(3), Index: 2, Leader: ptr(int32(-1)), ISR: []int32{3}, Replicas: []int32{3, 1},
			Adding: []int32{}, Removing: []int32{2}},
		"change-bare":   PartitionChangeRecord{TopicID: topicID(3), Index: 2},
		"raise-epochs":  RaiseEpochsRecord{Broker: 1},
		"remove-topic":  RemoveTopicRecord{ID: topicID(3)},
		"config":        ConfigRecord{Kind: TopicResource, Name: "orders.v1", Key: "retention.ms", Value: ptr("1000")},
		"config-empty":  ConfigRecord{Kind: BrokerResource, Key: "log.cleaner.threads", Value: ptr("")},
		"config-remove": ConfigRecord{Kind: GroupResource, Name: "g", Key: "consumer.session.timeout.ms"},
		"producer-ids":  ProducerIDsRecord{Next: 1 << 40},
	}
}

// mustApply applies at the next index.
func mustApply(t testing.TB, img *Image, records ...Record) (*Image, *Delta) {
	t.Helper()
	next, delta, err := img.Apply(records, img.Offset()+1)
	if err != nil {
		t.Fatal(err)
	}
	return next, delta
}

// someRecords returns a few records that fit img.
func someRecords(r *rand.Rand, img *Image) []Record {
	names := img.TopicNames()
	var topic *Topic
	if len(names) > 0 {
		topic = img.Topic(names[r.IntN(len(names))])
	}
	switch kind := r.IntN(12); {
	case kind == 0:
		return []Record{ClusterRecord{ClusterID: "c"}}
	case kind == 1:
		return []Record{FeatureRecord{Name: fmt.Sprint("f", r.IntN(3)), Level: int16(r.IntN(3))}}
	case kind == 2:
		return []Record{RegisterBrokerRecord{Broker: Broker{ID: int32(r.IntN(4)), Incarnation: [16]byte{byte(r.IntN(3))}, Fenced: r.IntN(2) == 0}}}
	case kind == 3:
		return []Record{ProducerIDsRecord{Next: img.NextProducerID() + int64(r.IntN(2000))}}
	case kind == 4:
		return []Record{ConfigRecord{Kind: BrokerResource, Name: fmt.Sprint(r.IntN(3)), Key: fmt.Sprint("k", r.IntN(3)), Value: someValue(r)}}
	case kind == 5:
		return []Record{RaiseEpochsRecord{Broker: int32(r.IntN(3))}}
	case kind <= 7 || topic == nil:
		name := fmt.Sprint("t", string("._-"[r.IntN(3)]), r.IntN(40))
		if img.Topic(name) != nil {
			return nil
		}
		var id model.TopicID
		for i := range id {
			id[i] = byte(r.IntN(256))
		}
		return topicRecords(name, id, r.IntN(4))
	case kind == 8:
		return []Record{RemoveTopicRecord{ID: topic.ID}}
	case kind == 9:
		return []Record{ConfigRecord{Kind: TopicResource, Name: topic.Name, Key: fmt.Sprint("k", r.IntN(3)), Value: someValue(r)}}
	case kind == 10:
		return []Record{PartitionRecord{TopicID: topic.ID, Index: int32(len(topic.Partitions)), Partition: onePartition()}}
	case len(topic.Partitions) > 0:
		change := PartitionChangeRecord{TopicID: topic.ID, Index: int32(r.IntN(len(topic.Partitions)))}
		if r.IntN(2) == 0 {
			change.Leader = ptr(int32(r.IntN(3)))
		}
		if r.IntN(2) == 0 {
			change.ISR = []int32{1, 2}[:1+r.IntN(2)]
		}
		if r.IntN(3) == 0 {
			change.Adding = []int32{2}[:r.IntN(2)]
		}
		return []Record{change}
	}
	return nil
}

func someValue(r *rand.Rand) *string {
	if r.IntN(3) == 0 {
		return nil
	}
	return ptr(fmt.Sprint(r.IntN(3)))
}
