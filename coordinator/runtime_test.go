package coordinator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ringmain/metadata"
	"ringmain/record"
)

// words is a machine whose state is a list of words, as they are in the log.
type words struct {
	said      []string
	parked    []func(string, error)
	deadlines Deadlines
	loadedAt  int64
	image     *metadata.Image
}

func (w *words) Replay(_, _ int64, _, value []byte) error {
	if string(value) == "bad" {
		return errors.New("a bad word")
	}
	w.said = append(w.said, string(value))
	return nil
}

func (w *words) Loaded(s *Step)              { w.loadedAt, w.image = s.NowMs, s.Image }
func (w *words) NextDeadline() (int64, bool) { return w.deadlines.Next() }
func (w *words) Advance(s *Step)             { w.deadlines.Advance(s) }

func (w *words) Unload(err error) {
	for _, reply := range w.parked {
		reply("", err)
	}
}

// say appends words and answers with how many there are then.
func (w *words) say(s *Step, reply func(string, error), all ...string) {
	for _, word := range all {
		w.said = append(w.said, word)
		s.Append(Record{Key: []byte("k"), Value: []byte(word)})
	}
	Answer(s, reply, fmt.Sprint(len(w.said)))
}

// paper is a log in memory. Appends report when the test lets them.
type paper struct {
	mu      sync.Mutex
	batches []record.Batch
	end     int64
	pending []func(error)
	secured int64
	readErr error
	hold    chan struct{} // reads wait for it
	reads   int
}

func (p *paper) Writer() Writer { return p }

func (p *paper) MaxBatchBytes() int { return 1 << 20 }

func (p *paper) Append(b record.Batch, done func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.Stamp(p.end, 1)
	p.end = b.LastOffset() + 1
	p.batches = append(p.batches, b)
	p.pending = append(p.pending, done)
}

func (p *paper) Bounds() (int64, int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return 0, p.end
}

func (p *paper) Secure(end int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secured = end
	return nil
}

func (p *paper) Read(offset, end int64, most int, buf []byte) ([]byte, error) {
	if p.hold != nil {
		<-p.hold
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	if p.readErr != nil {
		return nil, p.readErr
	}
	buf = buf[:0]
	for _, b := range p.batches {
		if b.LastOffset() < offset || b.LastOffset() >= end {
			continue
		}
		if len(buf) > 0 && len(buf)+len(b) > most {
			break
		}
		buf = append(buf, b...)
	}
	return buf, nil
}

// report ends the oldest n appends.
func (p *paper) report(n int, err error) {
	p.mu.Lock()
	done := p.pending[:n]
	p.pending = p.pending[n:]
	p.mu.Unlock()
	for _, fn := range done {
		fn(err)
	}
}

func (p *paper) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pending)
}

// fail makes reads fail, or with nil succeed.
func (p *paper) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readErr = err
}

// take removes the newest batch: its append failed and left nothing.
func (p *paper) take() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = p.batches[len(p.batches)-1].BaseOffset()
	p.batches = p.batches[:len(p.batches)-1]
}

type counts struct {
	mu                          sync.Mutex
	loaded, loadFailed, appends int
	records                     int64
}

func (c *counts) Loaded(records int64, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded++
	c.records += records
}

func (c *counts) loads() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded
}

func (c *counts) LoadFailed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loadFailed++
}

func (c *counts) AppendFailed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.appends++
}

// answers are what came, in order.
type answers struct {
	mu  sync.Mutex
	got []string
}

// to makes a reply that is noted under a name.
func (a *answers) to(name string) func(string, error) {
	return func(text string, err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if err != nil {
			text = map[error]string{ErrNotCoordinator: "not coordinator", ErrLoading: "loading", ErrUnavailable: "unavailable"}[err]
		}
		a.got = append(a.got, name+"="+text)
	}
}

func (a *answers) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	got := a.got
	a.got = nil
	return got
}

// rig is a runtime of one loop, a log and the answers so far.
type rig struct {
	*testing.T
	*Runtime[*words]
	log    *paper
	counts *counts
	said   *lines // of its log
	answers
}

// lines counts what is logged as an error.
type lines struct{ n atomic.Int32 }

func (l *lines) Write(b []byte) (int, error) {
	l.n.Add(1)
	return len(b), nil
}

func newRig(t *testing.T, loops int) *rig { return newRigWith(t, Config{Loops: loops}) }

func newRigAt(t *testing.T, c *clock) *rig { return newRigWith(t, Config{Loops: 1, clock: c}) }

func newRigWith(t *testing.T, cfg Config) *rig {
	r := &rig{T: t, log: &paper{}, counts: &counts{}, said: &lines{}}
	r.Runtime = NewRuntime(Config{Loops: cfg.Loops, clock: cfg.clock, AppendTimeout: 5 * time.Second, ReadBytes: 1 << 16, Observe: r.counts, Log: slog.New(slog.NewTextHandler(r.said, &slog.HandlerOptions{Level: slog.LevelError}))},
		func(int32) *words { return &words{} })
	return r
}

func (r *rig) say(name string, all ...string) {
	reply := r.to(name)
	r.Do(0, func(w *words, s *Step) { w.say(s, reply, all...) }, func(err error) { reply("", err) })
}

func (r *rig) want(answers ...string) {
	r.Helper()
	synctest.Wait()
	if got := r.take(); !slices.Equal(got, answers) {
		r.Errorf("answers %q, want %q", got, answers)
	}
}

func (r *rig) words() (all []string) {
	r.Each(func(_ int32, w *words, _ *Step) { all = slices.Clone(w.said) })
	return all
}

func TestAnswersComeWhenDurableAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.say("early", "x")
		r.want("early=not coordinator")
		r.Lead(0, 0, r.log)
		r.say("nothing") // reads nothing that was written, so it need not wait
		r.want("nothing=0")
		r.say("a", "x")
		r.say("b")
		r.want()
		r.say("c", "y", "z") // another append while the first is under way
		r.say("d")
		r.want()
		if n := r.log.waiting(); n != 2 {
			t.Fatalf("%d appends are under way, want 2", n)
		}
		r.log.report(1, nil)
		r.want("a=1", "b=1")
		r.log.report(1, nil)
		r.want("c=3", "d=3")
		if got := r.words(); !slices.Equal(got, []string{"x", "y", "z"}) {
			t.Errorf("the machine has %q", got)
		}
	})
}

func TestAnswersWaitForEarlierAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.Lead(0, 0, r.log)
		r.say("a", "x")
		synctest.Wait()
		r.say("b", "y")
		synctest.Wait()
		r.log.pending[0], r.log.pending[1] = r.log.pending[1], r.log.pending[0]
		r.log.report(1, nil) // the second one first
		r.want()
		r.log.report(1, nil)
		r.want("a=1", "b=2")
	})
}

// A round's records go into one batch.
func TestARoundIsOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		gate := make(chan struct{})
		r.Lead(0, 0, r.log)
		r.Do(0, func(*words, *Step) { <-gate }, nil)
		synctest.Wait()
		for i := range 100 {
			r.say(fmt.Sprint(i), "word")
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if n := r.log.waiting(); n != 1 || r.log.batches[0].Count() != 100 {
			t.Fatalf("%d appends, the first of %d records", n, r.log.batches[0].Count())
		}
		r.log.report(1, nil)
		synctest.Wait()
		for i, a := range r.take() {
			if a != fmt.Sprintf("%d=%d", i, i+1) {
				t.Fatalf("answer %d is %q", i, a)
			}
		}
	})
}

func TestLargeRoundsAreDividedBetweenSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		gate := make(chan struct{})
		r.Lead(0, 0, r.log)
		r.Do(0, func(*words, *Step) { <-gate }, nil)
		synctest.Wait()
		large := string(make([]byte, 300<<10))
		for i := range 4 { // all of it fits into what may be under way
			r.say(fmt.Sprint(i), large, large)
		}
		r.say("huge", large, large, large, large, large) // one step stays whole
		r.say("last", "small")
		close(gate)
		synctest.Wait()
		var counts []int32
		for _, b := range r.log.batches {
			counts = append(counts, b.Count())
		}
		if !slices.Equal(counts, []int32{2, 2, 2, 2, 5, 1}) {
			t.Errorf("batches of %v records", counts)
		}
		r.log.report(2, nil)
		r.want("0=2", "1=4")
		r.log.report(3, nil)
		r.want("2=6", "3=8", "huge=13")
		r.log.report(1, nil)
		r.want("last=14")
	})
}

func TestAFailedAppendLoadsTheMachineAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.Lead(0, 0, r.log)
		r.say("a", "kept")
		synctest.Wait()
		r.log.report(1, nil)
		r.want("a=1")
		r.Do(0, func(w *words, _ *Step) { w.parked = append(w.parked, r.to("parked")) }, nil)
		r.say("b", "lost")
		synctest.Wait()
		r.log.take()
		r.say("c", "found") // is in the log, although it reports a failure, too
		synctest.Wait()
		r.log.report(1, errors.New("no room"))
		r.want("b=unavailable", "c=unavailable", "parked=unavailable")
		r.say("d", "refused")
		r.want("d=unavailable")
		time.Sleep(time.Second)
		r.say("e", "refused") // not while an append may still change the log
		r.want("e=unavailable")
		r.log.report(1, errors.New("no room"))
		synctest.Wait()
		if got := r.words(); !slices.Equal(got, []string{"kept", "found"}) {
			t.Errorf("after the load the machine has %q", got)
		}
		if r.counts.appends != 1 || r.counts.loaded != 2 || r.counts.records != 2 || r.log.secured != 2 {
			t.Errorf("%+v, secured to %d", r.counts, r.log.secured)
		}
	})
}

func TestPausesGrowUntilAnAppendSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.Lead(0, 0, r.log)
		fail := func() time.Duration {
			r.say("x", "x")
			synctest.Wait()
			r.log.take()
			r.log.report(1, errors.New("no room"))
			r.want("x=unavailable")
			begun := time.Now()
			for n := r.counts.loads(); r.counts.loads() == n; synctest.Wait() {
				time.Sleep(10 * time.Millisecond)
			}
			return time.Since(begun)
		}
		for _, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
			if got := fail(); got != want*time.Millisecond {
				t.Errorf("loaded after %v, want %vms", got, want)
			}
		}
		r.say("y", "y")
		synctest.Wait()
		r.log.report(1, nil)
		r.want("y=1")
		if got := fail(); got != 100*time.Millisecond {
			t.Errorf("after a success: %v", got)
		}
	})
}

func TestALogThatCannotBeReadIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.log.Append(record.NewBuilder().Add(1, nil, []byte("w")).Build(), func(error) {})
		r.log.fail(errors.New("no disk"))
		r.Lead(0, 0, r.log)
		synctest.Wait()
		r.say("a")
		r.want("a=unavailable")
		r.log.fail(nil)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		r.say("b")
		r.want("b=1")
		if r.counts.loadFailed != 1 || r.counts.loaded != 1 {
			t.Errorf("%+v", r.counts)
		}
	})
}

func TestAnImpossibleRecordIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.log.Append(record.NewBuilder().Add(1, nil, []byte("bad")).Build(), func(error) {})
		r.Lead(0, 0, r.log)
		time.Sleep(time.Hour)
		r.say("a")
		r.want("a=unavailable")
		if n := r.said.n.Load(); n != 10 { // 0.1 s doubled up to 30 s
			t.Errorf("%d errors were logged in an hour", n)
		}
	})
}

func TestLoadingReadsCompressedBatchesAndSkipsControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		for i := range 10 {
			b := record.NewBuilder()
			b.Codec = record.Codec(i % 5)
			b.Add(1, nil, []byte(fmt.Sprint(i))).Add(1, nil, []byte("and"))
			r.log.Append(b.Build(), func(error) {})
		}
		c := record.NewBuilder()
		c.Control = true
		r.log.Append(c.Add(1, []byte{0, 0, 0, 1}, []byte("bad")).Build(), func(error) {})
		r.log.hold = make(chan struct{})
		r.Lead(0, 0, r.log)
		r.say("a")
		r.want("a=loading")
		close(r.log.hold)
		synctest.Wait()
		if got := r.words(); len(got) != 20 || got[18] != "9" {
			t.Errorf("the machine has %q", got)
		}
	})
}

func TestLeadershipMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.Lead(0, 1, r.log)
		r.say("a", "x")
		r.Do(0, func(w *words, _ *Step) { w.parked = append(w.parked, r.to("parked")) }, nil)
		r.Lead(0, 1, r.log) // nothing new
		r.want()
		r.Resign(0)
		r.want("a=not coordinator", "parked=not coordinator")
		r.say("b")
		r.want("b=not coordinator")
		r.Lead(0, 2, r.log) // before the append has reported
		r.say("c")
		r.want("c=loading")
		r.log.report(1, nil)
		synctest.Wait()
		r.say("d")
		r.want("d=1")
		r.Lead(0, 3, r.log) // a new epoch
		synctest.Wait()
		r.say("e")
		r.want("e=1")
		if r.counts.loaded != 3 {
			t.Errorf("%+v", r.counts)
		}
		other := &paper{}
		r.Lead(0, 3, other) // the topic was deleted and made again
		synctest.Wait()
		r.say("f")
		r.want("f=0")
	})
}

// TestAPartitionWithoutItsLog is not "another broker's": clients would look for that.
func TestAPartitionWithoutItsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.Lose(0)
		r.say("a", "x")
		r.want("a=unavailable")
		time.Sleep(time.Hour)
		r.say("b", "x")
		r.want("b=unavailable")
		r.Resign(0)
		r.say("c", "x")
		r.want("c=not coordinator")
		r.Lead(0, 0, r.log)
		r.say("d", "x")
		synctest.Wait()
		r.Lose(0) // while an append is under way
		r.say("e", "x")
		r.want("d=unavailable", "e=unavailable")
		r.log.report(1, nil)
		r.Lead(0, 0, r.log)
		synctest.Wait()
		r.say("f", "x")
		synctest.Wait()
		r.log.report(1, nil)
		r.want("f=2")
	})
}

func TestAnAbandonedLoadChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2)
		defer r.Stop()
		for range 3 {
			r.log.Append(record.NewBuilder().Add(1, nil, make([]byte, 1<<16)).Build(), func(error) {})
		}
		r.log.hold = make(chan struct{})
		r.Lead(0, 0, r.log)
		synctest.Wait()
		r.Resign(0)
		synctest.Wait()
		close(r.log.hold)
		synctest.Wait()
		if r.log.reads != 1 {
			t.Errorf("the log was read %d times", r.log.reads)
		}
		r.say("a")
		r.want("a=not coordinator")
	})
}

// Nothing runs while nothing is due.
func TestDeadlinesWakeTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.Lead(0, 0, r.log)
		begun := time.Now()
		var fired []time.Duration
		d := &Deadline{}
		r.Do(0, func(w *words, s *Step) {
			d.Fire = func(s *Step) {
				fired = append(fired, time.Since(begun))
				w.say(s, r.to("fired"), "late")
				if len(fired) < 3 {
					w.deadlines.Put(d, s.NowMs+60_000)
				}
			}
			w.deadlines.Put(d, s.NowMs+1500)
		}, nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []time.Duration{1500 * time.Millisecond, 61500 * time.Millisecond, 121500 * time.Millisecond}; !slices.Equal(fired, want) {
			t.Errorf("fired at %v", fired)
		}
		if got := r.take(); len(got) != 3 { // their appends took longer than anybody waits
			t.Errorf("answers %q", got)
		}
	})
}

func TestAnAnswerDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.Lead(0, 0, r.log)
		r.say("a", "x")
		time.Sleep(4 * time.Second)
		r.say("b", "y")
		r.want()
		time.Sleep(1100 * time.Millisecond)
		r.want("a=unavailable")
		time.Sleep(4 * time.Second)
		r.want("b=unavailable")
		r.say("c") // would have to wait for what nobody waits for any more
		r.want("c=unavailable")
		r.log.report(2, nil) // late, and well
		synctest.Wait()
		r.say("d")
		r.want("d=2")
	})
}

// While a disk hangs, what waits for it stays bounded; when it goes on, nothing of what
// was taken is lost.
func TestAHangingDiskHoldsBackSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		defer r.Stop()
		r.Lead(0, 0, r.log)
		word := string(make([]byte, 60<<10))
		taken, refused := 0, 0
		for range 200 {
			r.say("x", word)
			synctest.Wait()
			for _, a := range r.take() {
				if a != "x=unavailable" {
					t.Fatalf("answer %q", a)
				}
				refused++
			}
		}
		taken = 200 - refused
		if n := r.log.waiting(); n != maxFlights || refused == 0 || taken > maxFlights+maxBatchBytes/len(word) {
			t.Errorf("%d appends under way, %d steps taken, %d refused", n, taken, refused)
		}
		r.log.report(1, nil)
		synctest.Wait()
		if n := r.log.waiting(); n != maxFlights { // what gathered is one more
			t.Errorf("%d appends are under way after one has landed", n)
		}
		r.log.report(maxFlights, nil)
		synctest.Wait()
		if got := len(r.take()); got != taken || len(r.words()) != taken {
			t.Errorf("%d answers, %d words, of %d steps taken", got, len(r.words()), taken)
		}
	})
}

func TestChangedIsInOrderWithSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2)
		defer r.Stop()
		img := metadata.Empty()
		r.Lead(0, 0, r.log)
		r.Lead(1, 0, &paper{})
		r.Changed(img, func(w *words, s *Step) { w.image = s.Image })
		synctest.Wait()
		n := 0
		var mu sync.Mutex
		r.Each(func(_ int32, w *words, s *Step) {
			mu.Lock()
			defer mu.Unlock()
			if w.image == img && s.Image == img {
				n++
			}
		})
		if n != 2 {
			t.Errorf("%d machines have the image", n)
		}
		r.Lead(2, 0, &paper{})
		synctest.Wait()
		r.Do(2, func(w *words, _ *Step) {
			if w.image != img {
				t.Error("a machine was loaded with an older image")
			}
		}, func(err error) { t.Error(err) })
		synctest.Wait()
	})
}

func TestStopAnswersEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2)
		held := &paper{hold: make(chan struct{})}
		held.Append(record.NewBuilder().Add(1, nil, []byte("w")).Build(), func(error) {})
		r.Lead(0, 0, r.log)
		r.Lead(1, 0, held)
		r.say("a", "x")
		r.Do(0, func(w *words, _ *Step) { w.parked = append(w.parked, r.to("parked")) }, nil)
		r.say("b", "y")
		r.want()
		stopped := make(chan struct{})
		go func() {
			r.Stop()
			close(stopped)
		}()
		r.want("parked=unavailable")
		r.say("late")
		r.want("late=unavailable")
		r.log.report(r.log.waiting(), nil) // in time
		close(held.hold)
		<-stopped
		r.say("after")
		r.Each(func(int32, *words, *Step) { t.Error("a machine is left") })
		r.want("a=1", "b=2", "after=unavailable")
	})
}

// What gathered behind a crowd of appends is appended before the loop ends.
func TestStopFinishesWhatHasGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.Lead(0, 0, r.log)
		for range maxFlights + 3 {
			r.say("x", "x")
			synctest.Wait()
		}
		go func() {
			for range 10 {
				r.log.report(r.log.waiting(), nil)
				time.Sleep(time.Millisecond)
			}
		}()
		r.Stop()
		time.Sleep(time.Second)
		got := r.take()
		if len(got) != maxFlights+3 {
			t.Errorf("%d answers", len(got))
		}
		for i, a := range got {
			if a != fmt.Sprintf("x=%d", i+1) {
				t.Fatalf("answer %d is %q", i, a)
			}
		}
		if r.log.end != maxFlights+3 {
			t.Errorf("%d records are in the log", r.log.end)
		}
	})
}

func TestStopDoesNotWaitForAHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.Lead(0, 0, r.log)
		r.say("a", "x")
		synctest.Wait()
		begun := time.Now()
		r.Stop()
		if took := time.Since(begun); took != stopTimeout {
			t.Errorf("the stop took %v", took)
		}
		r.want("a=unavailable")
		r.log.report(1, nil) // nobody is there any more
	})
}

func TestAFailureDuringTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.Lead(0, 0, r.log)
		r.say("a", "x")
		synctest.Wait()
		r.say("b", "y")
		synctest.Wait()
		go func() {
			time.Sleep(time.Millisecond)
			r.log.report(1, errors.New("no room"))
			r.log.report(1, nil)
		}()
		r.Stop()
		r.want("a=unavailable", "b=unavailable")
	})
}

// number is a machine that remembers little of a lot.
type number struct {
	words
	sum uint64
}

func (n *number) Replay(_, _ int64, key, value []byte) error {
	n.sum += binary.BigEndian.Uint64(value) + uint64(len(key))
	return nil
}

// A million records in batches of one, as a slow trickle of commits leaves them.
func BenchmarkLoad(b *testing.B) {
	log := &shelf{}
	const records = 1_000_000
	key := []byte("\x00\x01\x00\x0cconsumer-4711\x00\x0dorders.placed\x00\x00\x00\x07")
	for i := range records {
		value := binary.BigEndian.AppendUint64(make([]byte, 0, 32), uint64(i))
		batch := record.NewBuilder().Add(int64(i), key, append(value, "\xff\xff\xff\xff\x00\x00\x00\x00\x01\x9a\x00\x00\x00\x00"...)).Build()
		batch.Stamp(int64(i), 0)
		log.bytes = append(log.bytes, batch...)
	}
	for b.Loop() {
		ld := &load[*number]{machine: &number{}, log: log, end: records}
		log.at = 0
		if err := ld.run(5 << 20); err != nil || ld.records != records {
			b.Fatal(ld.records, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/load")
}

// shelf is a log that is only read, once from its start to its end.
type shelf struct {
	paper
	bytes []byte
	at    int
}

func (s *shelf) Secure(int64) error { return nil }

func (s *shelf) Read(_, _ int64, most int, buf []byte) ([]byte, error) {
	end := s.at
	for end < len(s.bytes) {
		b, err := record.First(s.bytes[end:])
		if err != nil {
			return nil, err
		}
		if end+len(b) > s.at+most {
			break
		}
		end += len(b)
	}
	buf = append(buf[:0], s.bytes[s.at:end]...)
	s.at = end
	return buf, nil
}
