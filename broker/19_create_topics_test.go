package broker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/metadata"
)

type wantedTopic = kmsg.CreateTopicsRequestTopic

func wantTopic(name string, partitions int32, factor int16, configs ...string) wantedTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, factor
	for i := 0; i < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], &configs[i+1]
		t.Configs = append(t.Configs, c)
	}
	return t
}

// wantAssigned places partition i on the brokers lists[i].
func wantAssigned(name string, lists ...[]int32) wantedTopic {
	t := wantTopic(name, -1, -1)
	for i, list := range lists {
		r := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		r.Partition, r.Replicas = int32(i), list
		t.ReplicaAssignment = append(t.ReplicaAssignment, r)
	}
	return t
}

func createRequest(topics ...wantedTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.TimeoutMillis = topics, 10000
	return req
}

func TestCreateTopicsInEveryVersion(t *testing.T) {
	a, meta, _ := newAdmin(t)
	a.cfg.NumPartitions = 4
	for version := int16(2); version <= 7; version++ {
		one, two := fmt.Sprintf("one%d", version), fmt.Sprintf("two%d", version)
		resp := serve[*kmsg.CreateTopicsResponse](t, a, version, createRequest(
			wantTopic(one, 3, 1, "retention.ms", "1000", "retention.ms", "2000"), wantTopic(two, -1, -1)))
		if len(resp.Topics) != 2 || resp.Topics[0].ErrorCode != 0 || resp.Topics[1].ErrorCode != 0 || resp.Topics[0].ErrorMessage != nil {
			t.Fatalf("v%d: %+v", version, resp.Topics)
		}
		topic := meta.Image().Topic(one)
		if topic == nil || len(topic.Partitions) != 3 || len(meta.Image().Topic(two).Partitions) != 4 {
			t.Fatalf("v%d: topics %v", version, meta.Image().TopicNames())
		}
		if p := topic.Partitions[2]; p.Leader != 1 || p.LeaderEpoch != 0 || !slices.Equal(p.ISR, []int32{1}) {
			t.Errorf("v%d: partition %+v", version, p)
		}
		if got := meta.Image().Config(metadata.TopicResource, one); len(got) != 1 || got["retention.ms"] != "2000" {
			t.Errorf("v%d: configurations %v", version, got)
		}
		if meta.served != meta.Image().Offset() {
			t.Errorf("v%d: answered before the topics were served", version)
		}
		out := resp.Topics[0]
		if version >= 7 && out.TopicID != topic.ID {
			t.Errorf("v7: topic id %v, want %v", out.TopicID, topic.ID)
		}
		if version < 5 {
			continue
		}
		if out.NumPartitions != 3 || out.ReplicationFactor != 1 || out.ConfigErrorCode != 0 {
			t.Errorf("v%d: %d partitions, %d replicas", version, out.NumPartitions, out.ReplicationFactor)
		}
		names := []string{}
		for _, c := range out.Configs {
			names = append(names, c.Name)
			if c.Name == "retention.ms" && (*c.Value != "2000" || c.Source != 1) {
				t.Errorf("v%d: retention.ms is %s from %d", version, *c.Value, c.Source)
			}
			if c.Name == "cleanup.policy" && (*c.Value != "delete" || c.Source != 5) {
				t.Errorf("v%d: cleanup.policy is %s from %d", version, *c.Value, c.Source)
			}
		}
		if len(names) < 37 || !slices.IsSorted(names) {
			t.Errorf("v%d: configurations %v", version, names)
		}
	}
}

// Kafka's code for each mistake (recorded from 4.4).
func TestCreateTopicsMistakes(t *testing.T) {
	gap := wantAssigned("gap", []int32{1}, []int32{1})
	gap.ReplicaAssignment[1].Partition = 2
	twice := wantAssigned("twice", []int32{1}, []int32{1})
	twice.ReplicaAssignment[1].Partition = 0
	counted := wantAssigned("counted", []int32{1})
	counted.NumPartitions = 1
	factored := wantAssigned("factored", []int32{1})
	factored.ReplicationFactor = 1
	null := wantTopic("null", 1, 1, "retention.ms", "1")
	null.Configs[0].Value = nil
	for _, c := range []struct {
		topic wantedTopic
		code  int16
	}{
		{wantTopic("", 1, 1), 17}, {wantTopic(".", 1, 1), 17}, {wantTopic("..", 1, 1), 17}, {wantTopic("a/b", 1, 1), 17},
		{wantTopic("é", 1, 1), 17}, {wantTopic(strings.Repeat("x", 250), 1, 1), 17},
		{wantTopic("there", 1, 1), 36}, {wantTopic("there", 0, 0, "nope", "1"), 36},
		{wantTopic("a_b", 1, 1), 17}, {wantTopic("bad!", 0, 0, "nope", "1"), 17},
		{wantTopic("t", 0, 1), 37}, {wantTopic("t", -5, 1), 37},
		{wantTopic("t", 1, 0), 38}, {wantTopic("t", 1, -2), 38}, {wantTopic("t", 1, 2), 38}, {wantTopic("t", 0, 0), 38},
		{wantTopic("t", 20001, 1), 44}, {wantTopic("t", 1000000000, 1), 44},
		{counted, 42}, {factored, 42}, {gap, 39}, {twice, 39},
		{wantAssigned("t", []int32{2}), 39}, {wantAssigned("t", []int32{}), 39}, {wantAssigned("t", []int32{1, 1}), 39},
		{wantAssigned("t", []int32{1}, []int32{}), 39},
		{wantTopic("t", 1, 1, "nope", "x"), 40}, {wantTopic("t", 1, 1, "", "x"), 40}, {null, 40},
		{wantTopic("t", 1, 1, "retention.ms", "abc"), 40}, {wantTopic("t", 1, 1, "retention.ms", ""), 40},
		{wantTopic("t", 1, 1, "retention.ms", "-2"), 40}, {wantTopic("t", 1, 1, "segment.bytes", "100"), 40},
		{wantTopic("t", 1, 1, "remote.storage.enable", "true"), 40},
		{wantTopic("t", 0, 1, "nope", "x"), 40},
		{wantTopic("__cluster_metadata", 1, 1), 42},
	} {
		for _, validateOnly := range []bool{false, true} {
			a, meta, _ := newAdmin(t)
			addTopic(t, meta, "there", 1)
			addTopic(t, meta, "a.b", 1)
			before := meta.Image()
			req := createRequest(c.topic)
			req.ValidateOnly = validateOnly
			out := serve[*kmsg.CreateTopicsResponse](t, a, 7, req).Topics[0]
			if out.ErrorCode != c.code || out.ErrorMessage == nil || *out.ErrorMessage == "" {
				t.Errorf("%+v: code %d, message %v; want %d with a message", c.topic, out.ErrorCode, out.ErrorMessage, c.code)
			}
			if out.NumPartitions != -1 || out.ReplicationFactor != -1 || out.Configs == nil || len(out.Configs) != 0 || out.TopicID != [16]byte{} {
				t.Errorf("%+v: %+v", c.topic, out)
			}
			if meta.Image().NumTopics() != before.NumTopics() {
				t.Errorf("%+v was created", c.topic)
			}
		}
	}
}

func TestCreateTopicsTogether(t *testing.T) {
	a, meta, _ := newAdmin(t)
	resp := serve[*kmsg.CreateTopicsResponse](t, a, 7, createRequest(
		wantTopic("dup", 1, 1), wantTopic("good", 1, 1), wantTopic("dup", 2, 1), wantTopic("bad", 0, 1), wantTopic("d.x", 1, 1), wantTopic("d_x", 1, 1)))
	got := []string{}
	for _, topic := range resp.Topics {
		got = append(got, fmt.Sprint(topic.Topic, topic.ErrorCode))
	}
	if want := []string{"good0", "bad37", "d.x0", "d_x0", "dup42"}; !slices.Equal(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
	if names := meta.Image().TopicNames(); !slices.Equal(names, []string{"d.x", "d_x", "good"}) {
		t.Errorf("topics %v", names)
	}
	if resp := serve[*kmsg.CreateTopicsResponse](t, a, 7, createRequest()); len(resp.Topics) != 0 {
		t.Errorf("nothing asked for: %+v", resp.Topics)
	}
	// One topic too many refuses all of the request.
	resp = serve[*kmsg.CreateTopicsResponse](t, a, 7, createRequest(wantTopic("big", 20000, 1), wantTopic("small", 1, 1)))
	if resp.Topics[0].ErrorCode != 44 || resp.Topics[1].ErrorCode != 44 || meta.Image().NumTopics() != 3 {
		t.Errorf("%+v", resp.Topics)
	}
}

func TestCreateTopicsValidateOnly(t *testing.T) {
	a, meta, _ := newAdmin(t)
	req := createRequest(wantTopic("t", 2, -1, "cleanup.policy", "compact"))
	req.ValidateOnly = true
	out := serve[*kmsg.CreateTopicsResponse](t, a, 7, req).Topics[0]
	if out.ErrorCode != 0 || out.NumPartitions != 2 || len(out.Configs) == 0 || meta.Image().NumTopics() != 0 {
		t.Errorf("%+v, topics %v", out, meta.Image().TopicNames())
	}
}

func TestCreateTopicsManualAssignment(t *testing.T) {
	a, meta, _ := newAdmin(t)
	fenced := brokerRecord(3)
	fenced.Broker.Fenced = true
	meta.apply(t, brokerRecord(2), fenced)
	resp := serve[*kmsg.CreateTopicsResponse](t, a, 7, createRequest(
		wantAssigned("m", []int32{2, 1}, []int32{3, 1}), wantAssigned("uneven", []int32{2, 1}, []int32{1}), wantAssigned("nobody", []int32{3})))
	if resp.Topics[0].ErrorCode != 0 || resp.Topics[1].ErrorCode != 39 || resp.Topics[2].ErrorCode != 39 {
		t.Fatalf("%+v", resp.Topics)
	}
	p := meta.Image().Topic("m").Partitions
	if p[0].Leader != 2 || !slices.Equal(p[0].ISR, []int32{2, 1}) || p[1].Leader != 1 || !slices.Equal(p[1].ISR, []int32{1}) || !slices.Equal(p[1].Replicas, []int32{3, 1}) {
		t.Errorf("%+v", p)
	}
}

func TestCreateTopicsSpreadsReplicas(t *testing.T) {
	a, meta, _ := newAdmin(t)
	meta.apply(t, brokerRecord(2), brokerRecord(3))
	serve[*kmsg.CreateTopicsResponse](t, a, 7, createRequest(wantTopic("t", 6, 2)))
	leads := map[int32]int{}
	for _, p := range meta.Image().Topic("t").Partitions {
		leads[p.Leader]++
		if len(p.Replicas) != 2 || p.Replicas[0] == p.Replicas[1] || p.Leader != p.Replicas[0] {
			t.Errorf("partition %+v", p)
		}
	}
	if leads[1] != 2 || leads[2] != 2 || leads[3] != 2 {
		t.Errorf("leaders %v, want two partitions each", leads)
	}
}

func TestCreateTopicsTimeout(t *testing.T) {
	a, meta, _ := newAdmin(t)
	for _, timeout := range []int32{0, -1} {
		req := createRequest(wantTopic("t", 1, 1), wantTopic("bad!", 1, 1))
		req.TimeoutMillis = timeout
		for _, out := range serve[*kmsg.CreateTopicsResponse](t, a, 7, req).Topics {
			if out.ErrorCode != 7 {
				t.Errorf("timeout %d: code %d, want REQUEST_TIMED_OUT", timeout, out.ErrorCode)
			}
		}
	}
	if meta.Image().NumTopics() != 0 {
		t.Error("a request without time created a topic")
	}
	meta.failWith = context.DeadlineExceeded
	resp := serve[*kmsg.CreateTopicsResponse](t, a, 7, createRequest(wantTopic("t", 1, 1), wantTopic("bad!", 1, 1)))
	if resp.Topics[0].ErrorCode != 7 || resp.Topics[1].ErrorCode != 17 {
		t.Errorf("%+v: what was refused stays refused, the rest timed out", resp.Topics)
	}
}

// Of many requests for the same topic at once exactly one creates it.
func TestCreateTopicsRace(t *testing.T) {
	a, meta, _ := newAdmin(t)
	var wg sync.WaitGroup
	codes := make([]int16, 20)
	for i := range codes {
		wg.Add(1)
		go func() {
			defer wg.Done()
			codes[i] = serve[*kmsg.CreateTopicsResponse](t, a, 7, createRequest(wantTopic("t", 1, 1))).Topics[0].ErrorCode
		}()
	}
	wg.Wait()
	slices.Sort(codes)
	if codes[0] != 0 || codes[1] != 36 || codes[19] != 36 || meta.Image().NumTopics() != 1 {
		t.Errorf("codes %v", codes)
	}
}

func TestCreateTopicsGivesConfigsBackAsWritten(t *testing.T) {
	a, _, _ := newAdmin(t)
	out := serve[*kmsg.CreateTopicsResponse](t, a, 7, createRequest(wantTopic("t", 1, 1, "cleanup.policy", "delete, compact"))).Topics[0]
	for _, c := range out.Configs {
		if c.Name == "cleanup.policy" && *c.Value != "delete, compact" {
			t.Errorf("cleanup.policy is %q", *c.Value)
		}
	}
}

func TestCreateTopicsTakesKeysThatKafkaRemoved(t *testing.T) {
	a, meta, _ := newAdmin(t)
	out := serve[*kmsg.CreateTopicsResponse](t, a, 7, createRequest(wantTopic("t", 1, 1, "message.format.version", "2.0"))).Topics[0]
	if out.ErrorCode != 0 || len(meta.Image().Config(metadata.TopicResource, "t")) != 0 {
		t.Errorf("code %d, configurations %v", out.ErrorCode, meta.Image().Config(metadata.TopicResource, "t"))
	}
}

func TestAMillionRefusalsAreShort(t *testing.T) {
	a, meta, _ := newAdmin(t)
	a.cfg.MaxNewPartitions, a.cfg.DeleteTopics = 10, false
	addTopic(t, meta, "x", 1)
	short := func(api string, i int, code, want int16, message *string) {
		t.Helper()
		if code != want || (message != nil) != (i < maxTold) {
			t.Fatalf("%s, entry %d: error %d, message %v", api, i, code, message)
		}
	}
	topics, doomed := make([]wantedTopic, 2*maxTold), make([]kmsg.DeleteTopicsRequestTopic, 2*maxTold)
	grown := []kmsg.CreatePartitionsRequestTopic{growTopic("x", 100)}
	for i := range topics {
		topics[i] = wantTopic(fmt.Sprint("t", i), 1, 1)
		doomed[i] = doomedName("t")
		grown = append(grown, growTopic("y", 2))
	}
	for i, rt := range serve[*kmsg.CreateTopicsResponse](t, a, 5, createRequest(topics...)).Topics {
		short("CreateTopics", i, rt.ErrorCode, 44, rt.ErrorMessage)
	}
	for i, rt := range serve[*kmsg.DeleteTopicsResponse](t, a, 6, deleteRequest(doomed...)).Topics {
		short("DeleteTopics", i, rt.ErrorCode, 73, rt.ErrorMessage)
	}
	for i, rt := range serve[*kmsg.CreatePartitionsResponse](t, a, 3, growRequest(grown...)).Topics {
		short("CreatePartitions", i, rt.ErrorCode, 44, rt.ErrorMessage)
	}
}
