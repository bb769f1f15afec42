package netio

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// pauseOf runs slices of 50 us until a pause begins, and ends it so much late. It gives
// the pause and how many slices there were.
func pauseOf(p *pace, now *time.Duration, late time.Duration) (pause time.Duration, slices int) {
	for ; !p.pauses(*now, true); slices++ {
		p.spent(50 * time.Microsecond)
		*now += 50 * time.Microsecond
	}
	pause = p.left(*now)
	*now += pause + late
	p.ended(pause, pause+late)
	return pause, slices
}

// With processors to spare the pauses shrink to samples; where they end late they grow,
// and never beyond the share that is the bulk's.
func TestPaceFollowsLatePauses(t *testing.T) {
	p, now := newPace(20), time.Second
	for range 50 {
		pauseOf(&p, &now, time.Millisecond)
	}
	pause, slices := pauseOf(&p, &now, time.Millisecond)
	if sent := time.Duration(slices) * 50 * time.Microsecond; pause != 4*sent {
		t.Errorf("short of processors: pauses of %v after %v of sending, want four times as much", pause, sent)
	}
	for range 30_000 {
		pauseOf(&p, &now, 0)
	}
	pause, slices = pauseOf(&p, &now, 0)
	if sent := time.Duration(slices) * 50 * time.Microsecond; pause > sent/60 {
		t.Errorf("processors to spare: pauses of %v after %v of sending, want a 64th", pause, sent)
	}
}

func TestPaceOnlyInHurry(t *testing.T) {
	p, now := newPace(20), time.Second
	for range 50 {
		pauseOf(&p, &now, time.Millisecond)
	}
	for range 1000 {
		p.spent(time.Millisecond)
		if p.pauses(now, false) {
			t.Fatal("a pause although nobody is in a hurry")
		}
		now += time.Millisecond
	}
	never := newPace(100)
	for range 1000 {
		never.spent(time.Millisecond)
		never.ended(time.Millisecond, 3*time.Millisecond)
		if never.pauses(now, true) {
			t.Fatal("a pause although the whole time is the bulk's")
		}
	}
}

func TestPauseIsBounded(t *testing.T) {
	p, now := newPace(1), time.Second
	for range 50 {
		pauseOf(&p, &now, time.Millisecond)
	}
	p.spent(time.Second) // a disk
	if !p.pauses(now, true) || p.left(now) != mostPause {
		t.Errorf("a pause of %v after a slice of 1 s, want %v", p.left(now), mostPause)
	}
}

// Pauses that end very late, as where timers are coarse, leave the bulk its share all the
// same.
func TestShareHoldsWherePausesEndLate(t *testing.T) {
	const share = 20
	p, now, sent := newPace(share), time.Second, time.Duration(0)
	begun := now
	for range 1000 {
		_, slices := pauseOf(&p, &now, 10*time.Millisecond)
		sent += time.Duration(slices) * 50 * time.Microsecond
	}
	// What counts is what lies beyond mostPause.
	if got := 100 * float64(sent) / float64(now-begun-1000*mostPause); got < share-1 {
		t.Errorf("the bulk had %.1f %% of the time beyond what a pause may take, want %d", got, share)
	}
}

// A process that was stopped for long during a pause does not owe the bulk all of that.
func TestLongStopIsNotOwed(t *testing.T) {
	p := newPace(20)
	p.multiple = p.most
	p.ended(time.Millisecond, time.Hour)
	now := time.Second
	for range int(2*mostCredit/mostPause) + 2 {
		if p.pauses(now, true) {
			return
		}
		p.spent(mostPause)
		now += mostPause
	}
	t.Error("the bulk does not pause any more")
}

// A share close to the whole is never undercut.
func TestSmallestPausesKeepToTheShare(t *testing.T) {
	p := newPace(99)
	p.ended(time.Millisecond, time.Millisecond)
	p.pauses(time.Second, true)
	if most := 1.0 / 99; p.multiple > most {
		t.Errorf("pauses of %g of what was sent, want at most %g", p.multiple, most)
	}
}

// wakes is an event loop that only counts how often it is woken. Where held is set, being
// woken takes until that is closed.
type wakes struct {
	gnet.EventLoop
	n             atomic.Int32
	entered, held chan struct{}
}

func (w *wakes) Execute(context.Context, gnet.Runnable) error {
	w.n.Add(1)
	if w.held != nil {
		close(w.entered)
		<-w.held
	}
	return nil
}

func yieldingLoop(t *testing.T) (*loop, *wakes) {
	w := &wakes{}
	l := &loop{srv: &Server{born: time.Now(), loops: map[gnet.EventLoop]*loop{}}, el: w, pace: newPace(20)}
	l.srv.loops[w] = l
	t.Cleanup(l.yielder.stop)
	return l, w
}

// Once a server has said that its loops are woken no more nobody is about to wake one.
func TestNoLoopIsBeingWokenBehindTheEnd(t *testing.T) {
	l, w := yieldingLoop(t)
	w.entered, w.held = make(chan struct{}), make(chan struct{})
	go l.wake()
	<-w.entered
	ended := make(chan struct{})
	go func() {
		l.srv.wakeNoMore()
		close(ended)
	}()
	eventually(t, "the end to wait", func() bool { // for the wake-up under way
		if l.waking.TryRLock() {
			l.waking.RUnlock()
			return false
		}
		return true
	})
	select {
	case <-ended:
		t.Fatal("a loop is being woken behind the end")
	default:
	}
	close(w.held)
	<-ended
	l.wake()
	if n := w.n.Load(); n != 1 {
		t.Errorf("woken %d times, want once", n)
	}
}

// Messages that were left over do not wait for the end of a pause that is late.
func TestMessagesDoNotWaitForAPause(t *testing.T) {
	l, w := yieldingLoop(t)
	l.pace.until = l.srv.clock() + 200*time.Millisecond
	l.later()
	eventually(t, "the pause to begin", l.yielder.pausing.Load)
	l.unread, l.now = true, l.pace.until // the loop takes the pause for over
	l.later()
	if w.n.Load() == 0 {
		t.Error("no turn was asked for while the pause lasted")
	}
}

// A pause that is asked for at several turns is taken once.
func TestPauseIsTakenOnce(t *testing.T) {
	l, w := yieldingLoop(t)
	l.pace.until = l.srv.clock() + 50*time.Millisecond
	l.later()
	eventually(t, "the pause to begin", l.yielder.pausing.Load)
	l.later()
	eventually(t, "the pause to end", func() bool { return w.n.Load() > 0 })
	l.pace.overslept.Store(0)
	eventually(t, "the second turn", func() bool { return w.n.Load() == 2 })
	if l.pace.overslept.Load() != 0 {
		t.Error("a pause was taken although it was over")
	}
}

// Readers get every byte and small requests their answers while all pause for each
// other as long as they can.
func TestAllIsSentAroundPauses(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		content := pattern(1<<20, 7)
		f := newCountedFile(t, content)
		s := serve(t, Config{BulkShare: 1, SocketSendBuffer: 64 << 10}, handlerFuncs{frame: func(c *Conn, fr *Frame) {
			c.Hurry()
			c.loop.pace.overslept.Store(int64(time.Second)) // as if there were no processor left
			c.Reserve().Send(fetchAnswer(f, fr.Bytes))
			fr.Release()
		}})
		var all sync.WaitGroup
		for i := range 6 {
			c := dial(t, s)
			all.Go(func() {
				n := len(content)
				if i%2 == 1 {
					n = 1 << 10
				}
				for range 20 {
					write(t, c, fetch(0, n))
					if got := read(t, c); !bytes.Equal(got[8:8+n], content[:n]) {
						t.Error("bytes differ")
						return
					}
				}
			})
		}
		all.Wait()
		wantReleased(t, f)
	})
}

// A stop waits for what pauses and loses nothing of it; one whose time is up cuts it.
func TestStopDuringPauses(t *testing.T) {
	const conns, size = 8, 1 << 20
	content := pattern(size, 7)
	for _, cut := range []bool{false, true} {
		f := newCountedFile(t, content)
		frames := make(chan struct{}, conns)
		s := serve(t, Config{BulkShare: 1, Loops: 1, SocketSendBuffer: 64 << 10}, handlerFuncs{frame: func(c *Conn, fr *Frame) {
			c.Hurry()
			c.loop.pace.multiple = c.loop.pace.most // as if there were no processor left
			c.Reserve().Send(fetchAnswer(f, fr.Bytes))
			fr.Release()
			frames <- struct{}{}
		}})
		var all sync.WaitGroup
		for range conns {
			c := dial(t, s)
			write(t, c, fetch(0, size))
			<-frames
			if cut {
				continue
			}
			all.Go(func() {
				if got := read(t, c); !bytes.Equal(got[8:8+size], content) {
					t.Error("bytes differ")
				}
			})
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		if cut {
			cancel()
		}
		if err := s.Stop(ctx); cut != (err != nil) {
			t.Errorf("cut %v: Stop: %v", cut, err)
		}
		cancel()
		all.Wait()
		wantReleased(t, f)
		if n := s.inFlight.Load(); n != 0 {
			t.Errorf("%d bytes in flight", n)
		}
	}
}
