package group

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/model"
)

func codesOf(errs ...*kerr.Error) (codes []int16) {
	for _, err := range errs {
		if err == nil {
			codes = append(codes, 0)
		} else {
			codes = append(codes, err.Code)
		}
	}
	return codes
}

// commits makes the request and says what its partitions must be answered, and that
// nothing but those without an error is written.
func (h *harness) commits(req *kmsg.OffsetCommitRequest, want ...*kerr.Error) {
	h.t.Helper()
	codes, written := h.commitAsk(req)
	if !slices.Equal(codes, codesOf(want...)) {
		h.t.Fatalf("answered %v, want %v", codes, codesOf(want...))
	}
	good := 0
	for _, code := range codes {
		if code == 0 {
			good++
		}
	}
	if written != good {
		h.t.Fatalf("%d records for %d good commits", written, good)
	}
}

func TestACommitComesBackByteForByte(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 2)
	for _, metadata := range []string{"", "note", "\x00\xff\xfe not text", strings.Repeat("m", 4096)} {
		req := with(commitRequest("g"), "orders", 1, 1<<62, metadata)
		req.Topics[0].Partitions[0].LeaderEpoch = 7
		h.commits(req, nil)
		for range 2 {
			p := h.fetched("g", "orders", 1)
			if p.Offset != 1<<62 || p.LeaderEpoch != 7 || p.Metadata == nil || *p.Metadata != metadata || p.ErrorCode != 0 {
				t.Fatalf("%+v with metadata %q, want %q", p, *p.Metadata, metadata)
			}
			h.load()
		}
	}
	h.commits(with(commitRequest("g"), "orders", 1, -1), nil) // without metadata, and none before it is left
	if p := h.fetched("g", "orders", 1); p.Offset != -1 || p.LeaderEpoch != model.NoEpoch || *p.Metadata != "" {
		t.Errorf("%+v", p)
	}
}

func TestEveryVersionCommits(t *testing.T) {
	h := newHarness(t)
	id := h.create("orders", 1)
	for version := int16(2); version <= 10; version++ {
		req := with(commitRequest("g"), "orders", 0, int64(version))
		if req.Version = version; version >= 10 {
			req.Topics[0].Topic, req.Topics[0].TopicID = "", id
		}
		h.commits(req, nil)
		h.offsets("orders", map[string]int64{"g": int64(version)})
	}
}

func TestAnAnswerWaitsUntilTheCommitIsDurable(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 1)
	commit := func() *asked[*kmsg.OffsetCommitResponse] {
		return ask(h, func(s *coordinator.Step, reply func(*kmsg.OffsetCommitResponse, error)) {
			h.m.OffsetCommit(s, with(commitRequest("g"), "orders", 0, 5), Client{}, reply)
		})
	}
	h.hold = true
	a := commit()
	b := ask(h, func(s *coordinator.Step, reply func(kmsg.OffsetFetchResponseGroup, error)) {
		h.m.OffsetFetch(s, 9, false, fetchRequest("g"), reply)
	})
	a.waits()
	b.waits() // it tells of the commit
	h.release(nil)
	a.got()
	b.got()
	h.hold = true
	a = commit()
	h.release(coordinator.ErrUnavailable)
	a.failed()
}

func TestTheSameCommitAgainIsStoredAgain(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 1)
	for range 3 {
		h.commits(with(commitRequest("g"), "orders", 0, 5, "m"), nil) // each writes a record
		h.pass(1000)
	}
	if last := h.log[len(h.log)-1]; last.timestampMs != h.wallMs()-1000 {
		t.Errorf("the last record is of %d, now it is %d", last.timestampMs, h.wallMs())
	}
}

func TestCommitsOfAGroupThatIsNotThere(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 1)
	for version, want := range map[int16]*kerr.Error{2: kerr.IllegalGeneration, 8: kerr.IllegalGeneration, 9: kerr.GroupIDNotFound} {
		req := with(commitRequest("g"), "orders", 0, 5)
		req.Version, req.Generation = version, 0
		h.commits(req, want)
	}
	if h.exists("g") {
		t.Error("a refused commit made a group")
	}
	for _, id := range []string{"g", "", strings.Repeat("g", records.MaxString)} {
		req := with(commitRequest(id), "orders", 0, 5)
		req.MemberID = "m" // as Kafka: without a generation nobody asks
		h.commits(req, nil)
		h.offsets("orders", map[string]int64{id: 5})
	}
	h.commits(with(commitRequest(strings.Repeat("g", records.MaxString+1)), "orders", 0, 5), kerr.InvalidGroupID)
}

func TestTheGroupSaysWhoMayCommit(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 3)
	g := h.script("g", scripted{k: Classic, st: "Stable", typ: "consumer", n: 1, deleteCode: 68})
	instance := "box"
	req := with(with(with(commitRequest("g"), "orders", 0, 5), "orders", 9, 5), "orders", 1, 5, strings.Repeat("x", 4097))
	req.Version, req.MemberID, req.InstanceID, req.Generation = 7, "m", &instance, 4
	for _, want := range []*kerr.Error{
		kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.FencedInstanceID, kerr.RebalanceInProgress,
		kerr.StaleMemberEpoch, kerr.UnsupportedVersion,
	} {
		// What is wrong with who commits goes before what is wrong with the commit, but a
		// partition that is not there has its own error.
		g.commitCode = want.Code
		h.commits(req, want, kerr.UnknownTopicOrPartition, want)
	}
	if got := *g.committedBy; got != (commitCredentials{version: 7, memberID: "m", instance: &instance, generation: 4}) {
		t.Errorf("the group was asked for %+v", got)
	}
	g.commitCode = 0
	h.commits(req, nil, kerr.UnknownTopicOrPartition, kerr.OffsetMetadataTooLarge)

	// What the group says of one partition refuses all.
	g.per = func(topic string, partition int32) int16 {
		if topic == "orders" && partition == 2 {
			return kerr.StaleMemberEpoch.Code
		}
		return 0
	}
	h.commits(req, nil, kerr.UnknownTopicOrPartition, kerr.OffsetMetadataTooLarge)
	with(req, "orders", 2, 5)
	h.commits(req, kerr.StaleMemberEpoch, kerr.UnknownTopicOrPartition, kerr.StaleMemberEpoch, kerr.StaleMemberEpoch)
}

func TestPartitionsThatAreNotThere(t *testing.T) {
	h := newHarness(t)
	id := h.create("orders", 1)
	h.commits(with(with(with(commitRequest("g"), "orders", 1, 5), "orders", -1, 5), "none", 0, 5),
		kerr.UnknownTopicOrPartition, kerr.UnknownTopicOrPartition, kerr.UnknownTopicOrPartition)
	h.commits(commitRequest("g"))
	if h.exists("g") {
		t.Error("commits of nothing made a group")
	}
	// Nobody is asked who commits where there is nothing to commit.
	req := with(commitRequest("g"), "none", 0, 5)
	req.Generation = 5
	h.commits(req, kerr.UnknownTopicOrPartition)

	byID := func(id model.TopicID, partition int32) *kmsg.OffsetCommitRequest {
		req := with(commitRequest("g"), "", partition, 5)
		req.Version, req.Topics[0].TopicID = 10, id
		return req
	}
	h.commits(byID(model.NewTopicID(), 0), kerr.UnknownTopicID)
	h.commits(byID(model.TopicID{}, 0), kerr.UnknownTopicID)
	h.commits(byID(id, 1), kerr.UnknownTopicOrPartition)
	h.commits(byID(id, 0), nil)
	h.delete("orders")
	h.commits(byID(id, 0), kerr.UnknownTopicID)
}

func TestTopicsWithoutPartitions(t *testing.T) {
	h := newHarness(t)
	id := h.create("orders", 1)
	names := map[model.TopicID]string{id: "orders", model.NewTopicID(): "none"}
	// answered are the topics in the answer to a commit of all topics, of those whose
	// name ends with a dot without partitions.
	answered := func(version int16, topics ...string) (answered []string) {
		req := commitRequest("g")
		req.Version = version
		for _, name := range topics {
			name, empty := strings.CutSuffix(name, ".")
			topic := with(commitRequest("g"), name, 0, 5).Topics[0]
			if empty {
				topic.Partitions = nil
			}
			for id, n := range names {
				if n == name && version >= 10 {
					topic.Topic, topic.TopicID = "", id
				}
			}
			req.Topics = append(req.Topics, topic)
		}
		resp := ask(h, func(s *coordinator.Step, reply func(*kmsg.OffsetCommitResponse, error)) {
			h.m.OffsetCommit(s, req, Client{ID: "client", Host: "/127.0.0.1"}, reply)
		}).got()
		for _, topic := range resp.Topics {
			answered = append(answered, topic.Topic+names[topic.TopicID])
		}
		return answered
	}
	for _, version := range []int16{9, 10} {
		if got := answered(version, "orders.", "none."); !slices.Equal(got, []string{"none"}) {
			t.Errorf("version %d, nothing to store: %q", version, got)
		}
		if got := answered(version, "orders.", "none.", "orders", "orders."); !slices.Equal(got, []string{"none", "orders"}) {
			t.Errorf("version %d: %q", version, got)
		}
	}
}

func TestMetadataTooLarge(t *testing.T) {
	for _, c := range []struct {
		metadata string
		fits     bool
	}{
		{strings.Repeat("m", 10), true},
		{strings.Repeat("m", 11), false},
		// Kafka counts UTF-16: an é is one, a face is two, a byte that is no text is one.
		{strings.Repeat("é", 10), true},
		{strings.Repeat("é", 11), false},
		{strings.Repeat("€", 10), true},
		{strings.Repeat("€", 11), false},
		{strings.Repeat("\U0001F600", 5), true},
		{strings.Repeat("\U0001F600", 5) + "m", false},
		{strings.Repeat("\xff", 10), true},
		{strings.Repeat("\xff", 11), false},
		{strings.Repeat("m", 1000), false},
	} {
		h := newHarness(t, func(c *Config) { c.MaxMetadataBytes = 10 })
		h.create("orders", 2)
		want := kerr.OffsetMetadataTooLarge
		if c.fits {
			want = nil
		}
		h.commits(with(with(commitRequest("g"), "orders", 0, 5, c.metadata), "orders", 1, 6), want, nil)
		h.offsets("orders", map[string]int64{"g": map[bool]int64{true: 5, false: -1}[c.fits]})
	}
}

func TestMetadataThatARecordCannotHold(t *testing.T) {
	h := newHarness(t, func(c *Config) { c.MaxMetadataBytes = 100_000 })
	h.create("orders", 1)
	long := strings.Repeat("m", records.MaxString+1)
	h.commits(with(commitRequest("g"), "orders", 0, 5, long), nil)
	req := with(commitRequest("g"), "orders", 0, 6, long)
	req.Version, req.RetentionTimeMillis = 3, 1000
	h.commits(req, kerr.OffsetMetadataTooLarge)
	if p := h.fetched("g", "orders", 0); p.Offset != 5 || *p.Metadata != long {
		t.Errorf("offset %d with %d bytes of metadata", p.Offset, len(*p.Metadata))
	}
}

// kafkajs commits -2 and -1 to set a group to the start and the end of a partition, and
// reads them back. Nobody means anything by what lies below.
func TestNegativeOffsets(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 2)
	for _, offset := range []int64{-2, -1} {
		h.commits(with(commitRequest("g"), "orders", 0, offset), nil)
		if got := h.fetched("g", "orders", 0).Offset; got != offset {
			t.Errorf("committed %d, fetched %d", offset, got)
		}
	}
	for _, offset := range []int64{-3, -1001, math.MinInt64} {
		h.commits(with(with(commitRequest("g"), "orders", 0, offset), "orders", 1, 7), kerr.InvalidRequest, nil)
		if got := h.fetched("g", "orders", 0).Offset; got != -1 {
			t.Errorf("committed %d, fetched %d", offset, got)
		}
	}
	h.offsets("orders", map[string]int64{"g": -1})
}

func TestCommittedTopicIDs(t *testing.T) {
	h := newHarness(t)
	id := h.create("orders", 1)
	h.commit("g", "orders", 0, 5)
	d, err := records.Decode(h.log[0].Key, h.log[0].Value)
	if err != nil || d.OffsetCommit.TopicID != id || d.OffsetCommit.CommitTimestamp != h.wallMs() {
		t.Errorf("%v %+v", err, d.OffsetCommit)
	}
}

func TestACommitOfTooMuchStoresNothing(t *testing.T) {
	h := newHarness(t)
	h.create("orders", 1)
	id := strings.Repeat("g", records.MaxString)
	req := commitRequest(id)
	n := maxCommitBytes / (len(id) + len("orders") + commitOverhead)
	for range n {
		with(req, "orders", 0, 5)
	}
	if codes, written := h.commitAsk(req); written != n || slices.Max(codes) != 0 {
		t.Errorf("%d of %d are written", written, n)
	}
	with(with(req, "orders", 0, 6), "orders", 9, 6)
	codes, written := h.commitAsk(req)
	if written != 0 || codes[0] != kerr.InvalidCommitOffsetSize.Code || codes[n+1] != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("%d are written, codes %d and %d", written, codes[0], codes[n+1])
	}
	h.offsets("orders", map[string]int64{id: 5})
}
