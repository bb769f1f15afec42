package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmain/model"
)

func TestTopicLife(t *testing.T) {
	img, d := mustApply(t, Empty(), topicRecords("a", topicID(1), 3)...)
	if topic := img.Topic("a"); topic == nil || topic != img.TopicByID(topicID(1)) || len(topic.Partitions) != 3 ||
		img.NumTopics() != 1 || img.NumPartitions() != 3 {
		t.Fatalf("topic %+v, %d topics, %d partitions", img.Topic("a"), img.NumTopics(), img.NumPartitions())
	}
	if p := img.Topic("a").Partition(2); p.Leader != 1 || p.LeaderEpoch != 0 || p.PartitionEpoch != 0 {
		t.Fatalf("partition %+v", p)
	}
	if len(d.Created) != 1 || d.Created[0].Name != "a" || len(d.Changed) != 0 {
		t.Fatalf("delta %+v", d)
	}

	img, d = mustApply(t, img, PartitionRecord{TopicID: topicID(1), Index: 3, Partition: onePartition()})
	if img.NumPartitions() != 4 || !slices.Equal(d.Changed, []model.TopicPartition{{Topic: "a", Partition: 3}}) || len(d.Created) != 0 {
		t.Fatalf("after growth: %d partitions, delta %+v", img.NumPartitions(), d)
	}

	img, d = mustApply(t, img, ConfigRecord{TopicResource, "a", "k", ptr("v")})
	if !maps.Equal(img.Config(TopicResource, "a"), map[string]string{"k": "v"}) || !slices.Equal(img.ConfigNames(TopicResource), []string{"a"}) ||
		!slices.Equal(d.Configs, []ResourceRef{{TopicResource, "a"}}) {
		t.Fatalf("config %v, delta %+v", img.Config(TopicResource, "a"), d)
	}

	before := img
	img, d = mustApply(t, img, append([]Record{RemoveTopicRecord{ID: topicID(1)}}, topicRecords("a", topicID(2), 1)...)...)
	if img.Topic("a").ID != topicID(2) || img.TopicByID(topicID(1)) != nil || img.Topic("a").Partitions[0].LeaderEpoch != 0 ||
		img.NumPartitions() != 1 || img.Config(TopicResource, "a") != nil {
		t.Fatalf("recreated topic %+v, config %v", img.Topic("a"), img.Config(TopicResource, "a"))
	}
	if len(d.Created) != 1 || len(d.Deleted) != 1 || d.Deleted[0].ID != topicID(1) || len(d.Configs) != 1 {
		t.Fatalf("delta of the recreation %+v", d)
	}
	if before.Topic("a").ID != topicID(1) || before.NumPartitions() != 4 || before.Config(TopicResource, "a")["k"] != "v" {
		t.Fatal("the image before was changed")
	}

	img, d = mustApply(t, img, RemoveTopicRecord{ID: topicID(2)})
	if img.NumTopics() != 0 || img.NumPartitions() != 0 || len(img.TopicNames()) != 0 || len(d.Deleted) != 1 {
		t.Fatalf("after removal: %v, delta %+v", img.TopicNames(), d)
	}
	if _, d = mustApply(t, img, append(topicRecords("b", topicID(3), 1), RemoveTopicRecord{ID: topicID(3)})...); !d.Empty() {
		t.Fatalf("created and removed in one change: delta %+v", d)
	}
}

func TestPartitionChangeRaisesEpochs(t *testing.T) {
	img, _ := mustApply(t, Empty(), topicRecords("a", topicID(1), 2)...)
	img, d := mustApply(t, img, PartitionChangeRecord{TopicID: topicID(1), Index: 1, ISR: []int32{1}, Adding: []int32{2}})
	want := Partition{Replicas: []int32{1}, ISR: []int32{1}, Adding: []int32{2}, Leader: 1, PartitionEpoch: 1}
	if p := img.Topic("a").Partitions[1]; !reflect.DeepEqual(p, want) {
		t.Fatalf("without a leader: %+v, want %+v", p, want)
	}
	if !slices.Equal(d.Changed, []model.TopicPartition{{Topic: "a", Partition: 1}}) {
		t.Fatalf("delta %+v", d)
	}
	img, _ = mustApply(t, img, PartitionChangeRecord{TopicID: topicID(1), Index: 1, Leader: ptr(model.NoBroker), Adding: []int32{}, Replicas: []int32{2, 1}})
	want = Partition{Replicas: []int32{2, 1}, ISR: []int32{1}, Leader: -1, LeaderEpoch: 1, PartitionEpoch: 2}
	if p := img.Topic("a").Partitions[1]; !reflect.DeepEqual(p, want) {
		t.Fatalf("with a leader: %+v, want %+v", p, want)
	}
}

func TestRaiseEpochsTouchesOnlyWhatTheBrokerLeads(t *testing.T) {
	other := onePartition()
	other.Leader = 2
	img, _ := mustApply(t, Empty(), append(topicRecords("a", topicID(1), 2), PartitionRecord{topicID(1), 2, other})...)
	img, _ = mustApply(t, img, topicRecords("b", topicID(2), 1)...)
	img, d := mustApply(t, img, RaiseEpochsRecord{Broker: 1})
	for _, want := range []struct {
		topic     string
		partition int32
		epoch     int32
	}{{"a", 0, 1}, {"a", 1, 1}, {"a", 2, 0}, {"b", 0, 1}} {
		p := img.Topic(want.topic).Partition(want.partition)
		if p.LeaderEpoch != want.epoch || p.PartitionEpoch != want.epoch {
			t.Errorf("%s-%d: %+v, want epochs %d", want.topic, want.partition, p, want.epoch)
		}
	}
	if want := []model.TopicPartition{{Topic: "a", Partition: 0}, {Topic: "a", Partition: 1}, {Topic: "b", Partition: 0}}; !slices.Equal(d.Changed, want) {
		t.Errorf("delta %v, want %v", d.Changed, want)
	}
}

func TestFeaturesEpochIsTheIndexOfTheLastChange(t *testing.T) {
	img := Empty()
	if img.FeaturesEpoch() != -1 {
		t.Fatalf("epoch of an empty image is %d", img.FeaturesEpoch())
	}
	img, d, err := img.Apply(Bootstrap("c", 1), 2)
	if err != nil || !d.Features || img.FeaturesEpoch() != 2 ||
		!maps.Equal(img.Features(), map[string]int16{"metadata.version": 33, "group.version": 1, "kraft.version": 1}) {
		t.Fatalf("features %v, epoch %d, delta %+v, %v", img.Features(), img.FeaturesEpoch(), d, err)
	}
	img, d, _ = img.Apply(topicRecords("a", topicID(1), 1), 3)
	if d.Features || img.FeaturesEpoch() != 2 {
		t.Fatalf("a topic moved the epoch to %d, delta %+v", img.FeaturesEpoch(), d)
	}
	img, d, _ = img.Apply([]Record{FeatureRecord{Name: "kraft.version"}}, 9)
	if !d.Features || img.FeaturesEpoch() != 9 || len(img.Features()) != 2 {
		t.Fatalf("features %v, epoch %d", img.Features(), img.FeaturesEpoch())
	}
}

func TestBrokersAreReplacedByRegistration(t *testing.T) {
	ep := []Endpoint{{"PLAINTEXT", "h", 9092, "PLAINTEXT"}}
	img, d := mustApply(t, Empty(), RegisterBrokerRecord{Broker{ID: 5}}, RegisterBrokerRecord{Broker{ID: 1, Endpoints: ep}})
	if b := img.Brokers(); len(b) != 2 || b[0].ID != 1 || b[1].ID != 5 || !d.Brokers {
		t.Fatalf("brokers %+v, delta %+v", b, d)
	}
	if e := img.Broker(1).Endpoint("PLAINTEXT"); e == nil || e.Port != 9092 || img.Broker(1).Endpoint("X") != nil || img.Broker(2) != nil {
		t.Fatalf("endpoint %+v", e)
	}
	img, d = mustApply(t, img, RegisterBrokerRecord{Broker{ID: 5, Incarnation: [16]byte{1}}})
	if img.Broker(5).Incarnation[0] != 1 || len(img.Brokers()) != 2 || !d.Brokers {
		t.Fatalf("broker %+v", img.Broker(5))
	}
	if _, d = mustApply(t, img, RegisterBrokerRecord{Broker{ID: 5, Incarnation: [16]byte{1}}}); d.Brokers {
		t.Fatal("an equal registration counts as a change")
	}
}

func TestCollidingTopic(t *testing.T) {
	img, _ := mustApply(t, Empty(), append(topicRecords("a.b_c", topicID(1), 1), topicRecords("plain", topicID(2), 1)...)...)
	for name, want := range map[string]string{"a.b_c": "a.b_c", "a_b.c": "a.b_c", "a_b_c": "a.b_c", "plain": "plain", "a.b": "", "other": ""} {
		if got := img.CollidingTopic(name); got != want {
			t.Errorf("%q collides with %q, want %q", name, got, want)
		}
	}
	img, _ = mustApply(t, img, RemoveTopicRecord{ID: topicID(1)})
	if got := img.CollidingTopic("a_b.c"); got != "" {
		t.Errorf("a removed topic collides: %q", got)
	}
}

// One change may make topics that collide with each other. Each of them is there
// until it is removed, in whatever order that happens.
func TestCollidingTopicsOfOneChange(t *testing.T) {
	names := []string{"a.b", "a_b"}
	for _, removed := range []int{0, 1} {
		img, _ := mustApply(t, Empty(), append(topicRecords(names[0], topicID(1), 1), topicRecords(names[1], topicID(2), 1)...)...)
		before := img
		img, _ = mustApply(t, img, RemoveTopicRecord{ID: topicID(removed + 1)})
		left := names[1-removed]
		for _, name := range names {
			if got := img.CollidingTopic(name); got != left {
				t.Errorf("without %q, %q collides with %q, want %q", names[removed], name, got, left)
			}
			if got := before.CollidingTopic(name); got != name {
				t.Errorf("the image before changed: %q collides with %q", name, got)
			}
		}
		img, _ = mustApply(t, img, RemoveTopicRecord{ID: topicID(2 - removed)})
		if got := img.CollidingTopic(left); got != "" {
			t.Errorf("%q is left of nothing", got)
		}
	}
}

func TestChangesThatDoNotFitAreRefusedWhole(t *testing.T) {
	base, _ := mustApply(t, Empty(), append([]Record{ClusterRecord{"c"}, ProducerIDsRecord{Next: 1000}}, topicRecords("a", topicID(1), 1)...)...)
	full := onePartition()
	full.LeaderEpoch, full.PartitionEpoch = math.MaxInt32, math.MaxInt32
	base, _ = mustApply(t, base, TopicRecord{"full", topicID(9)}, PartitionRecord{topicID(9), 0, full})
	before := snapshotBytes(t, base)
	for name, r := range map[string]Record{
		"other cluster id":      ClusterRecord{"d"},
		"no cluster id":         ClusterRecord{},
		"feature without name":  FeatureRecord{Level: 1},
		"negative level":        FeatureRecord{Name: "f", Level: -1},
		"negative broker":       RegisterBrokerRecord{Broker{ID: -1}},
		"same topic":            TopicRecord{"a", topicID(2)},
		"same topic id":         TopicRecord{"b", topicID(1)},
		"topic without id":      TopicRecord{Name: "b"},
		"topic without name":    TopicRecord{ID: topicID(2)},
		"partition of no topic": PartitionRecord{topicID(2), 0, onePartition()},
		"partition again":       PartitionRecord{topicID(1), 0, onePartition()},
		"partition with a hole": PartitionRecord{topicID(1), 2, onePartition()},
		"no replicas":           PartitionRecord{topicID(1), 1, Partition{}},
		"change of no topic":    PartitionChangeRecord{TopicID: topicID(2)},
		"change past the end":   PartitionChangeRecord{TopicID: topicID(1), Index: 1},
		"change below zero":     PartitionChangeRecord{TopicID: topicID(1), Index: -1},
		"empty isr":             PartitionChangeRecord{TopicID: topicID(1), ISR: []int32{}},
		"epochs used up":        PartitionChangeRecord{TopicID: topicID(9), Leader: ptr(int32(1))},
		"raising used up":       RaiseEpochsRecord{Broker: 1},
		"remove no topic":       RemoveTopicRecord{topicID(2)},
		"config of no topic":    ConfigRecord{TopicResource, "b", "k", ptr("v")},
		"config without key":    ConfigRecord{Kind: BrokerResource},
		"producer ids back":     ProducerIDsRecord{Next: 999},
	} {
		img, d, err := base.Apply([]Record{TopicRecord{"first", topicID(77)}, r}, 100)
		if !errors.Is(err, ErrInvalidChange) || img != nil || d != nil {
			t.Errorf("%s: got %v, %v", name, err, d)
		} else if !strings.Contains(err.Error(), "record 2 of 2") {
			t.Errorf("%s: the error does not name the record: %v", name, err)
		}
	}
	if _, _, err := base.Apply([]Record{RemoveTopicRecord{topicID(1)}, TopicRecord{"z", topicID(1)}}, 100); !errors.Is(err, ErrInvalidChange) {
		t.Errorf("id of a topic removed in the same change: %v", err)
	}
	if _, _, err := base.Apply(nil, base.Offset()); !errors.Is(err, ErrInvalidChange) {
		t.Errorf("index that was applied already: %v", err)
	}
	if !bytes.Equal(snapshotBytes(t, base), before) {
		t.Error("a refused change left something behind")
	}
}

// Any records, one by one or many at once, through the codec or not: the images
// and deltas are the same, old images stay as they were, and the snapshot of
// each restores it.
func TestImageProperties(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		img, batched := Empty(), Empty()
		var pending []Record
		type kept struct {
			img  *Image
			snap []byte
		}
		var old []kept
		for step := range int64(300) {
			records := someRecords(r, img)
			decoded, err := Decode(Encode(records))
			if err != nil {
				t.Fatal(err)
			}
			next, delta, err := img.Apply(decoded, step+1)
			if err != nil {
				t.Fatalf("seed %d step %d: %v", seed, step, err)
			}
			if want := Diff(img, next); !reflect.DeepEqual(delta, want) {
				t.Fatalf("seed %d step %d: %+v\ngives delta %+v\nwant %+v", seed, step, records, delta, want)
			}
			img = next
			pending = append(pending, records...)
			if step%37 == 0 {
				before := batched
				if batched, delta, err = batched.Apply(pending, step+1); err != nil {
					t.Fatal(err)
				}
				pending = nil
				if want := Diff(before, batched); !reflect.DeepEqual(delta, want) {
					t.Fatalf("seed %d step %d: batch delta %+v\nwant %+v", seed, step, delta, want)
				}
				snap := snapshotBytes(t, img)
				old = append(old, kept{img, snap})
				restored, err := ReadSnapshot(bytes.NewReader(snap))
				if err != nil {
					t.Fatal(err)
				}
				if d := Diff(img, restored); !d.Empty() || !bytes.Equal(snapshotBytes(t, restored), snap) ||
					restored.NumPartitions() != img.NumPartitions() || restored.NumTopics() != img.NumTopics() {
					t.Fatalf("seed %d step %d: restored image differs: %+v", seed, step, d)
				}
				if d := Diff(img, batched); len(d.Created)+len(d.Deleted)+len(d.Changed)+len(d.Configs) != 0 || d.Brokers {
					t.Fatalf("seed %d step %d: batched image differs: %+v", seed, step, d)
				}
			}
		}
		for _, k := range old {
			if !bytes.Equal(snapshotBytes(t, k.img), k.snap) {
				t.Fatalf("seed %d: the image at %d was changed later", seed, k.img.Offset())
			}
		}
	}
}

// The bounds are far above what it takes (some 5 us a topic, 10 ms for the big
// one); they catch a change that costs what the whole image weighs.
func TestManyTopicsStayFast(t *testing.T) {
	start := time.Now()
	img := Empty()
	for n := range 10_000 {
		img, _ = mustApply(t, img, topicRecords(fmt.Sprintf("topic-%05d", n*7919%10_000), topicID(n+1), 2)...)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("10,000 topics one by one took %v", took)
	}
	if names := img.TopicNames(); len(names) != 10_000 || !slices.IsSorted(names) {
		t.Errorf("%d names, sorted: %v", len(names), slices.IsSorted(names))
	}
	start = time.Now()
	records, err := Decode(Encode(topicRecords("wide", topicID(20_000), 20_000)))
	if err != nil {
		t.Fatal(err)
	}
	img, _ = mustApply(t, img, records...)
	img, d := mustApply(t, img, RaiseEpochsRecord{Broker: 1})
	if len(d.Changed) != 40_000 || img.Topic("wide").Partitions[19_999].LeaderEpoch != 1 {
		t.Errorf("%d partitions changed", len(d.Changed))
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("20,000 partitions and 40,000 raised epochs took %v", took)
	}
}

func BenchmarkCreateTopic(b *testing.B) {
	img := Empty()
	for n := range 10_000 {
		img, _ = mustApply(b, img, topicRecords(fmt.Sprintf("topic-%05d", n*7919%10_000), topicID(n+1), 1)...)
	}
	records := topicRecords("one-more", topicID(30_000), 1)
	b.ReportAllocs()
	for b.Loop() {
		mustApply(b, img, records...)
	}
}

func BenchmarkTopicByName(b *testing.B) {
	img := Empty()
	for n := range 10_000 {
		img, _ = mustApply(b, img, topicRecords(fmt.Sprintf("topic-%05d", n), topicID(n+1), 1)...)
	}
	for b.Loop() {
		img.Topic("topic-05555")
	}
}

func BenchmarkCreateWideTopic(b *testing.B) {
	records := topicRecords("wide", topicID(1), 20_000)
	for b.Loop() {
		decoded, err := Decode(Encode(records))
		if err != nil {
			b.Fatal(err)
		}
		mustApply(b, Empty(), decoded...)
	}
}
