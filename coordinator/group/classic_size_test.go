package group

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// crowd is a machine without a clock or a log: what is measured is the machine.
type crowd struct {
	m   *Machine
	now int64
	n   int // answers
}

func newCrowd() *crowd {
	cfg := harnessConfig()
	cfg.InitialRebalanceDelayMs = 0
	return &crowd{m: New(cfg)}
}

func (c *crowd) step(do func(*coordinator.Step)) {
	s := &coordinator.Step{NowMs: c.now, WallMs: c.now, RetentionWallMs: c.now, MaxRecordBytes: 1 << 30}
	do(s)
	for _, answer := range s.Answers {
		answer(nil)
		c.n++
	}
}

// join lets n members join a group and settle, as a fleet does that is started: all
// join, and meet in one generation.
func (c *crowd) join(group string, n int) (ids []string) {
	w := &world{group: group}
	for i := range n {
		req := w.joinRequest(3, "", "range", "sticky")
		req.Protocols[0].Metadata = make([]byte, 200)
		c.step(func(s *coordinator.Step) {
			c.m.JoinGroup(s, req, Client{ID: fmt.Sprint("c", i)}, func(r *kmsg.JoinGroupResponse, _ error) { ids = append(ids, r.MemberID) })
		})
	}
	c.step(c.m.Advance)
	for i := n - 1; i >= 0; i-- { // the leader comes last
		req := w.syncRequest(3, ids[i], 1, nil)
		if i == 0 {
			for _, id := range ids {
				req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: make([]byte, 50)})
			}
		}
		c.step(func(s *coordinator.Step) { c.m.SyncGroup(s, req, func(*kmsg.SyncGroupResponse, error) {}) })
	}
	return ids
}

func TestAManyMemberGroupSettles(t *testing.T) {
	machineOnly(t)
	c := newCrowd()
	ids := c.join("g", 5000)
	if g := c.m.groups["g"].members.(*classic); g.current != classicStable || g.size() != 5000 || c.n != 10_000 {
		t.Errorf("%s, %d members, %d answers", g.current, g.size(), c.n)
	}
	w := &world{group: "g"}
	for _, id := range ids {
		c.step(func(s *coordinator.Step) {
			c.m.LeaveGroup(s, w.leaveRequest(id), func(*kmsg.LeaveGroupResponse, error) {})
		})
	}
	if g := c.m.groups["g"].members.(*classic); g.current != classicEmpty || g.size() != 0 {
		t.Errorf("%s, %d members", g.current, g.size())
	}
}

func BenchmarkJoinAndSettle(b *testing.B) {
	for _, n := range []int{500, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				newCrowd().join("g", n)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/member")
		})
	}
}

// BenchmarkHeartbeat is of one member in each of 10,000 groups.
func BenchmarkHeartbeat(b *testing.B) {
	c := newCrowd()
	reqs := make([]*kmsg.HeartbeatRequest, 10_000)
	for i := range reqs {
		w := &world{group: fmt.Sprint("g", i)}
		reqs[i] = w.heartbeatRequest(4, c.join(w.group, 1)[0], 1)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i%10 == 0 { // 10,000 heartbeats a second
			c.now++
			c.step(c.m.Advance)
		}
		c.step(func(s *coordinator.Step) {
			c.m.Heartbeat(s, reqs[i%len(reqs)], func(r *kmsg.HeartbeatResponse, _ error) {
				if r.ErrorCode != 0 {
					b.Fatal(r.ErrorCode)
				}
			})
		})
		i++
	}
}
