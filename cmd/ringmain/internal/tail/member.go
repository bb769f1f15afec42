package tail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/cmd/ringmain/internal/connection"
)

// Commit says when a member commits what it has handed out.
type Commit string

// The modes. In each but CommitNever a member also commits when it gives up a
// partition and when it ends.
const (
	CommitAuto  Commit = "auto"  // every commitInterval
	CommitBatch Commit = "batch" // after each batch, once it is flushed
	CommitNever Commit = "never"
)

const (
	// commitInterval is Kafka's default of auto.commit.interval.ms.
	commitInterval = 5 * time.Second
	// farewell bounds the last commit and the leaving of the group.
	farewell = 5 * time.Second
	// settling is how long a read that ends waits for a partition in a group that has
	// settled: others may have to give one up first, and may have all of them.
	settling = 10 * time.Second
	// rebalancing is how long others may take to join again (kgo's rebalance timeout).
	rebalancing = time.Minute
)

// GroupOptions say how to read as a member of a group.
type GroupOptions struct {
	Group    string
	Consumer bool // the consumer protocol (KIP-848) instead of the classic one
	Commit   Commit
}

// Member reads as a member of a group: the partitions that it is given, each from the
// group's committed offset. Where nothing is committed it begins where Options say. Make
// one with NewMember, its client with ClientOptions, and call Run once.
type Member struct {
	run
	g     GroupOptions
	ready chan struct{} // closed when the fields below it may be used

	// mu is held by the loop while it works and by the client's callbacks.
	mu        sync.Mutex
	failed    bool            // Run gave up before it began: callbacks do nothing
	whole     plan            // all partitions, as if no group had committed anything
	epochs    map[int32]int32 // leader epoch of the last record handed out
	committed map[int32]int64 // what the group has as far as known
	waitUntil time.Time       // without a partition, when this read ends; zero before the first session
	lastTime  time.Time       // of a commit
	lost      error           // a commit that failed, of the last attempt
}

// NewMember makes a member of o's topic in group g.
func NewMember(o Options, g GroupOptions) *Member {
	m := &Member{g: g, ready: make(chan struct{}), epochs: map[int32]int32{}, committed: map[int32]int64{}}
	m.o = o
	return m
}

// ClientOptions are those that the client given to Run must have been made with.
func (m *Member) ClientOptions() []kgo.Opt {
	opts := append(ClientOptions(m.o),
		kgo.ConsumerGroup(m.g.Group),
		kgo.ConsumeTopics(m.o.Topic),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.AdjustFetchOffsetsFn(m.assigned),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { m.sessionBegan() }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { m.revoked(gone, true) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { m.revoked(gone, false) }),
	)
	if m.g.Consumer {
		return append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	}
	// Every assignor that other members may have chosen, so that any group can be joined.
	return append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer(), kgo.RangeBalancer(), kgo.StickyBalancer(), kgo.RoundRobinBalancer()))
}

// Run reads until it is done, commits and leaves the group. It returns the context's
// error when that ends first, then too after leaving.
func (m *Member) Run(ctx context.Context, c *connection.Conn, h Hooks) error {
	m.ctx, m.c, m.h = ctx, c, h
	if err := m.prepare(); err != nil {
		m.failed = true
		close(m.ready)
		return err
	}
	close(m.ready)
	err, left := m.loop(), m.leave()
	if left != nil {
		return errors.Join(err, left)
	}
	return err
}

func (m *Member) prepare() (err error) {
	if m.g.Consumer {
		if err := m.offersConsumerProtocol(); err != nil {
			return err
		}
	}
	if m.whole, err = makePlan(m.ctx, m.c, m.o, time.Now(), m.h.Warn); err != nil {
		return err
	}
	m.plan = plan{topicID: m.whole.topicID, spans: map[int32]span{}}
	m.lastTime = time.Now()
	m.h.Plan(0) // what is committed, and who else reads, is not known yet
	return nil
}

// offersConsumerProtocol says so when the cluster does not: the client would use the
// classic protocol without a word.
func (m *Member) offersConsumerProtocol() error {
	ctx, cancel := m.c.Request(m.ctx)
	defer cancel()
	versions, err := m.c.Admin.ApiVersions(ctx)
	if err != nil {
		return m.c.Explain(err)
	}
	for _, v := range versions {
		if _, most, ok := v.KeyVersions(int16(kmsg.ConsumerGroupHeartbeat)); v.Err == nil && (!ok || most < 1) {
			return fmt.Errorf("broker %d does not offer the consumer protocol (KIP-848): Kafka has it from 4.0 on, with group.version 1; use --protocol classic", v.NodeID)
		}
		if v.Err == nil && groupVersionOff(v.Raw()) {
			return fmt.Errorf("the cluster's group.version is 0, which turns the consumer protocol (KIP-848) off: use --protocol classic, or let an admin run kafka-features upgrade --feature group.version=1")
		}
	}
	return nil
}

// groupVersionOff reports whether a broker knows the feature of the consumer protocol and
// the cluster does not have it: the requests are offered all the same.
func groupVersionOff(v *kmsg.ApiVersionsResponse) bool {
	const feature = "group.version"
	for i := range v.FinalizedFeatures {
		if f := &v.FinalizedFeatures[i]; f.Name == feature && f.MaxVersionLevel > 0 {
			return false
		}
	}
	return slices.ContainsFunc(v.SupportedFeatures, func(f kmsg.ApiVersionsResponseSupportedFeature) bool { return f.Name == feature })
}

func (m *Member) loop() error {
	for !m.finished() {
		waiting, cancel := context.WithTimeout(m.ctx, quiet)
		fetches := m.c.PollRecords(waiting, pollRecords)
		cancel()
		err := m.work(fetches)
		m.c.AllowRebalance()
		if err != nil {
			return err
		}
	}
	return nil
}

// finished reports that nothing is left to read in the partitions that the member has.
func (m *Member) finished() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.enough():
		return true
	case !m.whole.bounded() || m.open > 0:
		return false
	case len(m.plan.spans) > 0:
		return true
	}
	return !m.waitUntil.IsZero() && time.Now().After(m.waitUntil)
}

// work hands out what was fetched.
func (m *Member) work(fetches kgo.Fetches) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ctx.Err(); err != nil {
		return err
	}
	if err := m.failures(fetches); err != nil {
		return err
	}
	if fetches.NumRecords() == 0 {
		if err := m.idle(); err != nil {
			return err
		}
	}
	for it := fetches.RecordIter(); !it.Done() && !m.enough(); {
		r := it.Next()
		if _, ours := m.plan.spans[r.Partition]; !ours {
			continue
		}
		if err := m.take(r); err != nil {
			return err
		}
		m.epochs[r.Partition] = r.LeaderEpoch
	}
	due := m.g.Commit == CommitBatch || m.g.Commit == CommitAuto && time.Since(m.lastTime) >= commitInterval
	if !due {
		if m.c.BufferedFetchRecords() == 0 {
			return m.h.Idle()
		}
		return nil
	}
	ctx, cancel := m.c.Request(m.ctx)
	defer cancel()
	return m.commit(ctx)
}

// commit flushes what was handed out and commits it. A commit that the coordinator
// does not take is a warning: another member reads those records again.
func (m *Member) commit(ctx context.Context) error {
	m.lastTime, m.lost = time.Now(), nil
	if err := m.h.Idle(); err != nil {
		return err
	}
	if m.g.Commit == CommitNever {
		return nil
	}
	offsets := map[int32]kgo.EpochOffset{}
	for p, s := range m.plan.spans {
		if at, ok := m.committed[p]; !ok || s.next > at {
			epoch, ok := m.epochs[p]
			if !ok {
				continue // nothing was read of it
			}
			offsets[p] = kgo.EpochOffset{Epoch: epoch, Offset: s.next}
		}
	}
	if len(offsets) == 0 {
		return nil
	}
	m.c.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{m.o.Topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if err != nil {
				m.lost = m.c.Explain(err)
				return
			}
			for _, t := range resp.Topics {
				for _, p := range t.Partitions {
					if p.ErrorCode != 0 {
						m.lost = connection.Refused(fmt.Sprintf("commit partition %d of topic %q for group %q", p.Partition, m.o.Topic, m.g.Group), p.ErrorCode, nil)
						continue
					}
					m.committed[p.Partition] = offsets[p.Partition].Offset
				}
			}
		})
	if m.lost != nil {
		m.h.Warn(m.lost.Error())
	}
	return nil
}

// leave commits what is left to commit and leaves the group, so that others have the
// partitions at once, and not after a session's timeout.
func (m *Member) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	m.mu.Lock()
	err := m.commit(ctx)
	if m.lost != nil {
		err = errors.Join(err, fmt.Errorf("the last records that were printed are not committed: %w", m.lost))
	}
	m.mu.Unlock()
	if left := m.c.LeaveGroupContext(ctx); left != nil && !errors.Is(left, kerr.UnknownMemberID) && !errors.Is(left, context.Canceled) {
		m.h.Warn(fmt.Sprintf("leave group %q: %v", m.g.Group, left))
	}
	return err
}

// sessionBegan notes that the group has settled.
func (m *Member) sessionBegan() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waitUntil = time.Now().Add(settling)
}

// assigned gets the committed offsets of partitions that this member is given, and
// says where to read: there, or where Options say.
func (m *Member) assigned(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	<-m.ready
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed {
		return offsets, nil
	}
	for p, o := range offsets[m.o.Topic] {
		s, known := m.whole.spans[p]
		if !known { // made after this command began
			s = span{stop: -1, leader: -1}
			if m.whole.bounded() {
				s.stop = 0
			}
		}
		if at := o.EpochOffset().Offset; at >= 0 {
			s.next, m.committed[p] = at, at
		} else {
			delete(m.committed, p)
			offsets[m.o.Topic][p] = kgo.NewOffset().At(s.next)
		}
		delete(m.epochs, p)
		m.plan.spans[p] = s
		m.c.ResumeFetchPartitions(map[string][]int32{m.o.Topic: {p}})
		if s.done() {
			m.c.PauseFetchPartitions(map[string][]int32{m.o.Topic: {p}})
		} else {
			m.open++
		}
	}
	return offsets, nil
}

// revoked takes partitions away; first what was read of them is committed, if the
// coordinator still takes it.
func (m *Member) revoked(gone map[string][]int32, ours bool) {
	<-m.ready
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed || len(gone[m.o.Topic]) == 0 {
		return
	}
	if ours {
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		if err := m.commit(ctx); err != nil {
			m.h.Warn(err.Error())
		}
	}
	for _, p := range gone[m.o.Topic] {
		if s, ok := m.plan.spans[p]; ok && !s.done() {
			m.open--
		}
		delete(m.plan.spans, p)
	}
	if len(m.plan.spans) == 0 {
		m.waitUntil = time.Now().Add(rebalancing + settling)
	}
}
