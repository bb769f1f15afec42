package group

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/metadata"
	"ringmain/model"
)

// scripted is a membership that says what a test wants, to test what goes for offsets
// of groups of any protocol.
type scripted struct {
	m *Machine
	g *group

	k            Kind
	st, typ      string
	n            int
	topics       []string // that are read; nil: not known
	emptySince   int64    // 0: not known
	commitCode   int16
	per          func(topic string, partition int32) int16
	fetchCode    int16
	deleteCode   int16
	committedBy  *commitCredentials
	fetchedBy    string
	fetchedEpoch int32
}

func (f *scripted) kind() Kind                     { return f.k }
func (f *scripted) state(*coordinator.Step) string { return f.st }
func (f *scripted) protocolType() string           { return f.typ }
func (f *scripted) size() int                      { return f.n }
func (f *scripted) mayDelete() int16               { return f.deleteCode }
func (f *scripted) emptySinceMs() (int64, bool)    { return f.emptySince, f.emptySince != 0 }
func (f *scripted) subscribed(topic string) (yes, known bool) {
	return slices.Contains(f.topics, topic), f.topics != nil
}
func (f *scripted) mayCommit(_ *coordinator.Step, c *commitCredentials) (int16, func(string, int32) int16) {
	f.committedBy = c
	return f.commitCode, f.per
}
func (f *scripted) mayFetch(_ *coordinator.Step, memberID string, epoch int32) int16 {
	f.fetchedBy, f.fetchedEpoch = memberID, epoch
	return f.fetchCode
}

// forget writes the tombstone of a classic group, whatever the kind.
func (f *scripted) forget(s *coordinator.Step) {
	f.g.members = newClassic(f.m, f.g)
	f.m.write(s, records.GroupMetadata(f.g.id, nil))
}
func (f *scripted) topicsChanged(*coordinator.Step, *metadata.Delta) {}
func (f *scripted) loaded(*coordinator.Step)                         {}
func (f *scripted) unload(error)                                     {}
func (f *scripted) gone()                                            {}

// script gives a group scripted members; it is made if it is not there.
func (h *harness) script(id string, f scripted) *scripted {
	g := h.m.ensure(id)
	f.m, f.g = h.m, g
	g.members = &f
	return &f
}

// commitRequest is a commit of a client that only commits: version 9, no member.
func commitRequest(group string) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group = 9, group
	return req
}

// with adds an offset to a request; metadata is null if it is not given.
func with(req *kmsg.OffsetCommitRequest, topic string, partition int32, offset int64, note ...string) *kmsg.OffsetCommitRequest {
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	if note != nil {
		p.Metadata = &note[0]
	}
	if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != topic {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = topic
		req.Topics = append(req.Topics, t)
	}
	t := &req.Topics[len(req.Topics)-1]
	t.Partitions = append(t.Partitions, p)
	return req
}

// commitAsk makes the request; codes are those of its partitions, in order.
func (h *harness) commitAsk(req *kmsg.OffsetCommitRequest) (codes []int16, written int) {
	h.t.Helper()
	a := ask(h, func(s *coordinator.Step, reply func(*kmsg.OffsetCommitResponse, error)) {
		h.m.OffsetCommit(s, req, Client{ID: "client", Host: "/127.0.0.1"}, reply)
	})
	resp := a.got()
	if resp.Version != req.Version || len(resp.Topics) != len(req.Topics) {
		h.t.Fatalf("version %d, %d topics", resp.Version, len(resp.Topics))
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic != req.Topics[i].Topic || t.TopicID != req.Topics[i].TopicID {
			h.t.Errorf("topic %d is %q %v", i, t.Topic, t.TopicID)
		}
		for j := range t.Partitions {
			if t.Partitions[j].Partition != req.Topics[i].Partitions[j].Partition {
				h.t.Errorf("partition %d of topic %d is %d", j, i, t.Partitions[j].Partition)
			}
			codes = append(codes, t.Partitions[j].ErrorCode)
		}
	}
	return codes, a.records
}

// commit commits one offset, which must succeed.
func (h *harness) commit(group, topic string, partition int32, offset int64) {
	h.t.Helper()
	if codes, _ := h.commitAsk(with(commitRequest(group), topic, partition, offset)); codes[0] != 0 {
		h.t.Fatal(kerr.ErrorForCode(codes[0]))
	}
}

// fetchRequest asks for these topics and partitions; for all if there are none.
func fetchRequest(group string, tps ...model.TopicPartition) *kmsg.OffsetFetchRequestGroup {
	req := kmsg.NewOffsetFetchRequestGroup()
	req.Group = group
	for _, tp := range tps {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.Partitions = tp.Topic, []int32{tp.Partition}
		req.Topics = append(req.Topics, t)
	}
	return &req
}

func (h *harness) fetch(version int16, req *kmsg.OffsetFetchRequestGroup) kmsg.OffsetFetchResponseGroup {
	h.t.Helper()
	a := ask(h, func(s *coordinator.Step, reply func(kmsg.OffsetFetchResponseGroup, error)) {
		h.m.OffsetFetch(s, version, true, req, reply)
	})
	resp := a.got()
	if resp.Group != req.Group || a.records > 0 {
		h.t.Fatalf("group %q, %d records", resp.Group, a.records)
	}
	return resp
}

// fetched is the one partition that was asked for.
func (h *harness) fetched(group, topic string, partition int32) kmsg.OffsetFetchResponseGroupTopicPartition {
	h.t.Helper()
	resp := h.fetch(9, fetchRequest(group, model.TopicPartition{Topic: topic, Partition: partition}))
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		h.t.Fatalf("%+v", resp)
	}
	return resp.Topics[0].Partitions[0]
}

// offset is the committed offset, -1 if there is none.
func (h *harness) offset(group, topic string, partition int32) int64 {
	h.t.Helper()
	return h.fetched(group, topic, partition).Offset
}

// offsets checks what all groups have of a topic's partition 0.
func (h *harness) offsets(topic string, want map[string]int64) {
	h.t.Helper()
	for group, offset := range want {
		if got := h.offset(group, topic, 0); got != offset {
			h.t.Errorf("group %q has offset %d, want %d", group, got, offset)
		}
	}
}

// exists reports whether the group is listed.
func (h *harness) exists(id string) bool {
	h.t.Helper()
	return slices.Contains(h.list(nil, nil), id)
}

func (h *harness) list(states, types []string) []string {
	h.t.Helper()
	var ids []string
	for _, g := range ask(h, func(s *coordinator.Step, reply func([]kmsg.ListGroupsResponseGroup, error)) {
		h.m.ListGroups(s, states, types, reply)
	}).got() {
		ids = append(ids, g.Group)
	}
	return ids
}

func TestCommittedTellsEveryOffset(t *testing.T) {
	h := newHarness(t)
	h.create("a", 2)
	h.create("b", 1)
	h.commit("simple", "a", 1, 5)
	h.pass(1000)
	h.commit("g", "a", 0, 7)
	h.commit("g", "b", 0, 8)
	h.script("g", scripted{k: Consumer, st: "Stable", typ: "consumer"})
	h.m.ensure("none")
	type line struct {
		group     string
		kind      Kind
		state     string
		topic     string
		partition int32
		offset    int64
		commitMs  int64
	}
	got := map[line]int{}
	h.m.Committed(func(group string, kind Kind, state string, topic string, partition int32, offset, commitMs int64) {
		got[line{group, kind, state, topic, partition, offset, commitMs}]++
	})
	for _, want := range []line{
		{"simple", Classic, "Empty", "a", 1, 5, h.wallMs() - 1000},
		{"g", Consumer, "Stable", "a", 0, 7, h.wallMs()},
		{"g", Consumer, "Stable", "b", 0, 8, h.wallMs()},
	} {
		if got[want] != 1 {
			t.Errorf("%+v is told %d times", want, got[want])
		}
		delete(got, want)
	}
	if len(got) > 0 {
		t.Errorf("also told: %+v", got)
	}
}
