package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// world is where a scenario happens: a machine with a clock of its own, or Kafka.
type world struct {
	*harness // nil at Kafka
	t        *testing.T
	group    string
}

// asClassicKafka is the configuration that kafkaAddress is to have.
func asClassicKafka(cfg *Config) {
	n := 0
	cfg.MaxSize, cfg.InitialRebalanceDelayMs = 4, 0
	cfg.NewID = func() string { n++; return fmt.Sprintf("%036d", n) }
}

// newWorld is one that Kafka can stand in for.
func newWorld(t *testing.T) *world {
	if kafkaAddress != "" {
		t.Parallel()
		return &world{t: t, group: kafkaGroup(t)}
	}
	return newMachineWorld(t)
}

func newMachineWorld(t *testing.T, change ...func(*Config)) *world {
	return &world{harness: newHarness(t, append([]func(*Config){asClassicKafka}, change...)...), t: t, group: "g"}
}

// machineOnly skips a scenario on Kafka.
func machineOnly(t *testing.T) {
	if kafkaAddress != "" {
		t.Skip("needs a configuration of its own, or looks inside")
	}
}

// step also does what is due at once, as a coordinator's round does.
func (w *world) step(do func(*coordinator.Step)) {
	w.t.Helper()
	w.harness.step(do)
	w.harness.pass(0)
}

func (w *world) pass(ms int64) {
	w.t.Helper()
	if w.harness == nil {
		time.Sleep(time.Duration(ms) * time.Millisecond)
		return
	}
	w.harness.pass(ms)
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
	if a.w.harness == nil {
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
	if a.w.harness == nil {
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
	if w.harness == nil {
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
		w.m.JoinGroup(s, req, testClient, reply)
	})
}

func (w *world) sync(req *kmsg.SyncGroupRequest) *answer[*kmsg.SyncGroupResponse] {
	return send(w, req, func(s *coordinator.Step, reply func(*kmsg.SyncGroupResponse, error)) {
		w.m.SyncGroup(s, req, reply)
	})
}

func (w *world) heartbeat(req *kmsg.HeartbeatRequest) *answer[*kmsg.HeartbeatResponse] {
	return send(w, req, func(s *coordinator.Step, reply func(*kmsg.HeartbeatResponse, error)) {
		w.m.Heartbeat(s, req, reply)
	})
}

func (w *world) leave(req *kmsg.LeaveGroupRequest) *answer[*kmsg.LeaveGroupResponse] {
	return send(w, req, func(s *coordinator.Step, reply func(*kmsg.LeaveGroupResponse, error)) {
		w.m.LeaveGroup(s, req, reply)
	})
}

func (w *world) describe(version int16) kmsg.DescribeGroupsResponseGroup {
	w.t.Helper()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version = version
	req.Groups = []string{w.group}
	a := send(w, req, func(s *coordinator.Step, reply func(*kmsg.DescribeGroupsResponse, error)) {
		w.m.DescribeGroup(s, w.group, version, func(g kmsg.DescribeGroupsResponseGroup, err error) {
			reply(&kmsg.DescribeGroupsResponse{Version: version, Groups: []kmsg.DescribeGroupsResponseGroup{g}}, err)
		})
	})
	return a.got().Groups[0]
}
