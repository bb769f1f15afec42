package partition

import (
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"ringmain/segment"
)

// holds keeps the syncs of chosen topics from ending.
type holds struct {
	mu    sync.Mutex
	gates map[string]chan struct{} // by partition directory
	syncs int                      // calls that have begun
	begun map[string]int           // files whose sync has begun
}

// heldIO is a lane's backend that obeys holds.
type heldIO struct {
	segment.LogIO
	h *holds
}

func (io heldIO) Sync(files []*segment.File) []error {
	var gates []chan struct{}
	io.h.mu.Lock()
	io.h.syncs++
	for _, f := range files {
		dir := filepath.Base(filepath.Dir(f.Path()))
		io.h.begun[dir]++
		if g := io.h.gates[dir]; g != nil {
			gates = append(gates, g)
		}
	}
	io.h.mu.Unlock()
	for _, g := range gates {
		<-g
	}
	return io.LogIO.Sync(files)
}

func (h *holds) hold(topic string) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := make(chan struct{})
	h.gates[topic+"-0"] = g
	return sync.OnceFunc(func() {
		h.mu.Lock()
		delete(h.gates, topic+"-0")
		h.mu.Unlock()
		close(g)
	})
}

// count is how many files' syncs have begun.
func (h *holds) count() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.begun {
		n += k
	}
	return n
}

func newLanes(t *testing.T, n int) (*fixture, *holds) {
	t.Helper()
	h := &holds{gates: map[string]chan struct{}{}, begun: map[string]int{}}
	var lanes []segment.LogIO
	for range n {
		lanes = append(lanes, heldIO{testIO(t), h})
	}
	return newFixtureOf(t, nil, lanes, nil), h
}

// TestASlowSyncHoldsUpItsOwnLogOnly: another log is answered, again and again, while the
// sync of the first goes on.
func TestASlowSyncHoldsUpItsOwnLogOnly(t *testing.T) {
	f, h := newLanes(t, 2)
	release := h.hold("t")
	slow := f.append(true, f.batch(-1, -1, 1))
	f.replica = f.open("quick", f.replica.Settings())
	for range 3 {
		if a := wait(t, "answer of the other log", f.append(true, f.batch(-1, -1, 1))); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	select {
	case a := <-slow:
		t.Fatalf("answered (error %v) before its sync", a.Err)
	default:
	}
	release()
	if a := wait(t, "answer of the slow log", slow); a.Err != nil {
		t.Fatal(a.Err)
	}
}

// TestBackgroundSyncsLeaveLanesFree: what nobody waits for has half of the lanes, however much
// of it there is, so an append that waits finds one.
func TestBackgroundSyncsLeaveLanesFree(t *testing.T) {
	const lanes = 4
	f, h := newLanes(t, lanes)
	flush := *f.replica.Settings()
	flush.FlushMessages = 1
	var releases []func()
	for i := range 2 * lanes {
		topic := "background" + strconv.Itoa(i)
		releases = append(releases, h.hold(topic))
		f.replica = f.open(topic, &flush)
		if a := wait(t, "answer of acks=1", f.append(false, f.batch(-1, -1, 1))); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	background := f.replica
	f.replica = f.open("waits", background.Settings())
	if a := wait(t, "answer of acks=all", f.append(true, f.batch(-1, -1, 1))); a.Err != nil {
		t.Fatal(a.Err)
	}
	eventually(t, "no background sync is under way", func() bool { return h.count() != 1 }) // that of the append
	if n := h.count() - 1; n > lanes/2 {
		t.Errorf("%d background syncs are under way in %d lanes, want at most %d", n, lanes, lanes/2)
	}
	for _, release := range releases {
		release()
	}
	eventually(t, "what waited for a lane was never synced", func() bool { return background.Log().SyncedOffset() == 1 })
}

func committing(y *syncer) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.committing
}

// TestBackgroundSyncsGoOnWhileOthersAlwaysWait: jobs that somebody waits for fill every lane and
// the queue, without end. What nobody waits for has a lane all the same, and only one.
func TestBackgroundSyncsGoOnWhileOthersAlwaysWait(t *testing.T) {
	const lanes = 4
	f, h := newLanes(t, lanes)
	flush := *f.replica.Settings()
	flush.FlushMessages = 1
	type log struct {
		topic   string
		replica *Replica
		release func()
		answer  answered
	}
	var busy []*log // in the order in which they were queued
	again := func(l *log) {
		l.release = h.hold(l.topic)
		f.replica = l.replica
		l.answer = f.append(true, f.batch(-1, -1, 1))
		busy = append(busy, l)
		f.settled()
		eventually(t, "what the journal is to refuse was not passed on", func() bool { return !committing(f.shard.syncer) })
	}
	for i := range lanes + 2 {
		topic := "waits" + strconv.Itoa(i)
		again(&log{topic: topic, replica: f.open(topic, &flush)})
	}
	eventually(t, "not all lanes are at work", func() bool { return h.count() >= lanes })
	background := func(topic string) (release func()) {
		release = h.hold(topic)
		f.replica = f.open(topic, &flush)
		if a := wait(t, "answer of acks=1", f.append(false, f.batch(-1, -1, 1))); a.Err != nil {
			t.Fatal(a.Err)
		}
		return release
	}
	first, second := background("first"), background("second")
	begun := func(topic string) int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.begun[topic+"-0"]
	}
	for range 4 * lanes {
		l := busy[0]
		busy = busy[1:]
		l.release()
		if a := wait(t, "answer", l.answer); a.Err != nil {
			t.Fatal(a.Err)
		}
		again(l)
	}
	if n := begun("first"); n != 1 {
		t.Errorf("%d syncs that nobody waits for have begun while others waited, want 1", n)
	}
	if n := begun("second"); n != 0 {
		t.Error("what nobody waits for has more than one lane while others wait")
	}
	first()
	second()
	for _, l := range busy {
		l.release()
		if a := wait(t, "answer", l.answer); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
}

// TestMoreLogsThanLanesAreSyncedTogether: with nothing small about them, forty logs are
// shared out among the lanes.
func TestMoreLogsThanLanesAreSyncedTogether(t *testing.T) {
	f, h := newLanes(t, 2)
	first := h.hold("t")
	held := f.append(true, f.batch(-1, -1, 1))
	second := h.hold("u")
	f.replica = f.open("u", f.replica.Settings())
	heldToo := f.append(true, f.batch(-1, -1, 1))
	eventually(t, "two lanes are not at work", func() bool { return h.count() >= 2 })
	var answers []answered
	for i := range 40 {
		f.replica = f.open("many"+strconv.Itoa(i), f.replica.Settings())
		answers = append(answers, f.append(true, f.batch(-1, -1, 1)))
	}
	f.settled()
	first()
	second()
	for _, a := range append(answers, held, heldToo) {
		if got := wait(t, "answer", a); got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// 2 that were held; then 20 of 40, 10 of 20, ... and one by one at the end.
	if h.syncs > 2+8 {
		t.Errorf("%d syncs for 42 logs in 2 lanes, want at most 10", h.syncs)
	}
}

// A commit waits while more comes, but not for as long as there is a log left: with all
// processors busy that would be until each of thousands has something.
func TestCommitDoesNotWaitForEveryLog(t *testing.T) {
	y := &syncer{}
	const most = time.Second
	begun := time.Now()
	more := func() bool { return time.Since(begun) < most }
	var others sync.WaitGroup
	for range 8 * runtime.GOMAXPROCS(0) {
		others.Go(func() {
			for gathered := false; more() && !gathered; runtime.Gosched() {
				for at := time.Now(); time.Since(at) < 20*time.Microsecond; { // what a busy loop does
				}
				y.mu.Lock()
				y.small = append(y.small, syncJob{})
				gathered = len(y.group) > 0
				y.mu.Unlock()
			}
		})
	}
	for ready := false; !ready; {
		y.mu.Lock()
		ready = len(y.small) > 0
		y.mu.Unlock()
	}
	y.mu.Lock()
	y.gather()
	if !more() {
		t.Errorf("a commit waits as long as more comes, with %d there", len(y.small))
	}
	y.group, y.small = y.small, nil
	y.mu.Unlock()
	others.Wait()
}
