package partition

import (
	"sync/atomic"
	"testing"
	"time"

	"ringmain/record"
)

// testClock is a wall clock and a monotonic one that a test moves apart.
type testClock struct{ wallMs, elapsedMs atomic.Int64 }

func newTestClock() (*testClock, *clock) {
	began := time.Now().UnixMilli()
	c := &testClock{}
	c.wallMs.Store(began)
	return c, &clock{
		beganMs: began,
		elapsed: func() time.Duration { return time.Duration(c.elapsedMs.Load()) * time.Millisecond },
		wallMs:  c.wallMs.Load,
	}
}

// pass lets time pass on both clocks.
func (c *testClock) pass(d time.Duration) {
	c.wallMs.Add(d.Milliseconds())
	c.elapsedMs.Add(d.Milliseconds())
}

// jump sets the wall clock.
func (c *testClock) jump(d time.Duration) { c.wallMs.Add(d.Milliseconds()) }

// retentionFixture keeps records for 30 minutes.
func retentionFixture(t *testing.T) (*fixture, *testClock) {
	c, clk := newTestClock()
	f := newFixtureAt(t, clk, func(s *Settings) {
		s.Log.RetentionMs = (30 * time.Minute).Milliseconds()
		s.Log.DeleteDelayMs = 0
	})
	return f, c
}

// appendAt writes one durable record with a timestamp.
func (f *fixture) appendAt(timestampMs int64) {
	f.t.Helper()
	b := record.NewBuilder()
	b.Add(timestampMs, nil, []byte("value"))
	if a := <-f.append(true, b.Build()); a.Err != nil {
		f.t.Fatal(a.Err)
	}
}

func (f *fixture) retained(want int) {
	f.t.Helper()
	n, err := f.replica.Retain()
	if err != nil || n != want {
		f.t.Fatalf("retention took %d segments, want %d; %v", n, want, err)
	}
}

func TestAClockSetForwardDeletesNothingEarly(t *testing.T) {
	f, c := retentionFixture(t)
	f.appendAt(c.wallMs.Load())
	for range 5 { // and one that does not settle
		c.jump(time.Hour)
		f.retained(0)
		c.jump(-time.Hour)
		f.retained(0)
	}
	c.jump(time.Hour)
	c.pass(29 * time.Minute)
	f.retained(0)
	c.pass(2 * time.Minute)
	f.retained(1)
	if l := f.replica.Log(); l.StartOffset() != 1 || l.EndOffset() != 1 {
		t.Errorf("the emptied log has offsets %d to %d, want 1 to 1", l.StartOffset(), l.EndOffset())
	}
}

func TestAClockSetBackDeletesNothingEarly(t *testing.T) {
	f, c := retentionFixture(t)
	c.jump(-time.Hour)
	f.appendAt(c.wallMs.Load()) // an hour old by the monotonic clock
	f.retained(0)
	c.pass(29 * time.Minute)
	f.retained(0)
	c.pass(2 * time.Minute)
	f.retained(1)
}

// As with Kafka, what a producer says goes: a record from the far future stays,
// one from long ago goes at once.
func TestRetentionGoesByTheTimesOfRecords(t *testing.T) {
	f, c := retentionFixture(t)
	f.appendAt(c.wallMs.Load() + (365 * 24 * time.Hour).Milliseconds())
	c.pass(24 * time.Hour)
	f.retained(0)
	old, c := retentionFixture(t)
	old.appendAt(c.wallMs.Load() - time.Hour.Milliseconds())
	old.retained(1)
}

// A clock set back must not put off the sync of what nobody waits for.
func TestAClockSetBackPutsOffNoSync(t *testing.T) {
	f, c := retentionFixture(t)
	if a := <-f.append(false, f.batch(-1, 0, 1)); a.Err != nil {
		t.Fatal(a.Err)
	}
	c.jump(-time.Hour)
	c.pass(59 * time.Minute)
	f.retained(0) // any command is a round
	if f.replica.Log().SyncedOffset() != 0 {
		t.Fatal("synced before ringmain's sync age")
	}
	c.pass(2 * time.Minute)
	eventually(t, "an hour old by the monotonic clock, and not synced", func() bool { return f.replica.Log().SyncedOffset() == 1 })
}
