package segment

import (
	"errors"
	"testing"
)

// Records are lost between two that are there. A lookup by time finds what lies before them,
// and is refused where a lost record might be what is asked for, as a read of it is.
func TestLookupByTimeStopsAtLostRecords(t *testing.T) {
	for name, lose := range takesAway {
		if lose.first == 0 {
			continue // the log begins behind them, and reads of them are out of range
		}
		for _, clean := range []bool{true, false} {
			if !clean && lose.to == 6 {
				continue // TestNewestSegmentIsMissingAfterAKill
			}
			mem, bases, end := sixSegments(t, clean)
			bases = append(bases, end)
			from, to := bases[max(lose.first, 0)], bases[lose.to]
			if lose.first < 0 {
				from = to - 2
			}
			lose.do(t, mem, bases)
			l, _ := openLog(t, openDir(t, mem, "/data"), smallConfig())
			for o := range end {
				f, ok, err := l.OffsetForTimestamp(t0+o, l.EndOffset())
				if o < from && (err != nil || !ok || f.Offset != o) {
					t.Errorf("%s, clean %v: the record at %d: %+v, %v, %v", name, clean, o, f, ok, err)
				}
				if o >= from && !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s, clean %v: lost are %d to %d, the time of %d gives %+v, %v, %v", name, clean, from, to, o, f, ok, err)
				}
			}
			if f, ok, err := l.OffsetForTimestamp(t0+end, l.EndOffset()); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, clean %v: a time after all gives %+v, %v, %v", name, clean, f, ok, err)
			}
			if f, ok, err := l.OffsetForTimestamp(t0+from, from); ok || err != nil {
				t.Errorf("%s, clean %v: below the lost ones: %+v, %v, %v", name, clean, f, ok, err)
			}
			if f, ok, err := l.MaxTimestamp(l.EndOffset()); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, clean %v: the largest time is %+v, %v, %v", name, clean, f, ok, err)
			}
			// A repair accepts that they are gone: from then on there is nothing to find.
			repaired := mem.KillClone()
			verifyAll(t, repaired, true)
			l, _ = openLog(t, openDir(t, repaired, "/data"), smallConfig())
			if f, ok, err := l.OffsetForTimestamp(t0+from, l.EndOffset()); err != nil || ok != (to < end) || ok && f.Offset != to {
				t.Errorf("%s, clean %v: after a repair: %+v, %v, %v", name, clean, f, ok, err)
			}
		}
	}
}
