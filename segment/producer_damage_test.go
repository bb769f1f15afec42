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

// Before the recovery point headers alone are read for the producers' state. A bit of what
// one says of its producer is flipped: whoever wrote it goes on all the same, what it sent
// before stays known, and nobody else is known by it.
func TestProducersBeforeTheRecoveryPointAreNotTakenFromDamage(t *testing.T) {
	for damaged := range 4 {
		for at := int64(43); at < 57; at++ { // producer id, epoch, sequence
			for bit := range 8 {
				mem, d, l := newMemLog(t)
				io := NewPwritevIO()
				var from int64
				for i := range 4 {
					if i == damaged {
						from = l.active().size
					}
					appendAll(t, io, l, 0, produced(4, 1, int32(10*i), t0, 10), produced(6, 0, int32(10*i), t0, 10))
				}
				syncLog(t, io, l)
				if err := d.Checkpoint(); err != nil {
					t.Fatal(err)
				}
				mem = mem.KillClone()
				f, _ := mem.OpenFile("/data/orders-3/00000000000000000000.log", os.O_RDWR)
				flip(t, f, from+at, bit)
				l, _ = openLog(t, openDir(t, mem, "/data"), smallConfig())
				for _, id := range []int64{4, 6} {
					if dup, err := l.CheckProducer(produced(id, int16(6-id)/2, 40, t0, 10), t0); err != nil || dup != nil {
						t.Errorf("batch %d, bit %d of byte %d: the next batch of %d: %+v, %v", damaged, bit, at, id, dup, err)
					}
				}
				if dup, err := l.CheckProducer(produced(6, 0, 30, t0, 10), t0); err != nil || dup == nil || dup.BaseOffset != 70 {
					t.Errorf("batch %d, bit %d of byte %d: the last batch of the other again: %+v, %v", damaged, bit, at, dup, err)
				}
				for _, p := range l.Producers() {
					if p.ProducerID != 4 && p.ProducerID != 6 && damaged > 0 {
						t.Errorf("batch %d, bit %d of byte %d: there is a producer %d", damaged, bit, at, p.ProducerID)
					}
				}
				io.Close()
			}
		}
	}
}
