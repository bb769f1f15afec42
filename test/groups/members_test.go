package groups

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
	"ringmain/test/peer"
)

var (
	memberCount = flag.Int("members", 0, "TestMembersSettle, TestManyPartitionsSettle: so many members join one group")
	external    = flag.String("broker", "", "TestMembersSettle: host:port of a broker that runs, to compare with")
)

// Members join a group at once, and the time is told until all of them have their place in one generation or epoch.
// They behave as clients do: a heartbeat every 3 s, a new JoinGroup when told, an answer to an assignment at once.
func TestMembersSettle(t *testing.T) {
	if *memberCount == 0 {
		t.Skip("runs with -members 500")
	}
	addr := *external
	if addr == "" {
		addr = harness.StartOwn(t, harness.Options{Overrides: []string{"group.initial.rebalance.delay.ms=0"}}).Addr()
	}
	topic := fmt.Sprintf("settle-%d", time.Now().UnixNano())
	createTopic(t, addr, topic, int32(*memberCount))
	for _, protocol := range []string{"classic", "consumer"} {
		group := fmt.Sprintf("%s-%s", topic, protocol)
		findCoordinator(t, dial(t, addr), group)
		place := settled{t: t, members: *memberCount, goal: *memberCount}
		begun := time.Now()
		place.join(addr, func(c *peer.Conn, rank int) error {
			if protocol == "classic" {
				return place.classic(c, group, rank, topic)
			}
			return place.consumer(c, group, rank, topic)
		})
		at := place.await(*memberCount, 300*time.Second)
		place.end()
		t.Logf("%s: %d members settled after %v", protocol, *memberCount, at.Sub(begun).Round(time.Millisecond))
	}
}

// settled are members of one group. It counts those in the newest generation or epoch, and their
// partitions.
type settled struct {
	t       *testing.T
	members int
	running sync.WaitGroup
	over    atomic.Bool // the members end

	mu    sync.Mutex
	epoch int32
	has   map[int]int // partitions of the members there, by their rank
	sum   int         // of them
	goal  int         // partitions that all members together are to have
	at    time.Time   // when they had
}

// join starts the members, each with a connection.
func (s *settled) join(addr string, member func(c *peer.Conn, rank int) error) {
	for rank := range s.members {
		c := dial(s.t, addr)
		c.Timeout = 120 * time.Second
		s.running.Go(func() {
			if err := member(c, rank); err != nil && !s.over.Swap(true) {
				s.t.Errorf("member %d: %v", rank, err)
			}
		})
	}
}

// end ends the members, wherever they are.
func (s *settled) end() {
	s.over.Store(true)
	s.running.Wait()
}

// place notes what a member has. With less than its share it has no place yet.
func (s *settled) place(rank int, epoch int32, partitions int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch > s.epoch {
		s.epoch, s.has, s.sum = epoch, map[int]int{}, 0
	}
	if epoch != s.epoch || partitions < s.goal/s.members {
		return
	}
	s.sum += partitions - s.has[rank]
	s.has[rank] = partitions
	if len(s.has) == s.members && s.sum == s.goal && s.at.IsZero() {
		s.at = time.Now()
	}
}

// await waits until all members are in one generation or epoch with so many partitions, and gives
// the time at which they were.
func (s *settled) await(partitions int, patience time.Duration) time.Time {
	s.t.Helper()
	s.mu.Lock()
	s.goal, s.at = partitions, time.Time{}
	s.mu.Unlock()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		at, epoch, members, sum := s.at, s.epoch, len(s.has), s.sum
		s.mu.Unlock()
		switch {
		case !at.IsZero():
			return at
		case s.over.Load() || time.Now().After(deadline):
			s.end()
			s.t.Fatalf("%d of %d members are in epoch %d, with %d of %d partitions", members, s.members, epoch, sum, partitions)
		}
	}
}

// pause waits, but not beyond the end.
func (s *settled) pause(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end) && !s.over.Load(); {
		time.Sleep(10 * time.Millisecond)
	}
}

const heartbeat = 3 * time.Second

func (s *settled) classic(c *peer.Conn, group string, rank int, topic string) error {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics = 1, []string{topic}
	member := ""
	for !s.over.Load() {
		join := kmsg.NewPtrJoinGroupRequest()
		join.Group, join.MemberID, join.ProtocolType = group, member, "consumer"
		join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 45_000, 300_000
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = "range", meta.AppendTo(nil)
		join.Protocols = append(join.Protocols, p)
		var joined *kmsg.JoinGroupResponse
		code, err := retry(func() (_ int16, err error) {
			if joined, err = do[*kmsg.JoinGroupResponse](c, 9, join); err != nil {
				return 0, err
			}
			return joined.ErrorCode, nil
		})
		if err != nil {
			return fmt.Errorf("JoinGroup: %w", err)
		}
		member = joined.MemberID
		if code == kerr.MemberIDRequired.Code || code == kerr.RebalanceInProgress.Code {
			continue
		}
		if code != 0 {
			return fmt.Errorf("JoinGroup: %w", kerr.ErrorForCode(code))
		}
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Group, sync.MemberID, sync.Generation = group, member, joined.Generation
		sync.ProtocolType, sync.Protocol = joined.ProtocolType, joined.Protocol
		for i, m := range joined.Members {
			a := kmsg.NewSyncGroupRequestGroupAssignment()
			plan := kmsg.NewConsumerMemberAssignment()
			plan.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: topic, Partitions: []int32{int32(i)}}}
			a.MemberID, a.MemberAssignment = m.MemberID, plan.AppendTo(nil)
			sync.GroupAssignment = append(sync.GroupAssignment, a)
		}
		synced, err := do[*kmsg.SyncGroupResponse](c, 5, sync)
		if err != nil {
			return fmt.Errorf("SyncGroup: %w", err)
		}
		if synced.ErrorCode == kerr.RebalanceInProgress.Code {
			continue
		}
		if synced.ErrorCode != 0 {
			return fmt.Errorf("SyncGroup: %w", kerr.ErrorForCode(synced.ErrorCode))
		}
		s.place(rank, joined.Generation, 1)
		for code = 0; code == 0 && !s.over.Load(); {
			s.pause(heartbeat)
			beat := kmsg.NewPtrHeartbeatRequest()
			beat.Group, beat.MemberID, beat.Generation = group, member, joined.Generation
			resp, err := do[*kmsg.HeartbeatResponse](c, 4, beat)
			if err != nil {
				return fmt.Errorf("Heartbeat: %w", err)
			}
			code = resp.ErrorCode
		}
		if code != 0 && code != kerr.RebalanceInProgress.Code {
			return fmt.Errorf("Heartbeat: %w", kerr.ErrorForCode(code))
		}
	}
	return nil
}

// consumer is a member of the consumer protocol, which subscribes to topics.
func (s *settled) consumer(c *peer.Conn, group string, rank int, topics ...string) error {
	var epoch int32
	var owned []kmsg.ConsumerGroupHeartbeatRequestTopic
	tell := true // what it owns is told when it has changed
	for !s.over.Load() {
		beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		beat.Group, beat.MemberID, beat.MemberEpoch, beat.RebalanceTimeoutMillis = group, fmt.Sprintf("member-%d", rank), epoch, -1
		if epoch == 0 {
			beat.RebalanceTimeoutMillis, beat.SubscribedTopicNames = 300_000, topics
		}
		if tell {
			beat.Topics = append([]kmsg.ConsumerGroupHeartbeatRequestTopic{}, owned...)
		}
		var resp *kmsg.ConsumerGroupHeartbeatResponse
		code, err := retry(func() (_ int16, err error) {
			if resp, err = do[*kmsg.ConsumerGroupHeartbeatResponse](c, 1, beat); err != nil {
				return 0, err
			}
			return resp.ErrorCode, nil
		})
		if err != nil || code != 0 {
			return fmt.Errorf("ConsumerGroupHeartbeat: %v %v", err, kerr.ErrorForCode(code))
		}
		epoch = resp.MemberEpoch
		tell = false
		if resp.Assignment != nil {
			owned, tell = owned[:0], true
			for _, rt := range resp.Assignment.Topics {
				x := kmsg.NewConsumerGroupHeartbeatRequestTopic()
				x.TopicID, x.Partitions = rt.TopicID, slices.Clone(rt.Partitions)
				owned = append(owned, x)
			}
		}
		partitions := 0
		for _, rt := range owned {
			partitions += len(rt.Partitions)
		}
		s.place(rank, epoch, partitions)
		if !tell {
			s.pause(time.Duration(resp.HeartbeatIntervalMillis) * time.Millisecond)
		}
	}
	return nil
}
