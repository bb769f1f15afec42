package main

import (
	"bytes"
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"ringmain/cmd/ringmain/internal/group"
)

// described waits until group id is as ok wants it.
func (s shell) described(id string, ok func(g group.Group) bool) group.Group {
	s.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, out, errOut := s.run("", "group", "describe", id, "--output", "json")
		var found []group.Group
		if out != "" {
			found = decode[[]group.Group](s.t, out)
		}
		if len(found) == 1 && ok(found[0]) {
			return found[0]
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("group %q stays %+v, standard error %q", id, found, errOut)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// join makes a member that is not ours, until the test ends.
func (s shell) join(id, topic string, opts ...kgo.Opt) *kgo.Client {
	s.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.bootstrap), kgo.ConsumerGroup(id), kgo.ConsumeTopics(topic), kgo.ClientID("other")}, opts...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(cl.Close)
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	go func() {
		for ctx.Err() == nil {
			cl.PollFetches(ctx)
		}
	}()
	return cl
}

func TestGroupMembersAreShownAndRemoved(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(3, "orders")))
	s.join("g", "orders", kgo.InstanceID("billing-1"))
	g := s.described("g", func(g group.Group) bool {
		return g.State == "Stable" && len(g.Members) == 1 && g.Members[0].Partitions() == 3
	})
	if m := g.Members[0]; m.InstanceID != "billing-1" || m.ClientID != "other" || m.Topics[0] != "orders" || m.Host == "" {
		t.Errorf("got %+v", m)
	}
	if len(g.Offsets) != 3 || g.Offsets[2].MemberID != g.Members[0].MemberID || g.Offsets[2].Committed != -1 || g.Offsets[2].Lag != -1 {
		t.Errorf("got %+v", g.Offsets)
	}
	if out := s.ok("", "group", "describe", "g", "--members"); !strings.Contains(out, "orders(0,1,2)") || !strings.Contains(out, "billing-1") {
		t.Errorf("got\n%s", out)
	}
	s.fails(exitFailure, []string{"group", "reset-offsets", "g", "--topic", "orders", "--to-latest", "--execute"}, "only while it has no members", "Stable with 1")
	s.fails(exitFailure, []string{"group", "delete", "g"}, "NON_EMPTY_GROUP (68)")
	s.fails(exitFailure, []string{"group", "remove-members", "g", "--instance", "billing-2"}, `remove instance "billing-2"`)
	removed := decode[[]removedMember](t, s.ok("", "group", "remove-members", "g", "--all", "--output", "json"))
	if len(removed) != 1 || !removed[0].Removed || removed[0].InstanceID != "billing-1" {
		t.Errorf("got %+v", removed)
	}
}

// TestConsumeSaysWhyItIsRefused: the coordinator's own words say more than the code.
func TestConsumeSaysWhyItIsRefused(t *testing.T) {
	c := fakeCluster(t, kfake.SeedTopics(1, "orders"))
	c.ControlKey(int16(kmsg.ConsumerGroupHeartbeat), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
		resp.ErrorCode = kerr.GroupIDNotFound.Code
		resp.ErrorMessage = kmsg.StringPtr("Cannot upgrade classic group g.")
		return resp, nil, true
	})
	newShell(t, c).fails(exitFailure, []string{"consume", "orders", "--group", "g", "--protocol", "consumer"},
		"be a member of the group: GROUP_ID_NOT_FOUND (69): Cannot upgrade classic group g")
}

// TestConsumeSharesAndLeaves: a member of ours has its share beside another client; an
// interrupt commits what was printed, and the group is without it at once.
func TestConsumeSharesAndLeaves(t *testing.T) {
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			s := newShell(t, fakeCluster(t, kfake.SeedTopics(2, "orders")))
			s.ok(lines("a", 5), "produce", "orders", "--partition", "0")
			s.ok(lines("b", 5), "produce", "orders", "--partition", "1")
			var out, errOut bytes.Buffer
			ended := make(chan int, 1)
			go func() {
				ended <- run([]string{"consume", "orders", "--group", "g", "--protocol", protocol, "--commit", "batch", "--bootstrap", s.bootstrap}, strings.NewReader(""), &out, &errOut)
			}()
			s.described("g", func(g group.Group) bool {
				return len(g.Members) == 1 && len(g.Offsets) == 2 && g.Offsets[0].Committed == 5 && g.Offsets[1].Committed == 5
			})
			opts := []kgo.Opt{kgo.DisableAutoCommit()}
			if protocol == "consumer" {
				opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
			}
			other := s.join("g", "orders", opts...)
			s.described("g", func(g group.Group) bool {
				// The cluster of this test names no topics in what it says of this protocol.
				return len(g.Members) == 2 && (protocol == "consumer" || g.Members[0].Partitions() == 1 && g.Members[1].Partitions() == 1)
			})
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if code := <-ended; code != 0 || errOut.Len() > 0 {
				t.Errorf("exit code %d, standard error %q", code, errOut.String())
			}
			if n := strings.Count(out.String(), "\n"); n != 10 {
				t.Errorf("%d records were printed; want 10", n)
			}
			g := s.described("g", func(g group.Group) bool { return len(g.Members) == 1 })
			if g.Lag != 0 || len(g.Offsets) != 2 || g.Members[0].ClientID != "other" {
				t.Errorf("got %+v", g)
			}
			other.Close()
		})
	}
}

func TestConsumeInAGroup(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "orders")))
	s.ok(lines("v", 10), "produce", "orders")
	read := func(want string, args ...string) {
		t.Helper()
		out := s.ok("", append([]string{"consume", "orders"}, args...)...)
		if got := strings.Join(strings.Fields(out), " "); got != want {
			t.Errorf("%q: got %q; want %q", args, got, want)
		}
	}
	// Where to start counts as long as nothing is committed.
	read("v9 v10", "--group", "a", "--last", "2", "--exit", "--commit", "never")
	read("v8 v9", "--group", "a", "--last", "3", "--count", "2")
	read("v10", "--group", "a", "--last", "3", "--exit", "--commit", "batch")
	read("", "--group", "a", "--from-beginning", "--exit")
	s.ok(lines("w", 2), "produce", "orders")
	read("w1 w2", "--group", "a", "--exit", "--protocol", "consumer")
	read("", "--group", "b", "--from-end", "--exit")
	s.fails(exitFailure, []string{"consume", "gone", "--group", "a"}, `topic "gone"`)
}

func TestConsumerProtocolThatIsNotThere(t *testing.T) {
	c := fakeCluster(t, kfake.SeedTopics(1, "orders"), kfake.MaxVersions(kversion.V3_8_0()))
	s := newShell(t, c)
	s.fails(exitFailure, []string{"consume", "orders", "--group", "g", "--protocol", "consumer"}, "does not offer the consumer protocol", "--protocol classic")
}

// TestConsumeThatGetsNoPartitionEnds, with --exit, when others keep what there is.
func TestConsumeThatGetsNoPartitionEnds(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "orders")))
	s.ok(lines("v", 5), "produce", "orders")
	s.join("g", "orders")
	s.described("g", func(g group.Group) bool {
		return len(g.Members) == 1 && g.Members[0].Partitions() == 1 && g.Lag == 0 && g.Offsets[0].Committed == 5
	})
	if out := s.ok("", "consume", "orders", "--group", "g", "--exit"); out != "" {
		t.Errorf("got %q", out)
	}
	if g := s.described("g", func(g group.Group) bool { return len(g.Members) == 1 }); g.Members[0].ClientID != "other" {
		t.Errorf("got %+v", g)
	}
}
