package netio

import (
	"bytes"
	"sync"
	"testing"
	"time"
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
