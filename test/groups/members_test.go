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
	memberCount = flag.Int("members", 0, "TestMembersSettle: so many members join one group")
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
		var place settled
		var running sync.WaitGroup
		begun := time.Now()
		for i := range *memberCount {
			c := dial(t, addr)
			c.Timeout = 120 * time.Second
			running.Go(func() {
				var err error
				if protocol == "classic" {
					err = place.classic(c, group, topic)
				} else {
					err = place.consumer(c, group, topic, i)
				}
				if err != nil {
					t.Errorf("member %d: %v", i, err)
					place.over.Store(true)
				}
			})
		}
		running.Wait()
		t.Logf("%s: %d members settled after %v", protocol, *memberCount, place.at.Sub(begun).Round(time.Millisecond))
	}
}

// settled counts the members that have their place in the newest generation or epoch.
type settled struct {
	mu    sync.Mutex
	epoch int32
	count int
	at    time.Time
	over  atomic.Bool
}

// has notes a member's place; the last of them ends the run.
func (s *settled) has(epoch int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch > s.epoch {
		s.epoch, s.count = epoch, 0
	}
	if epoch == s.epoch {
		if s.count++; s.count == *memberCount {
			s.at = time.Now()
			s.over.Store(true)
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

func (s *settled) classic(c *peer.Conn, group, topic string) error {
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
		s.has(joined.Generation)
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

func (s *settled) consumer(c *peer.Conn, group, topic string, rank int) error {
	var epoch, placed int32
	var owned []kmsg.ConsumerGroupHeartbeatRequestTopic
	tell := true // what it owns is told when it has changed
	for !s.over.Load() {
		beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		beat.Group, beat.MemberID, beat.MemberEpoch, beat.RebalanceTimeoutMillis = group, fmt.Sprintf("member-%d", rank), epoch, -1
		if epoch == 0 {
			beat.RebalanceTimeoutMillis, beat.SubscribedTopicNames = 300_000, []string{topic}
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
		// Its place is one partition, in the epoch that all come to.
		if len(owned) == 1 && len(owned[0].Partitions) == 1 && epoch > placed {
			placed = epoch
			s.has(epoch)
		}
		if !tell {
			s.pause(time.Duration(resp.HeartbeatIntervalMillis) * time.Millisecond)
		}
	}
	return nil
}
