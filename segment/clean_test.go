package segment

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// compacted is a log on a file system in memory, for tests of one rule each.
type compacted struct {
	t   *testing.T
	mem *vfs.Mem
	d   *Dir
	l   *Log
	io  LogIO
	cfg Config
}

func newCompacted(t *testing.T) *compacted {
	c := &compacted{t: t, mem: vfs.NewMem(), io: NewPwritevIO(), cfg: smallConfig()}
	t.Cleanup(func() { c.io.Close() })
	c.cfg.CompactPolicy, c.cfg.DeletePolicy = true, false
	c.open()
	return c
}

func (c *compacted) open() RecoveryReport {
	c.d = openDir(c.t, c.mem, "/data")
	var rep RecoveryReport
	c.l, rep = openLog(c.t, c.d, c.cfg)
	return rep
}

// put appends one record in a batch of its own; a nil value is a tombstone.
func (c *compacted) put(ts int64, key string, value []byte) int64 {
	return appendAll(c.t, c.io, c.l, 0, record.NewBuilder().Add(ts, []byte(key), value).Build())
}

// roll closes the active segment and syncs.
func (c *compacted) roll() {
	c.l.roll()
	syncLog(c.t, c.io, c.l)
	c.l.raisePoint(c.l.pointNow())
}

func (c *compacted) clean(nowMs int64) Cleaned {
	c.t.Helper()
	got, err := c.l.Clean(c.options(nowMs))
	if err != nil {
		c.t.Fatal(err)
	}
	return got
}

func (c *compacted) options(nowMs int64) CleanOptions {
	return CleanOptions{Config: c.cfg, Stable: c.l.EndOffset(), NowMs: nowMs, MapBytes: 1 << 20, MapLoad: 0.9,
		Pace: func(int) error { return nil }, Replace: c.l.Replace}
}

// records lists what can be read, as "offset key=value".
func (c *compacted) records() string {
	var out []string
	for _, b := range readAll(c.t, c.l, c.l.StartOffset(), 1<<20) {
		r, err := record.NewReader(b)
		if err != nil {
			c.t.Fatal(err)
		}
		for range b.Count() {
			rec, err := r.Next()
			if err != nil {
				c.t.Fatal(err)
			}
			if b.Control() {
				out = append(out, fmt.Sprintf("%d marker", rec.Offset))
				continue
			}
			out = append(out, fmt.Sprintf("%d %s=%s", rec.Offset, rec.Key, rec.Value))
		}
		r.Close()
	}
	return strings.Join(out, ", ")
}

func (c *compacted) expect(what, want string) {
	c.t.Helper()
	if got := c.records(); got != want {
		c.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// Guarantees 1 and 4: the active segment, what is not synced, what is not
// stable and what is younger than min.compaction.lag.ms is not touched.
func TestCleaningLeavesYoungRecords(t *testing.T) {
	c := newCompacted(t)
	c.put(t0, "a", []byte("1"))
	c.put(t0, "a", []byte("2"))
	c.clean(t0)
	c.expect("active", "0 a=1, 1 a=2")
	c.l.roll()
	c.put(t0+1000, "a", []byte("3"))
	c.clean(t0)
	c.expect("not synced", "0 a=1, 1 a=2, 2 a=3")
	syncLog(t, c.io, c.l)
	o := c.options(t0)
	o.Stable = 1
	if got, err := c.l.Clean(o); err != nil || got.Segments != 0 {
		t.Errorf("not stable: %+v, %v", got, err)
	}
	c.cfg.MinCompactionLagMs = 500
	c.clean(t0 + 499)
	c.expect("too young", "0 a=1, 1 a=2, 2 a=3")
	c.clean(t0 + 500)
	c.expect("old enough", "1 a=2, 2 a=3")
	c.roll()
	if what, err := c.l.Cleanable(c.cfg, c.l.EndOffset(), t0+1400); err != nil || what.First != what.End || what.CleanBytes == 0 {
		t.Errorf("the second segment is young: %+v, %v", what, err)
	}
	what, err := c.l.Cleanable(c.cfg, c.l.EndOffset(), t0+1500)
	if err != nil || what.First != 2 || what.End != 3 || what.Overdue || what.RollDue || what.Ratio() <= 0.3 || what.Ratio() >= 0.6 {
		t.Errorf("%+v, ratio %v, %v", what, what.Ratio(), err)
	}
}

// Guarantee 1: a record that has waited for max.compaction.lag.ms is overdue,
// and its segment is closed for it.
func TestMaxCompactionLag(t *testing.T) {
	c := newCompacted(t)
	c.cfg.MaxCompactionLagMs = 1000
	c.l.SetConfig(c.cfg)
	c.put(t0, "a", []byte("1"))
	syncLog(t, c.io, c.l)
	if what, err := c.l.Cleanable(c.cfg, 1, t0+1000); err != nil || what.RollDue || what.Overdue {
		t.Errorf("not yet: %+v, %v", what, err)
	}
	if what, err := c.l.Cleanable(c.cfg, 1, t0+1001); err != nil || !what.RollDue {
		t.Errorf("due: %+v, %v", what, err)
	}
	if err := c.l.RollOverdue(t0 + 1000); err != nil || c.l.SegmentCount() != 1 {
		t.Errorf("rolled too early: %d segments, %v", c.l.SegmentCount(), err)
	}
	if err := c.l.RollOverdue(t0 + 1001); err != nil || c.l.SegmentCount() != 2 {
		t.Errorf("not rolled: %d segments, %v", c.l.SegmentCount(), err)
	}
	if what, err := c.l.Cleanable(c.cfg, 1, t0+1001); err != nil || !what.Overdue || what.RollDue {
		t.Errorf("overdue: %+v, %v", what, err)
	}
	c.put(t0+2000, "b", []byte("1"))
	c.put(t0+3001, "b", []byte("2"))
	if c.l.SegmentCount() != 3 {
		t.Errorf("%d segments: an append behind the lag does not roll", c.l.SegmentCount())
	}
}

// Guarantees 3 and 5: a tombstone gets its horizon at the first pass that
// reaches it, stays until then, and goes after.
func TestTombstonesWaitForTheirHorizon(t *testing.T) {
	c := newCompacted(t)
	c.cfg.DeleteRetentionMs = 1000
	c.put(t0, "a", []byte("1"))
	c.put(t0, "b", []byte("1"))
	c.put(t0+1, "a", nil)
	c.roll()
	c.clean(t0 + 5000)
	c.expect("first pass", "1 b=1, 2 a=")
	for _, b := range readAll(t, c.l, 2, 1000) {
		if ms, ok := b.DeleteHorizon(); b.Count() > 0 && (!ok || ms != t0+6000) {
			t.Errorf("batch at %d has horizon %d, %v", b.BaseOffset(), ms, ok)
		}
	}
	if f, ok, err := c.l.OffsetForTimestamp(t0+1, 3); err != nil || !ok || f.Offset != 2 || f.Timestamp != t0+1 {
		t.Errorf("the tombstone's time: %+v, %v, %v", f, ok, err)
	}
	step := func(nowMs int64) { // a pass needs something that none has seen
		c.put(nowMs, "c", []byte("x"))
		c.roll()
		c.clean(nowMs)
	}
	step(t0 + 5999)
	c.expect("before the horizon", "1 b=1, 2 a=, 3 c=x")
	step(t0 + 6000)
	c.expect("behind it", "1 b=1, 4 c=x")
	c.cfg.DeleteRetentionMs = math.MaxInt64
	c.put(t0, "b", nil)
	step(t0 + 7000)
	c.expect("kept for ever", "5 b=, 6 c=x")
	if _, ok, err := c.l.OffsetForTimestamp(t0, 7); err != nil || !ok {
		t.Errorf("time with a horizon at the end of time: %v, %v", ok, err)
	}
}

// Guarantees 5 and 6: aborted records go, a marker stays until its records are
// gone and its horizon has passed; records of an open transaction stay.
func TestTransactionsInACompactedLog(t *testing.T) {
	c := newCompacted(t)
	c.cfg.DeleteRetentionMs = 1000
	data := func(id int64, seq int32, key, value string) {
		b := record.NewBuilder()
		b.ProducerID, b.BaseSequence, b.ProducerEpoch, b.Transactional = id, seq, 0, true
		appendAll(t, c.io, c.l, 0, b.Add(t0, []byte(key), []byte(value)).Build())
	}
	end := func(id int64, m record.Marker) {
		b := record.NewBuilder()
		b.ProducerID, b.ProducerEpoch, b.Transactional, b.Control = id, 0, true, true
		appendAll(t, c.io, c.l, 0, b.Add(t0, []byte{0, 0, 0, byte(m)}, []byte{0, 0, 0, 0, 0, 1}).Build())
	}
	c.put(t0, "a", []byte("old"))
	data(1, 0, "a", "aborted") // 1
	data(2, 0, "b", "committed")
	end(1, record.Abort) // 3
	end(2, record.Commit)
	data(2, 1, "c", "later") // 5, so that neither is its producer's last
	end(2, record.Commit)
	c.l.ExpireProducers(t0 + 1<<40)
	c.roll()
	data(3, 0, "a", "open") // 7
	c.roll()
	c.clean(t0 + 1)
	c.expect("first pass", "0 a=old, 2 b=committed, 3 marker, 4 marker, 5 c=later, 6 marker, 7 a=open")
	end(3, record.Commit) // 8
	c.put(t0, "d", []byte("x"))
	c.roll()
	c.l.ExpireProducers(t0 + 1<<40)
	c.clean(t0 + 100) // the aborted records are gone: its marker gets a horizon
	c.expect("second pass", "2 b=committed, 3 marker, 4 marker, 5 c=later, 6 marker, 7 a=open, 8 marker, 9 d=x")
	c.put(t0, "d", []byte("y"))
	c.roll()
	c.clean(t0 + 1100)
	c.expect("third pass", "2 b=committed, 4 marker, 5 c=later, 6 marker, 7 a=open, 8 marker, 10 d=y")
}

// Guarantee 7: the last batch of a live producer stays, if need be emptied, and
// is enough to go on after everything else that knew it is lost.
func TestLastBatchOfAProducerStays(t *testing.T) {
	c := newCompacted(t)
	for seq := range int32(3) {
		b := record.NewBuilder()
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = 7, 1, seq
		appendAll(t, c.io, c.l, 0, b.Add(t0, []byte{byte('x' + seq%2)}, []byte("1")).Build())
	}
	c.put(t0, "x", []byte("2"))
	c.put(t0, "z", []byte("2"))
	c.roll()
	c.clean(t0)
	c.expect("first pass", "1 y=1, 3 x=2, 4 z=2")
	mem := c.mem.KillClone()
	dir := "/data/" + testTP.String()
	es, _ := mem.ReadDir(dir)
	for _, e := range es {
		if strings.HasSuffix(e.Name, snapshotSuffix) {
			mem.Remove(dir + "/" + e.Name)
		}
	}
	l, _ := openLog(t, openDir(t, mem, "/data"), c.cfg)
	next := produced(7, 1, 3, t0, 1)
	if dup, err := l.CheckProducer(next, t0); err != nil || dup != nil {
		t.Errorf("the next batch: %+v, %v", dup, err)
	}
	if _, err := l.CheckProducer(produced(7, 1, 5, t0, 1), t0); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("a batch behind a gap: %v", err)
	}
	c.l.ExpireProducers(t0 + 1<<40)
	c.put(t0, "q", nil)
	c.roll()
	c.clean(t0)
	for _, b := range readAll(t, c.l, 0, 1<<20) {
		if b.ProducerID() == 7 && b.BaseSequence() == 2 {
			t.Error("the emptied batch of a producer that expired is still there")
		}
	}
}

// A snapshot whose position lies in a segment that was cleaned since is read
// from, but its position is not believed.
func TestSnapshotIntoACleanedSegment(t *testing.T) {
	c := newCompacted(t)
	c.put(t0, "k", make([]byte, 300))
	c.put(t0, "k", []byte("v"))
	appendAll(t, c.io, c.l, 0, produced(7, 0, 0, t0, 1))
	c.l.storeSnapshot(3, c.l.takeSnapshot(3, 0, c.l.active().size))
	c.put(t0, "l", make([]byte, 1000)) // into which the position will point
	appendAll(t, c.io, c.l, 0, produced(7, 0, 1, t0, 1), produced(8, 0, 0, t0, 1))
	c.roll()
	c.clean(t0)
	mem := c.mem.KillClone()
	mem.Remove("/data/" + testTP.String() + "/" + offsetName(6, snapshotSuffix))
	l, rep := openLog(t, openDir(t, mem, "/data"), c.cfg)
	if rep.CutBytes > 0 || len(l.Producers()) != 2 {
		t.Fatalf("%+v, %+v", rep, l.Producers())
	}
	for _, b := range []record.Batch{produced(7, 0, 2, t0, 1), produced(8, 0, 1, t0, 1)} {
		if dup, err := l.CheckProducer(b, t0); err != nil || dup != nil {
			t.Errorf("producer %d: %+v, %v", b.ProducerID(), dup, err)
		}
	}
}

// Guarantee 2: an offset whose record is gone stays valid, also as a log start
// and at the end of a segment.
func TestOffsetsOfRemovedRecordsAreValid(t *testing.T) {
	c := newCompacted(t)
	for i := range 10 {
		c.put(t0+int64(i), fmt.Sprintf("k%d", i%2), []byte{byte('0' + i)})
	}
	c.roll()
	c.put(t0+20, "k0", []byte("a"))
	c.put(t0+21, "k1", []byte("b"))
	c.roll()
	c.clean(t0 + 100)
	c.expect("two keys", "10 k0=a, 11 k1=b")
	if c.l.EndOffset() != 12 || c.l.StartOffset() != 0 {
		t.Errorf("offsets %d to %d", c.l.StartOffset(), c.l.EndOffset())
	}
	for o := range int64(12) {
		r, err := c.l.Plan(o, 12, 1<<20, true)
		if err != nil || r.N == 0 {
			t.Errorf("fetch at %d: %d bytes, %v", o, r.N, err)
		}
		r.Release()
	}
	if f, ok, err := c.l.OffsetForTimestamp(t0+3, 12); err != nil || !ok || f.Offset != 10 {
		t.Errorf("time of a record that is gone: %+v, %v, %v", f, ok, err)
	}
	if f, ok, err := c.l.MaxTimestamp(10); err != nil || ok {
		t.Errorf("largest time below 10: %+v, %v, %v", f, ok, err)
	}
	if err := c.l.AdvanceStart(5); err != nil {
		t.Fatal(err)
	}
	c.expect("a start in a gap", "10 k0=a, 11 k1=b")
	c.mem = c.mem.KillClone()
	if rep := c.open(); rep.CutBytes > 0 || c.l.StartOffset() != 5 || c.l.EndOffset() != 12 {
		t.Errorf("%+v, offsets %d to %d", rep, c.l.StartOffset(), c.l.EndOffset())
	}
}

// Guarantees 9 and 10: with compact,delete whole segments go by age as well, and
// records without a key, of a time when the topic was not compacted, go with the
// first pass.
func TestCompactAndDelete(t *testing.T) {
	c := newCompacted(t)
	c.cfg.DeletePolicy, c.cfg.RetentionMs = true, 1000
	c.l.SetConfig(c.cfg)
	appendAll(t, c.io, c.l, 0, record.NewBuilder().Add(t0, nil, []byte("no key")).Build())
	c.put(t0, "a", []byte("1"))
	c.roll()
	c.put(t0+5000, "b", []byte("1"))
	c.roll()
	c.clean(t0 + 5000)
	c.expect("a pass", "1 a=1, 2 b=1")
	// The pass joined the two segments, whose newest record is young.
	if n, err := c.l.Retain(t0 + 5500); n != 0 || err != nil {
		t.Errorf("%d segments went, %v", n, err)
	}
	if n, err := c.l.Retain(t0 + 6001); n != 1 || err != nil || c.l.StartOffset() != 3 {
		t.Errorf("%d segments went, %v, log start %d", n, err, c.l.StartOffset())
	}
}

// The pass ends for nothing when retention takes its segments meanwhile.
func TestCleaningIsSuperseded(t *testing.T) {
	c := newCompacted(t)
	for range 3 {
		c.put(t0, "a", []byte("1"))
		c.put(t0, "a", []byte("2"))
		c.roll()
	}
	o := c.options(t0)
	o.Replace = func(r *Replacement) error {
		if err := c.l.AdvanceStart(4); err != nil {
			t.Fatal(err)
		}
		if n, err := c.l.Retain(t0); n != 2 || err != nil {
			t.Fatalf("%d segments went, %v", n, err)
		}
		return c.l.Replace(r)
	}
	if _, err := c.l.Clean(o); !errors.Is(err, ErrSuperseded) {
		t.Fatalf("%v", err)
	}
	c.expect("old segments", "4 a=1, 5 a=2")
	es, _ := c.mem.ReadDir("/data/" + testTP.String())
	for _, e := range es {
		if strings.HasSuffix(e.Name, cleanedSuffix) || strings.HasSuffix(e.Name, swapSuffix) {
			t.Errorf("%s is left", e.Name)
		}
	}
	c.clean(t0)
	c.expect("the next pass", "5 a=2")
}

// Damage ends the pass before anything is replaced.
func TestCleaningMeetsDamage(t *testing.T) {
	c := newCompacted(t)
	c.put(t0, "a", []byte("1"))
	c.put(t0, "a", []byte("2"))
	c.roll()
	f, err := c.mem.OpenFile("/data/"+testTP.String()+"/"+offsetName(0, logSuffix), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte{0xff}, 70)
	if got, err := c.l.Clean(c.options(t0)); !errors.Is(err, ErrCorrupt) || got.Segments != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
}

// A range that is held stays what it was, and a deleted log ends the pass.
func TestRangeOverAReplacementAndDelete(t *testing.T) {
	c := newCompacted(t)
	c.put(t0, "a", []byte("1"))
	c.put(t0, "a", []byte("2"))
	c.roll()
	r, err := c.l.Plan(0, 2, 1<<20, true)
	if err != nil {
		t.Fatal(err)
	}
	before := make([]byte, r.N)
	r.File.ReadAt(before, r.Off)
	c.clean(t0)
	after := make([]byte, r.N)
	if n, err := r.File.ReadAt(after, r.Off); n != r.N || string(before) != string(after) {
		t.Errorf("the range changed: %d bytes, %v", n, err)
	}
	r.Release()
	if c.d.FileBudget().Open() > 3 {
		t.Errorf("%d files are open", c.d.FileBudget().Open())
	}
	c.put(t0, "a", []byte("3"))
	c.roll()
	o := c.options(t0)
	o.Replace = func(r *Replacement) error {
		if err := c.l.Delete(); err != nil {
			t.Fatal(err)
		}
		return c.l.Replace(r)
	}
	if _, err := c.l.Clean(o); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if ok, _ := vfs.Exists(c.mem, "/data/"+testTP.String()); ok {
		t.Error("the directory of a deleted partition is back")
	}
}

// Readers at any offset see ascending whole batches while segments are replaced
// under them, on real files.
func TestReadersDuringReplacements(t *testing.T) {
	root := t.TempDir() + "/data"
	d := openDir(t, vfs.OS{}, root)
	d.UseFileBudget(NewFileBudget(1)) // files are closed and opened again all the time
	cfg := smallConfig()
	cfg.CompactPolicy, cfg.DeletePolicy, cfg.IndexIntervalBytes = true, false, 100
	l, _ := openLog(t, d, cfg)
	io := NewPwritevIO()
	defer io.Close()
	var stop atomic.Bool
	var readers sync.WaitGroup
	for g := range int64(3) {
		readers.Go(func() {
			for n := g; !stop.Load(); n++ {
				end := l.EndOffset()
				if end == 0 {
					continue
				}
				offset := n * 37 % end
				var batches []record.Batch
				for next, tries := offset, 0; next < end && tries < 1000; tries++ {
					// The end that a look goes up to may be old by the time it is made:
					// what lies below it is gone then, and the next look goes further.
					batches = append(batches, readAll(t, l, next, 500)...)
					if len(batches) > 0 {
						next = batches[len(batches)-1].LastOffset() + 1
					}
				}
				if len(batches) == 0 {
					t.Errorf("nothing from %d to %d", offset, end)
					return
				}
				for i, b := range batches {
					if b.LastOffset() < offset || i > 0 && b.BaseOffset() <= batches[i-1].LastOffset() {
						t.Errorf("batch %v behind %d", b, offset)
					}
				}
				if last := batches[len(batches)-1].LastOffset(); last < end-1 {
					t.Errorf("read to %d, the end was %d", last, end)
				}
				if _, _, err := l.OffsetForTimestamp(t0+offset, end); err != nil {
					t.Error(err)
				}
				if _, _, err := l.MaxTimestamp(end); err != nil {
					t.Error(err)
				}
			}
		})
	}
	n, replaced := 0, 0
	for range 25 {
		for range 60 {
			appendAll(t, io, l, 0, record.NewBuilder().Add(t0+int64(n), fmt.Appendf(nil, "k%d", n*n%23), make([]byte, 50)).Build())
			n++
		}
		syncLog(t, io, l)
		got, err := l.Clean(CleanOptions{Config: cfg, Stable: l.EndOffset(), NowMs: t0, MapBytes: 1 << 20, MapLoad: 0.9,
			Pace: func(int) error { return nil }, Replace: l.Replace})
		if err != nil {
			t.Fatal(err)
		}
		replaced += got.Segments
	}
	stop.Store(true)
	readers.Wait()
	if replaced < 20 {
		t.Errorf("%d segments were replaced", replaced)
	}
	for _, base := range basesOf(l)[:l.SegmentCount()-1] {
		var out strings.Builder
		if err := DumpFile(&out, offsetPath(l.Path(), base, logSuffix), DumpOptions{Records: true}); err != nil {
			t.Errorf("dump: %v\n%s", err, out.String())
		}
		if err := DumpFile(&out, offsetPath(l.Path(), base, indexSuffix), DumpOptions{}); err != nil {
			t.Errorf("dump: %v\n%s", err, out.String())
		}
	}
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := DumpFile(&out, root+"/"+cleanedName, DumpOptions{}); err != nil || !strings.Contains(out.String(), "partition 3 offset") {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestOffsetMap(t *testing.T) {
	m := newOffsetMap(100*mapSlotBytes, 0.9, 1<<40)
	for i := range int64(90) {
		if !m.put(fmt.Appendf(nil, "key %d", i), i) {
			t.Fatalf("full at %d", i)
		}
	}
	if m.put([]byte("one more"), 90) {
		t.Error("more keys than the share that may be filled")
	}
	if !m.put([]byte("key 3"), 91) || m.newest([]byte("key 3")) != 91 || m.newest([]byte("key 4")) != 4 || m.newest([]byte("none")) != -1 {
		t.Error("a known key of a full map, or an unknown one")
	}
	if m := newOffsetMap(1<<30, 0.9, 10); len(m.slots) > 100 {
		t.Errorf("%d slots for 10 keys", len(m.slots))
	}
	if m := newOffsetMap(0, 0, 10); !m.put(nil, 1) || m.put([]byte("b"), 2) {
		t.Error("the smallest map takes one key")
	}
}

func TestReplacementNote(t *testing.T) {
	r := replacement{topic: testTopic, base: 5, end: 9, size: 100, crc: 77}
	b := r.encode()
	if got, err := decodeReplacement(b); err != nil || got != r {
		t.Errorf("%+v, %v", got, err)
	}
	path := t.TempDir() + "/" + offsetName(5, swapSuffix)
	os.WriteFile(path, b, 0o644)
	var out strings.Builder
	if err := DumpFile(&out, path, DumpOptions{}); err != nil || !strings.Contains(out.String(), "from offset 5 up to 9") {
		t.Errorf("%v: %s", err, out.String())
	}
	b[20] ^= 1
	if _, err := decodeReplacement(b); !errors.Is(err, errDamaged) {
		t.Errorf("a flipped bit: %v", err)
	}
	newer := sealEnvelope(replacementMagic, 2, nil)
	if _, err := decodeReplacement(newer); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer version: %v", err)
	}
}

// What is durable in a journal only is not cleaned before its files are synced.
func TestCleaningWaitsForTheFilesBehindAJournal(t *testing.T) {
	c := newCompacted(t)
	c.put(t0, "a", []byte("1"))
	c.put(t0, "a", []byte("2"))
	c.l.roll()
	c.put(t0, "b", []byte("1"))
	files, upTo := c.l.BeginSync(nil)
	if len(files) != 2 {
		t.Fatalf("%d files are dirty", len(files))
	}
	c.l.EndSync(upTo, true, nil) // as if a journal had them
	if what, err := c.l.Cleanable(c.cfg, 3, t0); err != nil || !what.FileSyncDue || what.End != 0 {
		t.Fatalf("%+v, %v", what, err)
	}
	c.clean(t0)
	c.expect("behind the journal", "0 a=1, 1 a=2, 2 b=1")
	s, err := c.l.BeginFileSync()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if what, err := c.l.Cleanable(c.cfg, 3, t0); err != nil || what.FileSyncDue || what.End != 2 {
		t.Fatalf("%+v, %v", what, err)
	}
	c.clean(t0)
	c.expect("in its files", "1 a=2, 2 b=1")
	if got := c.mem.KillClone(); openImage(t, got, c.cfg).CutBytes > 0 {
		t.Error("a start cuts something")
	}
}
