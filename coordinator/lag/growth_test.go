package lag

import (
	"math/rand/v2"
	"testing"
	"time"
)

const (
	growthCheck  = 5_000
	growthWindow = 40 * growthCheck
)

// growthOf checks lag, a function of the time in milliseconds, for n windows, as the Watcher does.
// It gives how often growth began, and when it did so first and ended first.
func growthOf(n int64, lag func(ms int64) int64) (begun int, began, ended int64) {
	var g growth
	p := pace{interval: growthCheck * time.Millisecond}
	was := false
	for now := time.UnixMilli(1); now.UnixMilli() < n*growthWindow; {
		now = now.Add(p.wait(now)).Truncate(time.Millisecond)
		is := g.add(now.UnixMilli(), lag(now.UnixMilli()), growthWindow)
		switch {
		case is && !was:
			if begun++; begun == 1 {
				began = now.UnixMilli()
			}
		case was && !is && ended == 0:
			ended = now.UnixMilli()
		}
		was = is
	}
	return begun, began, ended
}

// commits is the lag of a group that reads perMille of 1,000 records a second, as far as its commits
// tell: one every so many milliseconds, give or take a tenth where they are uneven.
func commits(every, perMille int64, uneven bool) func(ms int64) int64 {
	last, next := int64(0), every
	return func(ms int64) int64 {
		for ms >= next {
			last, next = next, next+every
			if uneven {
				next += rand.Int64N(every/5) - every/10
			}
		}
		return ms - last*perMille/1000
	}
}

func TestGrowthIsSeen(t *testing.T) {
	for name, lag := range map[string]func(ms int64) int64{
		"stopped": commits(1<<40, 0, false), "a record in ten seconds": func(ms int64) int64 { return ms / 10_000 },
		"a third too slow": commits(5_000, 667, true), "half too slow, in steps": commits(10_000, 500, true),
	} {
		if _, began, _ := growthOf(6, lag); began < growthWindow || began > 3*growthWindow {
			t.Errorf("%s: growth was seen after %d ms; the window is %d", name, began, growthWindow)
		}
	}
}

func TestNoGrowthIsSeen(t *testing.T) {
	jump := commits(1<<40, 0, false)
	for name, lag := range map[string]func(ms int64) int64{
		"still":              func(int64) int64 { return 1000 },
		"falling":            func(ms int64) int64 { return max(0, 10_000_000-ms) },
		"one jump":           func(ms int64) int64 { return min(jump(ms), 5_000) },
		"noise":              func(int64) int64 { return rand.Int64N(5_000) },
		"as often as checks": commits(growthCheck, 1000, false),
		"nearly so often":    commits(growthCheck+10, 1000, false),
		"twice in a window":  commits(growthWindow*6/10, 1000, true),
		"hardly once in one": commits(growthWindow*9/10, 1000, false),
		"uneven":             commits(growthCheck, 1000, true),
		"a jump in noise":    func(ms int64) int64 { return rand.Int64N(5_000) + ms/(10*growthWindow)*50_000 },
		"pauses of a half":   func(ms int64) int64 { return max(rand.Int64N(5_000), ms%(5*growthWindow)-9*growthWindow/2) },
		"far behind as ever": func(ms int64) int64 { return 1_000_000 + ms%7_000 },
	} {
		if n, at, _ := growthOf(100, lag); n > 0 {
			t.Errorf("%s: growth was seen %d times, first after %d ms", name, n, at)
		}
	}
}

func TestGrowthEnds(t *testing.T) {
	const turn = 3 * growthWindow
	for name, c := range map[string]struct {
		lag    func(ms int64) int64
		within int64
	}{
		"it has caught up":     {func(ms int64) int64 { return ms * max(0, min(1, turn-ms)) }, 2 * growthCheck},
		"it is catching up":    {func(ms int64) int64 { return min(ms, 2*turn-ms) }, growthWindow},
		"it stays where it is": {func(ms int64) int64 { return min(ms, turn) }, growthWindow},
		"the number was lost":  {func(ms int64) int64 { return ms % turn }, 2 * growthCheck},
	} {
		if _, began, ended := growthOf(5, c.lag); began == 0 || ended < turn || ended > turn+c.within {
			t.Errorf("%s at %d ms: it grew from %d to %d ms", name, turn, began, ended)
		}
	}
}

// A clock that is set, and checks that did not come, begin a new window.
func TestGrowthBeginsAnew(t *testing.T) {
	for _, jump := range []int64{-time.Hour.Milliseconds(), 2 * growthWindow} {
		var g growth
		now, value := time.Hour.Milliseconds()*10, int64(0)
		grow := func() (took int64) {
			for from := value; !g.add(now, value, growthWindow); now, value = now+growthCheck, value+1 {
				took = (value - from) * growthCheck
			}
			return took
		}
		grow()
		now += jump
		if took := grow(); took < growthWindow || took > growthWindow*3/2 {
			t.Errorf("a jump of %d ms: growth was seen %d ms later", jump, took)
		}
	}
}

func TestPaceIsOnceInAnInterval(t *testing.T) {
	const interval = time.Second
	p := pace{interval: interval}
	begin := time.UnixMilli(0)
	now := begin
	var early, late int
	for i := range 1000 {
		now = now.Add(p.wait(now))
		at := now.Sub(begin) - time.Duration(i)*interval
		if at < 0 || at >= interval {
			t.Fatalf("check %d comes %v after the begin of its interval", i, at)
		}
		if at < interval/10 {
			early++
		} else if at >= interval*9/10 {
			late++
		}
	}
	if early < 50 || late < 50 {
		t.Errorf("of 1000 checks %d come early and %d late in their interval", early, late)
	}
	now = now.Add(time.Hour) // as a machine that slept
	if p.wait(now); p.wait(now) == 0 {
		t.Error("checks that were missed are made up for")
	}
}
