package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// reads is what a consumer says that reads topics.
func reads(version int16, topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version = version
	m.Topics = topics
	m.UserData = []byte("user data")
	return m.AppendTo(nil)
}

func TestTopicsOfAConsumersMetadata(t *testing.T) {
	for _, row := range []struct {
		name     string
		metadata []byte
		topics   []string
		known    bool
	}{
		{"version 0", reads(0, "a", "b"), []string{"a", "b"}, true},
		{"version 3", reads(3, "a"), []string{"a"}, true},
		{"a later version", append(reads(3, "a")[:0:0], append([]byte{0, 9}, reads(3, "a")[2:]...)...), []string{"a"}, true},
		{"no topics", reads(1), nil, true},
		{"no user data", reads(0, "a")[:9], []string{"a"}, true},
		{"nothing", nil, nil, false},
		{"cut in the number of topics", reads(0, "a")[:5], nil, false},
		{"cut in a length", reads(0, "a")[:7], nil, false},
		{"cut in a name", reads(0, "abc")[:9], nil, false},
		{"a version below 0", []byte{255, 255, 0, 0, 0, 0}, nil, false},
		{"fewer than no topics", []byte{0, 0, 255, 255, 255, 255}, nil, false},
		{"more topics than bytes", []byte{0, 0, 127, 255, 255, 255, 0, 1, 'a'}, nil, false},
		{"a name of length -1", []byte{0, 0, 0, 0, 0, 1, 255, 255}, nil, false},
		{"something else", []byte("of range"), nil, false},
	} {
		got := map[string]bool{}
		if known := addSubscription(got, row.metadata); known != row.known {
			t.Errorf("%s: known %v", row.name, known)
			continue
		}
		if !row.known {
			continue
		}
		if len(got) != len(row.topics) {
			t.Errorf("%s: %v", row.name, got)
		}
		for _, topic := range row.topics {
			if !got[topic] {
				t.Errorf("%s: %v", row.name, got)
			}
		}
	}
}

func TestSubscribedTopics(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	ask := func(topic string, yes, known bool) {
		t.Helper()
		if y, k := w.m.ensure("g").members.subscribed(topic); y != yes || k != known {
			t.Errorf("%s: %v %v", topic, y, k)
		}
	}
	ask("a", false, false) // of a group that nobody ever joined
	join := func(member string, metadata []byte) *answer[*kmsg.JoinGroupResponse] {
		req := w.joinRequest(3, member, "range")
		req.Protocols[0].Metadata = metadata
		return w.join(req)
	}
	first := join("", reads(1, "a", "b")).got()
	ask("a", true, true)
	ask("c", false, true)
	join("", reads(1, "c"))
	ask("a", true, true) // who joins changes nothing before the next generation
	ask("c", false, true)
	join(first.MemberID, reads(1, "a", "d"))
	ask("d", true, true)
	ask("c", true, true)
	ask("b", false, true)
	w.load() // nothing was recorded yet
	ask("a", false, false)

	first = join("", reads(1, "a")).got()
	w.sync(w.syncRequest(3, first.MemberID, first.Generation, nil)).got()
	w.load()
	ask("a", true, true)
	join(first.MemberID, []byte("garbage")).got()
	ask("a", false, false)
	w.leave(w.leaveRequest(first.MemberID)).got()
	ask("a", false, true)

	other := w.joinRequest(3, "", "range")
	other.ProtocolType = "connect"
	other.Protocols[0].Metadata = reads(1, "a")
	w.join(other).got()
	ask("a", false, false)
}

func FuzzSubscription(f *testing.F) {
	f.Add(reads(1, "a", "b"))
	f.Fuzz(func(t *testing.T, metadata []byte) {
		to := map[string]bool{}
		if addSubscription(to, metadata) && len(to) > len(metadata) {
			t.Errorf("%d topics in %d bytes", len(to), len(metadata))
		}
	})
}

// What a static member reads that came back without a new generation is known the same
// before and after a load.
func TestSubscriptionOfAStaticMemberThatCameBack(t *testing.T) {
	machineOnly(t)
	w := newWorld(t)
	comes := func(topic string) *kmsg.JoinGroupResponse {
		req := w.joinStatic(9, "", "i", "range")
		req.Protocols[0].Metadata = reads(1, topic)
		return w.join(req).got()
	}
	w.sync(w.syncRequest(5, comes("a").MemberID, 1, nil)).got()
	comes("b")
	for _, when := range []string{"before", "after"} {
		for topic, read := range map[string]bool{"a": false, "b": true} {
			if yes, known := w.m.ensure("g").members.subscribed(topic); yes != read || !known {
				t.Errorf("%s a load %s is read: %v, %v", when, topic, yes, known)
			}
		}
		w.load()
	}
}
