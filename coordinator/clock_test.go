package coordinator

import (
	"testing"
	"time"
)

// TestTheTimeOfRetention: a wall clock that is set forward makes nothing older.
func TestTheTimeOfRetention(t *testing.T) {
	const began, hour = int64(1_700_000_000_000), int64(3600_000)
	for _, c := range []struct {
		name                   string
		elapsed, wall, retains int64
	}{
		{"as it began", 0, began, began},
		{"an hour later", hour, began + hour, began + hour},
		{"set forward", hour, began + 1000*hour, began + hour},
		{"set back", hour, began - 1000*hour, began - 1000*hour},
	} {
		k := newClock()
		k.beganMs = began
		k.elapsed = func() time.Duration { return time.Duration(c.elapsed) * time.Millisecond }
		k.wallMs = func() int64 { return c.wall }
		var got Step
		rig := newRigAt(t, k)
		rig.Lead(0, 0, rig.log)
		done := make(chan bool)
		rig.Do(0, func(_ *words, s *Step) { got = *s; close(done) }, func(err error) { t.Error(err); close(done) })
		<-done
		rig.Stop()
		if got.NowMs != c.elapsed || got.WallMs != c.wall || got.RetentionWallMs != c.retains {
			t.Errorf("%s: now %d, wall %d, retention %d; want %d, %d, %d", c.name, got.NowMs, got.WallMs, got.RetentionWallMs, c.elapsed, c.wall, c.retains)
		}
	}
}
