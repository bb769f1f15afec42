package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// kept is a record as it was appended, and what became of it.
type kept struct {
	offset, ts int64
	key, value string
	tombstone  bool
	producer   int64
	aborted    bool
	reachedMs  int64 // time of the first pass that reached it, -1 if none did
}

// cleanScenario appends to a log, compacts it, and knows what must be in it.
type cleanScenario struct {
	t    testing.TB
	seed uint64
	rng  *rand.Rand
	mem  *vfs.Mem
	fs   func(*vfs.Mem) vfs.FS // what the log sees
	d    *Dir
	l    *Log
	io   LogIO
	cfg  Config

	now     int64
	epoch   int32
	epochs  map[int32]int64 // first offset
	all     []*kept
	end     int64
	start   int64
	to      int64 // passes came so far
	buried  int64 // newest time at which a pass looked for tombstones to remove
	open    map[int64]int64
	seq     map[int64]int32
	pepoch  map[int64]int16
	last    map[int64]record.Batch
	markers map[int64]record.Marker // by offset
	trace   []string
}

func newCleanScenario(t testing.TB, seed uint64) *cleanScenario {
	s := &cleanScenario{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 5)), mem: vfs.NewMem(), io: NewPwritevIO(), cfg: smallConfig(), now: t0,
		fs: func(m *vfs.Mem) vfs.FS { return m }, epochs: map[int32]int64{}, open: map[int64]int64{}, seq: map[int64]int32{}, pepoch: map[int64]int16{},
		last: map[int64]record.Batch{}, markers: map[int64]record.Marker{}}
	s.cfg.SegmentBytes = int32(600 + s.rng.IntN(3000))
	s.cfg.IndexIntervalBytes = int32(s.rng.IntN(400))
	s.cfg.CompactPolicy, s.cfg.DeletePolicy = true, false
	s.cfg.DeleteRetentionMs = int64(s.rng.IntN(3)) * 500
	s.openLog()
	return s
}

func (s *cleanScenario) openLog() RecoveryReport {
	s.d = openDir(s.t, s.fs(s.mem), "/data")
	l, rep, err := s.d.OpenLog(testTP, testTopic, s.cfg)
	if err != nil {
		s.fatalf("open: %v", err)
	}
	s.l = l
	return rep
}

func (s *cleanScenario) fatalf(format string, args ...any) {
	s.t.Helper()
	es, _ := s.mem.ReadDir("/data/" + testTP.String())
	tail := s.trace[max(0, len(s.trace)-40):]
	s.t.Fatalf("seed %d: %s\nfiles %v\nafter:\n%s", s.seed, fmt.Sprintf(format, args...), es, strings.Join(tail, "\n"))
}

func (s *cleanScenario) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

// batch is the next one: of nobody, of an idempotent producer (1 to 3), or of a
// transactional one (11, 12).
func (s *cleanScenario) batch() (record.Batch, []*kept) {
	b := record.NewBuilder()
	b.Codec = record.Codec(s.rng.IntN(9) % 5)
	id := int64(-1)
	switch k := s.rng.IntN(10); {
	case k < 4:
		id = int64(1 + s.rng.IntN(3))
	case k < 6:
		id, b.Transactional = int64(11+s.rng.IntN(2)), true
	}
	if id >= 0 {
		if s.rng.IntN(25) == 0 && !b.Transactional && s.last[id] != nil {
			s.pepoch[id]++
			s.seq[id] = 0
		}
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, s.pepoch[id], s.seq[id]
	}
	var out []*kept
	for i := range 1 + s.rng.IntN(5) {
		s.now += int64(s.rng.IntN(20)) - 4
		k := &kept{offset: s.end + int64(i), ts: s.now, key: fmt.Sprintf("key-%d", s.rng.IntN(14)), producer: id, reachedMs: -1}
		k.value = fmt.Sprintf("value of %d %s", k.offset, strings.Repeat("x", s.rng.IntN(60)))
		var value []byte
		if k.tombstone = s.rng.IntN(6) == 0; !k.tombstone {
			value = []byte(k.value)
		}
		b.Add(k.ts, []byte(k.key), value, record.Header{Key: "at", Value: fmt.Append(nil, k.offset)})
		out = append(out, k)
	}
	return b.Build(), out
}

func (s *cleanScenario) stage(b record.Batch) {
	base, err := s.l.Stage(b, s.epoch, b.MaxTimestamp(), s.now)
	if err != nil || base != s.end {
		s.fatalf("stage at %d: %d, %v", s.end, base, err)
	}
	if errs := Flush(s.io, []*Log{s.l}); errs != nil {
		s.fatalf("flush: %v", errs)
	}
	if _, ok := s.epochs[s.epoch]; !ok {
		s.epochs[s.epoch] = base
	}
	s.end = b.LastOffset() + 1
}

func (s *cleanScenario) append() {
	b, records := s.batch()
	s.stage(b)
	if id := b.ProducerID(); id >= 0 {
		s.seq[id] += b.Count()
		s.last[id] = b
		if b.Transactional() {
			if _, ok := s.open[id]; !ok {
				s.open[id] = b.BaseOffset()
			}
		}
	}
	s.all = append(s.all, records...)
}

func (s *cleanScenario) endTransaction(id int64, m record.Marker) {
	first, ok := s.open[id]
	if !ok {
		return
	}
	s.markers[s.end] = m
	b := record.NewBuilder()
	b.ProducerID, b.ProducerEpoch, b.Transactional, b.Control = id, s.pepoch[id], true, true
	b.Add(s.now, []byte{0, 0, 0, byte(m)}, []byte{0, 0, 0, 0, 0, 1})
	s.stage(b.Build())
	delete(s.open, id)
	for _, k := range s.all {
		if m == record.Abort && k.producer == id && k.offset >= first {
			k.aborted = true
		}
	}
}

func (s *cleanScenario) stable() int64 {
	lso := s.end
	for _, o := range s.open {
		lso = min(lso, o)
	}
	return lso
}

func (s *cleanScenario) options() CleanOptions {
	return CleanOptions{Config: s.cfg, Stable: s.stable(), NowMs: s.now, MapBytes: 1 << 20, MapLoad: 0.9, BufferBytes: 1000,
		Pace: func(int) error { return nil }, Replace: s.l.Replace}
}

func (s *cleanScenario) clean() {
	o := s.options()
	if s.rng.IntN(3) == 0 {
		o.MapBytes = int64(3+s.rng.IntN(12)) * mapSlotBytes // full before the end
	}
	got, err := s.l.Clean(o)
	if err != nil {
		s.fatalf("clean: %v", err)
	}
	s.note("clean: %+v; stable %d, synced %d", got, s.stable(), s.l.SyncedOffset())
	s.cleaned(o.NowMs)
}

// cleaned takes up what a pass at that time may have done.
func (s *cleanScenario) cleaned(nowMs int64) {
	s.to = max(s.to, s.l.cleanedTo(0, s.end)) // lower when the checkpoint was lost, and what was cleaned stays so
	for _, k := range s.all {
		if k.offset < s.to && k.reachedMs < 0 {
			k.reachedMs = nowMs
		}
	}
	s.buried = nowMs
}

func (s *cleanScenario) step() {
	switch k := s.rng.IntN(100); {
	case k < 52:
		s.append()
	case k < 60:
		s.endTransaction(int64(11+s.rng.IntN(2)), record.Marker(s.rng.IntN(2)))
	case k < 70:
		syncLog(s.t, s.io, s.l)
	case k < 74:
		if err := s.d.Checkpoint(); err != nil {
			s.fatalf("checkpoint: %v", err)
		}
	case k < 76:
		s.epoch++
		s.l.StartEpoch(s.epoch)
	case k < 79:
		s.now += int64(s.rng.IntN(1500))
	case k < 90:
		s.clean()
		s.verify("after a pass")
	case k < 93:
		s.note("kill")
		s.mem = s.mem.KillClone()
		s.openLog()
		s.verify("after a kill")
	case k < 95:
		s.forget()
	case k < 97:
		s.note("clean restart")
		if err := errors.Join(s.l.Close(), s.d.MarkClean(), s.d.Close()); err != nil {
			s.fatalf("close: %v", err)
		}
		if rep := s.openLog(); rep.CheckedBytes+rep.HeaderBytes > 0 {
			s.fatalf("a clean start read the log: %+v", rep)
		}
		s.verify("after a restart")
	default:
		if s.end > s.start && s.rng.IntN(4) == 0 {
			s.start += s.rng.Int64N((s.end-s.start)/4 + 1)
			if err := s.l.AdvanceStart(s.start); err != nil {
				s.fatalf("advance start: %v", err)
			}
			s.note("log start %d", s.start)
		}
		if _, err := s.l.Retain(s.now); err != nil {
			s.fatalf("retain: %v", err)
		}
	}
}

// forget opens the log with nothing but the .log files and the log start: what
// they say must be enough. Sometimes old producer snapshots are there too, some
// of which point into segments that were cleaned since.
func (s *cleanScenario) forget() {
	syncLog(s.t, s.io, s.l)
	s.note("everything but the logs is lost")
	s.mem = s.mem.KillClone()
	dir := "/data/" + testTP.String()
	es, _ := s.mem.ReadDir(dir)
	old := s.rng.IntN(2) == 0
	for _, e := range es {
		if o, ok := parseOffsetName(e.Name, snapshotSuffix); ok && old && o < s.to {
			continue
		}
		if !strings.HasSuffix(e.Name, logSuffix) {
			s.mem.Remove(filepath.Join(dir, e.Name))
		}
	}
	for _, name := range []string{pointsName, cleanedName} {
		s.mem.Remove("/data/" + name)
	}
	rep := s.openLog()
	if rep.CutBytes > 0 || len(rep.SetAside) > 0 || rep.Damaged() {
		s.fatalf("the logs do not stand alone: %+v", rep)
	}
	s.verify("with nothing but the logs")
	// Sequences that only snapshots knew are gone: what the log says counts.
	for id := range s.last {
		if s.l.producers.byID[id] == nil {
			delete(s.last, id)
			s.seq[id], s.pepoch[id] = 0, 0
		}
	}
}

// surviving reads the records that are in the log.
func (s *cleanScenario) surviving() (map[int64]record.Record, []record.Batch) {
	out := map[int64]record.Record{}
	batches := readAll(s.t, s.l, s.start, 1+s.rng.IntN(4000))
	next := int64(-1)
	for _, b := range batches {
		if b.BaseOffset() < next {
			s.fatalf("batch at %d after %d", b.BaseOffset(), next)
		}
		next = b.LastOffset() + 1
		if b.Control() {
			continue
		}
		r, err := record.NewReader(b)
		if err != nil {
			s.fatalf("%v", err)
		}
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				s.fatalf("batch at %d: %v", b.BaseOffset(), err)
			}
			rec.Key, rec.Value = bytes.Clone(rec.Key), bytes.Clone(rec.Value)
			if rec.Offset >= s.start {
				out[rec.Offset] = rec
			}
			if len(rec.Headers) != 1 || string(rec.Headers[0].Value) != fmt.Sprint(rec.Offset) {
				s.fatalf("record at %d has headers %v", rec.Offset, rec.Headers)
			}
		}
		r.Close()
	}
	return out, batches
}

// verify compares the log with the ten guarantees of docs/format/log.md.
func (s *cleanScenario) verify(when string) {
	s.t.Helper()
	if s.l.StartOffset() != s.start || s.l.EndOffset() != s.end {
		s.fatalf("%s: offsets %d to %d, want %d to %d", when, s.l.StartOffset(), s.l.EndOffset(), s.start, s.end)
	}
	got, batches := s.surviving()
	newest := map[string]*kept{}
	for _, k := range s.all {
		if !k.aborted {
			if _, undecided := s.open[k.producer]; undecided && k.offset >= s.open[k.producer] {
				continue
			}
			newest[k.key] = k
		}
	}
	below := map[string]*kept{} // newest below where passes came
	for _, k := range s.all {
		if k.offset < s.to && !k.aborted {
			below[k.key] = k
		}
	}
	for _, k := range s.all {
		rec, there := got[k.offset]
		delete(got, k.offset)
		if there && (string(rec.Key) != k.key || rec.Timestamp != k.ts || (rec.Value == nil) != k.tombstone || !k.tombstone && string(rec.Value) != k.value) {
			s.fatalf("%s: record at %d is %q=%q at %d, want %q=%q at %d", when, k.offset, rec.Key, rec.Value, rec.Timestamp, k.key, k.value, k.ts)
		}
		if k.offset < s.start {
			continue
		}
		// A tombstone may go when readers had delete.retention.ms since the first
		// pass that reached it.
		mayGo := k.tombstone && k.reachedMs >= 0 && s.buried >= k.reachedMs+s.cfg.DeleteRetentionMs
		switch {
		case k.offset >= s.to:
			if !there {
				s.fatalf("%s: record at %d is gone, passes came to %d", when, k.offset, s.to)
			}
		case k.aborted:
			if there {
				s.fatalf("%s: aborted record at %d is still there", when, k.offset)
			}
		case below[k.key] != k:
			if there {
				s.fatalf("%s: record at %d of %q is still there, a newer one is at %d", when, k.offset, k.key, below[k.key].offset)
			}
		case !there && !mayGo:
			s.fatalf("%s: the newest record of %q at %d is gone", when, k.key, k.offset)
		}
	}
	for offset := range got {
		s.fatalf("%s: record at %d was never appended", when, offset)
	}
	for key, k := range newest {
		if k.offset >= s.start && below[key] == k && !k.tombstone {
			if rec, err := s.at(k.offset); err != nil || string(rec.Value) != k.value {
				s.fatalf("%s: the value of %q: %v, %v", when, key, rec, err)
			}
		}
	}
	s.verifyReads(when, batches)
	s.verifyEpochs(when)
	s.verifyProducers(when)
}

// at fetches the first record at or after an offset, as a consumer does.
func (s *cleanScenario) at(offset int64) (record.Record, error) {
	for _, b := range readAll(s.t, s.l, offset, 1) {
		r, err := record.NewReader(b)
		if err != nil {
			return record.Record{}, err
		}
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			if rec.Offset >= offset {
				rec.Value = bytes.Clone(rec.Value)
				r.Close()
				return rec, nil
			}
		}
		r.Close()
	}
	return record.Record{}, io.EOF
}

// verifyReads fetches at random offsets, in gaps too, and asks for times.
func (s *cleanScenario) verifyReads(when string, batches []record.Batch) {
	for range 4 {
		if s.end <= s.start {
			return
		}
		offset := s.start + s.rng.Int64N(s.end-s.start)
		r, err := s.l.Plan(offset, s.end, 1, true)
		if err != nil {
			s.fatalf("%s: plan at %d: %v", when, offset, err)
		}
		var want record.Batch
		for _, b := range batches {
			if b.LastOffset() >= offset {
				want = b
				break
			}
		}
		b := make([]byte, r.N)
		if r.N > 0 {
			r.File.ReadAt(b, r.Off)
		}
		r.Release()
		if !bytes.Equal(b, want) {
			s.fatalf("%s: plan at %d gave %v, want %v", when, offset, record.Batch(b), want)
		}
		s.verifyTime(when, batches)
	}
}

func (s *cleanScenario) verifyTime(when string, batches []record.Batch) {
	limit := s.start + s.rng.Int64N(s.end-s.start+1)
	ts := s.now - 600 + s.rng.Int64N(700)
	first, best := Found{Offset: -1}, Found{Offset: -1, Timestamp: math.MinInt64}
	for _, b := range batches {
		r, err := record.NewReader(b)
		if err != nil {
			s.fatalf("%v", err)
		}
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			if rec.Offset < s.start || rec.Offset >= limit {
				continue
			}
			f := Found{rec.Offset, rec.Timestamp, b.LeaderEpoch()}
			if first.Offset < 0 && rec.Timestamp >= ts {
				first = f
			}
			if rec.Timestamp > best.Timestamp {
				best = f
			}
		}
		r.Close()
	}
	if f, ok, err := s.l.OffsetForTimestamp(ts, limit); err != nil || ok != (first.Offset >= 0) || ok && f != first {
		s.fatalf("%s: first at or after %d below %d: %+v, %v, %v; want %+v", when, ts, limit, f, ok, err, first)
	}
	if f, ok, err := s.l.MaxTimestamp(limit); err != nil || ok != (best.Offset >= 0) || ok && f != best {
		s.fatalf("%s: largest timestamp below %d: %+v, %v, %v; want %+v", when, limit, f, ok, err, best)
	}
}

func (s *cleanScenario) verifyEpochs(when string) {
	for e, first := range s.epochs {
		end := s.end
		for later, o := range s.epochs {
			if later > e {
				end = min(end, o)
			}
		}
		if end <= s.start {
			continue
		}
		if got := s.l.EpochAt(max(first, s.start)); got != e {
			s.fatalf("%s: epoch at %d is %d, want %d", when, max(first, s.start), got, e)
		}
		if got, o := s.l.EpochEnd(e); got != e || o != end {
			s.fatalf("%s: epoch %d ends as %d at %d, want %d", when, e, got, o, end)
		}
	}
}

// verifyProducers has each producer whose last batch is in reach repeat it, and
// go on.
func (s *cleanScenario) verifyProducers(when string) {
	for id, b := range s.last {
		if b.BaseOffset() < s.start {
			continue
		}
		if dup, err := s.l.CheckProducer(b, s.now); err != nil || dup == nil || dup.BaseOffset != b.BaseOffset() {
			s.fatalf("%s: producer %d repeats its last batch at %d: %+v, %v", when, id, b.BaseOffset(), dup, err)
		}
		next := record.NewBuilder()
		next.ProducerID, next.ProducerEpoch, next.BaseSequence = id, s.pepoch[id], s.seq[id]
		if dup, err := s.l.CheckProducer(next.Add(0, []byte("k"), nil).Build(), s.now); err != nil || dup != nil {
			s.fatalf("%s: producer %d goes on: %+v, %v", when, id, dup, err)
		}
	}
}

func TestCleaningRandomHistories(t *testing.T) {
	for seed := range histories(30) {
		s := newCleanScenario(t, seed)
		for range 220 {
			s.step()
		}
		s.io.Close()
	}
}
