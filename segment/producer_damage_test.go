package segment

import (
	"errors"
	"os"
	"testing"
)

// A batch is damaged after a kill, whatever bit of it. Nothing that it says of producers is
// believed, and whoever wrote it goes on as if it were there: what was acknowledged is not
// sent again. What is known of the batches before it stays known. Another kill, with or
// without a checkpoint before it, changes nothing.
func TestProducersAreNotTakenFromDamage(t *testing.T) {
	size := int64(len(produced(4, 0, 3, t0, 1)))
	for at := int64(0); at < size; at++ {
		if at >= 12 && at < 16 {
			continue // the leader epoch: the batch is refused, and is what it was
		}
		mem, _, l := newMemLog(t)
		io := NewPwritevIO()
		for i := range 3 {
			appendAll(t, io, l, 0, produced(4, 0, int32(i), t0, 1))
		}
		from := l.active().size
		appendAll(t, io, l, 0, produced(4, 0, 3, t0, 1), produced(6, 0, 0, t0, 1))
		syncLog(t, io, l)
		mem = mem.KillClone()
		f, _ := mem.OpenFile("/data/orders-3/00000000000000000000.log", os.O_RDWR)
		flip(t, f, from+at, int(at)%8)
		for again := range 3 {
			d := openDir(t, mem, "/data")
			l, _ = openLog(t, d, smallConfig())
			for what, b := range map[string]struct {
				epoch int16
				seq   int32
			}{"the next batch": {0, 4}, "the damaged batch again": {0, 3}, "a new epoch": {1, 0}} {
				if dup, err := l.CheckProducer(produced(4, b.epoch, b.seq, t0, 1), t0); err != nil || dup != nil {
					t.Errorf("byte %d, start %d: %s: %+v, %v", at, again, what, dup, err)
				}
			}
			if dup, err := l.CheckProducer(produced(4, 0, 2, t0, 1), t0); err != nil || dup == nil || dup.BaseOffset != 2 {
				t.Errorf("byte %d, start %d: the batch before the damage again: %+v, %v", at, again, dup, err)
			}
			if dup, err := l.CheckProducer(produced(6, 0, 0, t0, 1), t0); err != nil || dup == nil || dup.BaseOffset != 4 {
				t.Errorf("byte %d, start %d: the batch behind the damage again: %+v, %v", at, again, dup, err)
			}
			if _, err := l.CheckProducer(produced(6, 0, 2, t0, 1), t0); !errors.Is(err, ErrOutOfOrderSequence) {
				t.Errorf("byte %d, start %d: a gap behind the damage: %v", at, again, err)
			}
			if again == 1 {
				if dirty, upTo := l.BeginSync(nil); len(dirty) > 0 {
					l.EndSync(upTo, false, errors.Join(io.Sync(filesOf(nil, dirty))...))
				}
				if err := d.Checkpoint(); err != nil {
					t.Fatal(err)
				}
			}
			mem = mem.KillClone()
		}
		d := openDir(t, mem, "/data")
		l, _ = openLog(t, d, smallConfig())
		appendAll(t, io, l, 0, produced(4, 0, 4, t0, 1))
		if _, err := l.CheckProducer(produced(4, 0, 6, t0, 1), t0); !errors.Is(err, ErrOutOfOrderSequence) {
			t.Errorf("byte %d: a gap, when the producer is known again: %v", at, err)
		}
		io.Close()
	}
}
