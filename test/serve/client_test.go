package serve

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// create makes a topic and returns its id.
func create(t *testing.T, addr, topic string, partitions int32) kadm.TopicID {
	t.Helper()
	r, err := kadm.NewClient(client(t, addr)).CreateTopic(within(t), partitions, 1, nil, topic)
	if err != nil {
		t.Fatalf("create %s: %v", topic, err)
	}
	return r.ID
}

// produce writes one record per value to a partition with acks=all.
func produce(t *testing.T, addr, topic string, partition int32, values ...string) {
	t.Helper()
	cl := client(t, addr)
	for _, v := range values {
		if err := cl.ProduceSync(within(t), &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatalf("produce %q: %v", v, err)
		}
	}
	cl.Close()
}

// read returns the values of the first n records of a partition.
func read(t *testing.T, addr, topic string, partition int32, n int) []string {
	t.Helper()
	cl := client(t, addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}))
	var got []string
	for len(got) < n {
		fetches := cl.PollFetches(within(t))
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %s: %v after %q", topic, err, got)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	cl.Close()
	return got
}

// ends returns the end offset of each partition of a topic.
func ends(t *testing.T, addr, topic string) map[int32]kadm.ListedOffset {
	t.Helper()
	l, err := kadm.NewClient(client(t, addr)).ListEndOffsets(within(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	return l[topic]
}

// describe returns what the metadata says of a topic.
func describe(t *testing.T, addr, topic string) kadm.TopicDetail {
	t.Helper()
	m, err := kadm.NewClient(client(t, addr)).Metadata(within(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	return m.Topics[topic]
}

// produceOnce writes one record to partition 0 of topic t.
func produceOnce(t *testing.T, addr string, value []byte) error {
	t.Helper()
	cl := client(t, addr)
	defer cl.Close()
	return cl.ProduceSync(within(t), &kgo.Record{Topic: "t", Value: value}).FirstErr()
}

// commit commits an offset of a group that has no members.
func commit(t *testing.T, addr, group, topic string, partition int32, offset int64) {
	t.Helper()
	var o kadm.Offsets
	o.AddOffset(topic, partition, offset, -1)
	if err := kadm.NewClient(client(t, addr)).CommitAllOffsets(within(t), group, o); err != nil {
		t.Fatalf("commit: %v", err)
	}
}
