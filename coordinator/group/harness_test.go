package group

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"ringmain/coordinator"
	"ringmain/metadata"
	"ringmain/model"
)

// harness is a machine with a clock, a cluster's metadata and a log of its own. When
// the test is over, a fresh machine reads the log and must have the same lasting
// state.
type harness struct {
	t     *testing.T
	cfg   *Config
	m     *Machine
	img   *metadata.Image
	nowMs int64
	log   []logged
	// wallAheadMs is how far the wall clock was set forward.
	wallAheadMs int64
	// blind says that the machine is not told of changes.
	blind bool

	// hold keeps answers back, as while their write is not durable.
	hold bool
	held []func(error)
}

// logged is a record with the time that the log gave it.
type logged struct {
	coordinator.Record
	timestampMs int64
}

// harnessWallMs is the time of day when a harness's nowMs is 0.
const harnessWallMs = 1_750_000_000_000

func newHarness(t *testing.T, change ...func(*Config)) *harness {
	t.Helper()
	h := &harness{t: t, img: metadata.Empty(), nowMs: 1000, cfg: harnessConfig()}
	for _, c := range change {
		c(h.cfg)
	}
	h.load()
	t.Cleanup(h.compareWithReplay)
	return h
}

func harnessConfig() *Config {
	ids := 0
	return &Config{
		MaxMetadataBytes:        4096,
		RetentionMs:             7 * 24 * 3600_000,
		RetentionCheckMs:        600_000,
		MinSessionTimeoutMs:     6000,
		MaxSessionTimeoutMs:     1_800_000,
		InitialRebalanceDelayMs: 3000,
		MaxSize:                 1 << 30,
		ConsumerMaxSize:         1 << 30,
		Assignors:               []string{"uniform", "range"},
		Migration:               MigrationPolicy{Upgrade: true, Downgrade: true},
		RegexRefreshMs:          600_000,
		ClassicProtocol:         true,
		ConsumerProtocol:        true,
		ConsumerSettings: func(*metadata.Image, string) ConsumerSettings {
			return ConsumerSettings{SessionTimeoutMs: 45_000, HeartbeatIntervalMs: 5000, AssignmentIntervalMs: 1000}
		},
		NewID: func() string { ids++; return fmt.Sprintf("id-%d", ids) },
	}
}

// load begins with a machine that has read the log.
func (h *harness) load() {
	h.t.Helper()
	h.m = h.replay()
	h.step(h.m.Loaded)
}

// replay gives a machine that has read the log and is not used yet.
func (h *harness) replay() *Machine {
	h.t.Helper()
	m := New(h.cfg)
	for i, r := range h.log {
		if err := m.Replay(int64(i), r.timestampMs, r.Key, r.Value); err != nil {
			h.t.Fatal(err)
		}
	}
	return m
}

func (h *harness) wallMs() int64 { return harnessWallMs + h.nowMs + h.wallAheadMs }

// step lets the machine do something now; its records are durable at once. It gives
// the number of records.
func (h *harness) step(do func(s *coordinator.Step)) int {
	s := &coordinator.Step{NowMs: h.nowMs, WallMs: h.wallMs(), RetentionWallMs: h.wallMs() - h.wallAheadMs, Image: h.img, MaxRecordBytes: 1 << 20}
	do(s)
	for _, r := range s.Records {
		h.log = append(h.log, logged{r, s.WallMs})
	}
	if h.held = append(h.held, s.Answers...); !h.hold {
		h.release(nil)
	}
	return len(s.Records)
}

// release calls the answers that were held back.
func (h *harness) release(err error) {
	h.hold = false
	held := h.held
	h.held = nil
	for _, answer := range held {
		answer(err)
	}
}

// pass lets time pass, from deadline to deadline.
func (h *harness) pass(ms int64) {
	h.t.Helper()
	end := h.nowMs + ms
	for range 1_000_000 {
		at, ok := h.m.NextDeadline()
		if !ok || at > end {
			h.nowMs = end
			return
		}
		h.nowMs = max(h.nowMs, at)
		h.step(h.m.Advance)
	}
	h.t.Fatal("deadlines never end")
}

// change applies records to the metadata and tells the machine.
func (h *harness) change(records ...metadata.Record) {
	h.t.Helper()
	img, delta, err := h.img.Apply(records, h.img.Offset()+1)
	if err != nil {
		h.t.Fatal(err)
	}
	h.img = img
	if !h.blind {
		h.step(func(s *coordinator.Step) { h.m.TopicsChanged(s, delta) })
	}
}

// unseen changes the metadata without telling the machine.
func (h *harness) unseen(change func()) {
	h.blind = true
	change()
	h.blind = false
}

// create makes a topic with partitions on brokers 1, 2, 3 in turn; its id is new.
func (h *harness) create(name string, partitions int) model.TopicID {
	h.t.Helper()
	id := model.NewTopicID()
	records := []metadata.Record{metadata.TopicRecord{Name: name, ID: id}}
	for i := range partitions {
		broker := []int32{int32(i)%3 + 1}
		records = append(records, metadata.PartitionRecord{TopicID: id, Index: int32(i),
			Partition: metadata.Partition{Replicas: broker, ISR: broker, Leader: broker[0]}})
	}
	h.change(records...)
	return id
}

func (h *harness) delete(name string) {
	h.t.Helper()
	h.change(metadata.RemoveTopicRecord{ID: h.img.Topic(name).ID})
}

// asked is a request that has or has not been answered.
type asked[R any] struct {
	t        *testing.T
	answers  int
	response R
	err      error
	// records is the number of records that its step wrote.
	records int
}

// ask makes a request in a step of its own.
func ask[R any](h *harness, do func(s *coordinator.Step, reply func(R, error))) *asked[R] {
	h.t.Helper()
	a := &asked[R]{t: h.t}
	a.records = h.step(func(s *coordinator.Step) {
		do(s, func(response R, err error) {
			if a.answers++; a.answers > 1 {
				a.t.Error("a request was answered twice")
			}
			a.response, a.err = response, err
		})
	})
	return a
}

// got gives the answer, which has to be there.
func (a *asked[R]) got() R {
	a.t.Helper()
	if a.answers == 0 || a.err != nil {
		a.t.Fatalf("%d answers, error %v", a.answers, a.err)
	}
	return a.response
}

// failed gives the error, which has to be there.
func (a *asked[R]) failed() error {
	a.t.Helper()
	if a.answers == 0 || a.err == nil {
		a.t.Fatalf("%d answers, without an error", a.answers)
	}
	return a.err
}

// waits says that there is no answer yet.
func (a *asked[R]) waits() {
	a.t.Helper()
	if a.answers > 0 {
		a.t.Fatalf("answered: %+v, %v", a.response, a.err)
	}
}

// lastingMembers is implemented in tests by memberships whose state in records can be
// compared: lasting gives it, or nil if nothing is in records.
type lastingMembers interface{ lasting() any }

// lastingGroup is what records tell of a group.
type lastingGroup struct {
	offsets map[string]*topicOffsets
	members any
}

// lasting is the state of a machine that survives. Groups of which no record tells are
// not in it.
func lasting(m *Machine) map[string]lastingGroup {
	all := map[string]lastingGroup{}
	for id, g := range m.groups {
		var l lastingGroup
		if members, ok := g.members.(lastingMembers); ok {
			l.members = members.lasting()
		}
		if l.members == nil && g.offsets.empty() {
			continue
		}
		l.offsets = map[string]*topicOffsets{}
		for name, t := range g.offsets.topics {
			l.offsets[name] = &topicOffsets{commits: t.commits}
			if len(t.notes) > 0 { // a map that was emptied is as good as none
				l.offsets[name].notes = t.notes
			}
		}
		all[id] = l
	}
	return all
}

func (h *harness) compareWithReplay() {
	if h.t.Failed() {
		return
	}
	got, want := lasting(h.replay()), lasting(h.m)
	for id, g := range want {
		if !reflect.DeepEqual(got[id], g) {
			h.t.Errorf("group %q: after a load\n%+v, before\n%+v", id, got[id], g)
		}
	}
	for id := range got {
		if _, ok := want[id]; !ok {
			h.t.Errorf("group %q is there after a load only", id)
		}
	}
}

func TestHarnessGivesAnswersWhenTheyAreDurable(t *testing.T) {
	h := newHarness(t)
	list := func() *asked[int16] {
		return ask(h, func(s *coordinator.Step, reply func(int16, error)) { h.m.DeleteGroup(s, "nobody", reply) })
	}
	h.hold = true
	a := list()
	a.waits()
	h.release(nil)
	a.got()
	h.hold = true
	a = list()
	h.release(coordinator.ErrUnavailable)
	if err := a.failed(); !errors.Is(err, coordinator.ErrUnavailable) {
		t.Error(err)
	}
}
