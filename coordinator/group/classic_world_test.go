package group

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// world is where a scenario happens: a machine with a clock of its own, or Kafka.
type world struct {
	t     *testing.T
	group string

	machine *Machine
	cfg     *Config
	nowMs   int64
	log     []coordinator.Record
	broken  error // what answers are told instead of being sent
	held    []func(error)
	hold    bool // keeps answers back, as while a write is not durable
}

const testWallMs = 1_700_000_000_000

func testConfig() *Config {
	n := 0
	return &Config{
		RetentionMs:         7 * 24 * 3600_000,
		RetentionCheckMs:    600_000,
		MinSessionTimeoutMs: 6000,
		MaxSessionTimeoutMs: 1_800_000,
		MaxSize:             4,
		NewID:               func() string { n++; return fmt.Sprintf("%036d", n) },
	}
}

// newWorld is one that Kafka can stand in for.
func newWorld(t *testing.T) *world {
	if kafkaAddress != "" {
		t.Parallel()
		w := &world{t: t, group: fmt.Sprintf("%s-%x", t.Name(), rand.Uint64())}
		w.warmUp()
		return w
	}
	return newMachineWorld(t, testConfig())
}

func newMachineWorld(t *testing.T, cfg *Config) *world {
	w := &world{t: t, group: "g", cfg: cfg}
	w.load()
	return w
}

// machineOnly skips a scenario on Kafka.
func machineOnly(t *testing.T) {
	if kafkaAddress != "" {
		t.Skip("needs a configuration of its own, or looks inside")
	}
}

// load begins with what the log has.
func (w *world) load() {
	w.machine = New(w.cfg)
	for i, r := range w.log {
		if err := w.machine.Replay(int64(i), testWallMs, r.Key, r.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	w.step(w.machine.Loaded)
}

func (w *world) step(do func(*coordinator.Step)) {
	s := &coordinator.Step{NowMs: w.nowMs, WallMs: testWallMs + w.nowMs, RetentionWallMs: testWallMs + w.nowMs, MaxRecordBytes: 1 << 20}
	do(s)
	w.finish(s)
	for {
		at, ok := w.machine.NextDeadline()
		if !ok || at > w.nowMs {
			return
		}
		s := &coordinator.Step{NowMs: w.nowMs, WallMs: testWallMs + w.nowMs, RetentionWallMs: testWallMs + w.nowMs, MaxRecordBytes: 1 << 20}
		w.machine.Advance(s)
		w.finish(s)
	}
}

func (w *world) finish(s *coordinator.Step) {
	w.log = append(w.log, s.Records...)
	if w.hold {
		w.held = append(w.held, s.Answers...)
		return
	}
	for _, answer := range s.Answers {
		answer(w.broken)
	}
}

// release sends what was held back.
func (w *world) release() {
	held := w.held
	w.held, w.hold = nil, false
	for _, answer := range held {
		answer(nil)
	}
}

// pass lets time pass, step by step as the machine wants.
func (w *world) pass(ms int64) {
	if w.machine == nil {
		time.Sleep(time.Duration(ms) * time.Millisecond)
		return
	}
	until := w.nowMs + ms
	for {
		at, ok := w.machine.NextDeadline()
		if !ok || at > until {
			break
		}
		w.nowMs = max(w.nowMs, at)
		w.step(func(*coordinator.Step) {})
	}
	w.nowMs = until
}

// answer is the answer to one request.
type answer[R kmsg.Response] struct {
	w        *world
	done     chan struct{}
	response R
	err      error
}

// got gives the answer, which must have come.
func (a *answer[R]) got() R {
	a.w.t.Helper()
	patience := time.Duration(0)
	if a.w.machine == nil {
		patience = 10 * time.Second
	}
	select {
	case <-a.done:
	default:
		select {
		case <-a.done:
		case <-time.After(patience):
			a.w.t.Fatal("the answer is missing")
		}
	}
	if a.err != nil {
		a.w.t.Fatal(a.err)
	}
	return a.response
}

// waits asserts that the answer has not come.
func (a *answer[R]) waits() {
	a.w.t.Helper()
	if a.w.machine == nil {
		time.Sleep(300 * time.Millisecond)
	}
	select {
	case <-a.done:
		a.w.t.Fatalf("it was answered: %+v %v", a.response, a.err)
	default:
	}
}

// send gives a request to the machine, or to Kafka.
func send[R kmsg.Response](w *world, req kmsg.Request, to func(s *coordinator.Step, reply func(R, error))) *answer[R] {
	a := &answer[R]{w: w, done: make(chan struct{})}
	if w.machine == nil {
		go func() {
			defer close(a.done)
			response, err := askKafka(req)
			a.err = err
			if err == nil {
				a.response = response.(R)
			}
		}()
		time.Sleep(50 * time.Millisecond) // what is sent first shall arrive first
		return a
	}
	w.step(func(s *coordinator.Step) {
		to(s, func(r R, err error) {
			a.response, a.err = r, err
			if err == nil { // as a client sees it
				a.response = req.ResponseKind().(R)
				if err := a.response.ReadFrom(r.AppendTo(nil)); err != nil {
					w.t.Error(err)
				}
			}
			close(a.done) // a second answer panics
		})
	})
	return a
}

func (w *world) join(req *kmsg.JoinGroupRequest) *answer[*kmsg.JoinGroupResponse] {
	return send(w, req, func(s *coordinator.Step, reply func(*kmsg.JoinGroupResponse, error)) {
		w.machine.JoinGroup(s, req, testClient, reply)
	})
}

func (w *world) sync(req *kmsg.SyncGroupRequest) *answer[*kmsg.SyncGroupResponse] {
	return send(w, req, func(s *coordinator.Step, reply func(*kmsg.SyncGroupResponse, error)) {
		w.machine.SyncGroup(s, req, reply)
	})
}

func (w *world) heartbeat(req *kmsg.HeartbeatRequest) *answer[*kmsg.HeartbeatResponse] {
	return send(w, req, func(s *coordinator.Step, reply func(*kmsg.HeartbeatResponse, error)) {
		w.machine.Heartbeat(s, req, reply)
	})
}

func (w *world) leave(req *kmsg.LeaveGroupRequest) *answer[*kmsg.LeaveGroupResponse] {
	return send(w, req, func(s *coordinator.Step, reply func(*kmsg.LeaveGroupResponse, error)) {
		w.machine.LeaveGroup(s, req, reply)
	})
}

func (w *world) describe(version int16) kmsg.DescribeGroupsResponseGroup {
	w.t.Helper()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version = version
	req.Groups = []string{w.group}
	a := send(w, req, func(s *coordinator.Step, reply func(*kmsg.DescribeGroupsResponse, error)) {
		w.machine.DescribeGroup(s, w.group, version, func(g kmsg.DescribeGroupsResponseGroup, err error) {
			reply(&kmsg.DescribeGroupsResponse{Version: version, Groups: []kmsg.DescribeGroupsResponseGroup{g}}, err)
		})
	})
	return a.got().Groups[0]
}

// warmUp waits until Kafka has its groups' topic.
func (w *world) warmUp() {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version = 0
	req.CoordinatorKey = w.group
	for range 100 {
		if r, err := askKafka(req); err == nil && r.(*kmsg.FindCoordinatorResponse).ErrorCode == 0 {
			leave := kmsg.NewPtrLeaveGroupRequest()
			leave.Version, leave.Group, leave.MemberID = 1, w.group, "nobody"
			if r, err := askKafka(leave); err == nil && r.(*kmsg.LeaveGroupResponse).ErrorCode == 25 {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatal("Kafka has no coordinator")
}
