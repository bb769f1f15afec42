package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// logModel is what a log should be: every batch ever appended and not lost,
// retained away or not.
type logModel struct {
	batches []record.Batch
	start   int64
	durable int64 // log start that a power cut cannot take back
	synced  int64
	end     int64
	epoch   int32
	hidden  map[int64]bool  // base offsets of batches whose producer the log forgot
	seq     map[int64]int32 // next sequence of each producer
	pepoch  map[int64]int16
}

func (m *logModel) cutTo(end int64) {
	for len(m.batches) > 0 && m.batches[len(m.batches)-1].LastOffset() >= end {
		m.batches = m.batches[:len(m.batches)-1]
	}
	m.end = end
	m.renote()
}

func (m *logModel) renote() {
	m.seq, m.pepoch = map[int64]int32{}, map[int64]int16{}
	for _, b := range m.batches {
		if !m.hidden[b.BaseOffset()] {
			m.note(b)
		}
	}
}

func (m *logModel) note(b record.Batch) {
	if b.ProducerID() >= 0 {
		m.seq[b.ProducerID()] = (b.LastSequence() + 1) & 0x7fffffff
		m.pepoch[b.ProducerID()] = b.ProducerEpoch()
	}
}

// lastFive are the newest batches of a producer's newest epoch.
func (m *logModel) lastFive(id int64) []record.Batch {
	var out []record.Batch
	for _, b := range m.batches {
		if b.ProducerID() == id && !m.hidden[b.BaseOffset()] {
			if len(out) > 0 && out[0].ProducerEpoch() != b.ProducerEpoch() {
				out = nil
			}
			out = append(out, b)
		}
	}
	return out[max(0, len(out)-keptBatches):]
}

// scenario drives a log and its model with random operations.
type scenario struct {
	t     testing.TB
	rng   *rand.Rand
	mem   *vfs.Mem // nil: the real file system, where no power can be cut
	root  string
	fault *vfs.Faulty
	io    LogIO
	cfg   Config
	d     *Dir
	l     *Log
	m     *logModel
	now   int64
	seed  uint64

	wanted    bool // what spares a start reading may not have been written
	abandoned []*Dir
	trace     []string
}

func newScenario(t testing.TB, seed uint64, io LogIO) *scenario {
	s := &scenario{t: t, rng: rand.New(rand.NewPCG(seed, 77)), mem: vfs.NewMem(), root: "/data", io: io, cfg: smallConfig(), now: t0, seed: seed}
	s.cfg.SegmentBytes = int32(1000 + s.rng.IntN(8000))
	s.cfg.IndexIntervalBytes = int32(s.rng.IntN(600))
	s.m = &logModel{seq: map[int64]int32{}, pepoch: map[int64]int16{}}
	s.open()
	return s
}

// newDiskScenario works on real files, without a fault layer in between, so
// that a ring is really used.
func newDiskScenario(t testing.TB, seed uint64, io LogIO) *scenario {
	s := newScenario(t, seed, io)
	s.mem, s.root = nil, t.TempDir()+"/data"
	s.open()
	return s
}

func (s *scenario) open() RecoveryReport {
	if s.mem != nil {
		s.fault = vfs.NewFaulty(s.mem)
		s.d = openDir(s.t, s.fault, s.root)
	} else {
		s.fault = nil
		s.d = openDir(s.t, vfs.OS{}, s.root)
	}
	l, rep, err := s.d.OpenLog(testTP, testTopic, s.cfg)
	if err != nil {
		s.fatalf("open: %v", err)
	}
	s.l = l
	return rep
}

func (s *scenario) fatalf(format string, args ...any) {
	s.t.Helper()
	es, _ := s.d.fs.ReadDir(s.l.Path())
	s.note("files: %v; snapshots %v", es, s.l.snapshots)
	tail := s.trace[max(0, len(s.trace)-60):]
	s.t.Fatalf("seed %d: %s\nafter:\n%s", s.seed, fmt.Sprintf(format, args...), strings.Join(tail, "\n"))
}

func (s *scenario) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

func (s *scenario) batch() record.Batch {
	n, size := 1+s.rng.IntN(4), s.rng.IntN(400)
	if s.rng.IntN(30) == 0 {
		size = 3000
	}
	b := record.NewBuilder()
	if s.rng.IntN(2) == 0 {
		id := int64(s.rng.IntN(4))
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, s.m.pepoch[id], s.m.seq[id]
		if s.rng.IntN(20) == 0 {
			b.ProducerEpoch, b.BaseSequence = b.ProducerEpoch+1, 0
		}
	}
	if s.rng.IntN(4) == 0 {
		b.Codec = record.Zstd
	}
	for i := range n {
		s.now += int64(s.rng.IntN(20)) - 5
		b.Add(s.now, fmt.Appendf(nil, "key-%d", i), bytes.Repeat([]byte{byte(s.rng.Uint32())}, size))
	}
	return b.Build()
}

func (s *scenario) append(failing bool) {
	n := 1 + s.rng.IntN(5)
	var staged []record.Batch
	for range n {
		b := s.batch()
		if dup, err := s.l.CheckProducer(b, s.now); dup != nil || err != nil {
			s.fatalf("check of a fresh batch (producer %d epoch %d sequence %d): %v, %v", b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), dup, err)
		}
		base, err := s.l.Stage(b, s.m.epoch, b.MaxTimestamp(), s.now)
		if err != nil {
			s.fatalf("stage: %v", err)
		}
		if want := s.m.end; len(staged) == 0 && base != want {
			s.fatalf("base offset %d, want %d", base, want)
		}
		staged = append(staged, b)
		s.m.note(b)
	}
	if failing {
		s.fault.Inject(s.want())
	}
	errs := Flush(s.io, []*Log{s.l})
	if failing {
		s.fault.Heal()
	}
	if errs != nil {
		if !failing || !errors.Is(errs[0], ErrNoSpace) {
			s.fatalf("flush: %v", errs)
		}
		s.note("append of %d fails", n)
		s.m.cutTo(s.m.end)
		if s.l.EndOffset() != s.m.end {
			s.fatalf("end %d after a failed append, want %d", s.l.EndOffset(), s.m.end)
		}
		return
	}
	s.m.batches = append(s.m.batches, staged...)
	s.m.end = staged[len(staged)-1].LastOffset() + 1
	s.note("append %d batches, end %d", n, s.m.end)
}

// want is what an append may meet for want of room or of descriptors.
func (s *scenario) want() vfs.Rule {
	rules := []vfs.Rule{
		{Op: vfs.OpWrite, Pattern: "*.log", Short: s.rng.IntN(500), After: s.rng.IntN(2), Err: syscall.ENOSPC},
		{Op: vfs.OpOpen, Pattern: "*.log", After: s.rng.IntN(2), Err: syscall.EMFILE},
		{Op: vfs.OpWrite, Pattern: newestName + "*", Err: syscall.ENOSPC},
		{Op: vfs.OpSyncDir, Pattern: testTP.String(), Err: syscall.EMFILE},
		{Op: vfs.OpRemove, Pattern: "*.index", Err: syscall.ENOMEM},
		{Op: vfs.OpWrite, Pattern: "*.index", Err: syscall.ENOSPC},
		{Op: vfs.OpOpen, Pattern: "*.index", Err: syscall.EMFILE},
		{Op: vfs.OpOpen, Err: syscall.EMFILE},
		{Op: vfs.OpWrite, Err: syscall.ENOSPC},
	}
	rule := rules[s.rng.IntN(len(rules))]
	rule.Times = s.rng.IntN(3) // 0: all that the append does
	s.wanted = true
	return rule
}

func (s *scenario) step() {
	switch k := s.rng.IntN(100); {
	case k < 45:
		s.append(false)
	case k < 48:
		s.append(s.fault != nil)
	case k < 65:
		syncLog(s.t, s.io, s.l)
		s.m.synced = s.m.end
		s.note("sync to %d", s.m.synced)
	case k < 72:
		if err := s.d.Checkpoint(); err != nil {
			s.fatalf("checkpoint: %v", err)
		}
		s.note("checkpoint")
	case k < 77:
		cfg := s.cfg
		cfg.RetentionBytes = int64(s.rng.IntN(int(s.l.Size()) + 1))
		if s.rng.IntN(4) == 0 {
			cfg.RetentionMs = 0
		}
		s.l.SetConfig(cfg)
		n, err := s.l.Retain(s.now + 1000)
		if err != nil {
			s.fatalf("retain: %v", err)
		}
		s.l.SetConfig(s.cfg)
		if s.l.StartOffset() < s.m.start {
			s.fatalf("log start fell to %d", s.l.StartOffset())
		}
		s.m.start = s.l.StartOffset()
		s.note("retain: %d segments, start %d", n, s.m.start)
	case k < 80:
		to := s.m.start + s.rng.Int64N(s.m.end-s.m.start+1)
		if s.rng.IntN(4) == 0 {
			to = s.m.start
		}
		if err := s.l.AdvanceStart(to); err != nil {
			s.fatalf("advance start: %v", err)
		}
		s.m.start, s.m.durable = to, to
		s.note("advance start to %d", to)
	case k < 83:
		s.m.epoch++
		s.l.StartEpoch(s.m.epoch)
	case k < 85 && s.m.end > s.m.start:
		syncLog(s.t, s.io, s.l)
		to := s.m.start + s.rng.Int64N(s.m.end-s.m.start+1)
		if err := s.l.TruncateTo(to); err != nil {
			s.fatalf("truncate to %d: %v", to, err)
		}
		s.note("truncate to %d: end %d", to, s.l.EndOffset())
		if s.l.EndOffset() > to {
			s.fatalf("end %d after truncation to %d", s.l.EndOffset(), to)
		}
		s.m.cutTo(s.l.EndOffset())
		s.m.synced = min(s.m.synced, s.m.end)
		s.m.epoch++ // a leader never writes over its own epoch
		// A cut below the oldest snapshot leaves what the log itself says.
		s.verify("after a truncation", true)
	case k < 89:
		s.kill()
	case k < 93:
		s.crash()
	case k < 95:
		s.restart()
	default:
		s.verify("while running", false)
	}
}

func (s *scenario) kill() {
	s.note("kill")
	if s.mem != nil {
		s.leave(s.mem.KillClone())
	} else { // the killed process still holds its files; the next one has a copy
		from := s.root
		s.root = fmt.Sprintf("%s/%d", s.t.TempDir(), len(s.trace))
		if err := copyTree(from, s.root); err != nil {
			s.fatalf("copy: %v", err)
		}
		s.abandoned = append(s.abandoned, s.d)
	}
	s.open()
	s.verify("after a kill", false)
}

// leave goes on in a copy of the file system. What the killed process does in the background
// ends; thousands of histories would otherwise keep all their file systems.
func (s *scenario) leave(mem *vfs.Mem) {
	s.mem = mem
	_ = s.d.Close()
}

// copyTree copies a log directory; what is removed meanwhile is left out.
func copyTree(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	es, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range es {
		src, dst := from+"/"+e.Name(), to+"/"+e.Name()
		if e.IsDir() {
			if err := copyTree(src, dst); err != nil && !os.IsNotExist(err) {
				return err
			}
			continue
		}
		b, err := os.ReadFile(src)
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(dst, b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) crash() {
	if s.mem == nil {
		s.kill()
		return
	}
	s.leave(s.mem.CrashClone(s.rng))
	rep := s.open()
	s.note("power cut: end %d of %d, synced %d; %+v", s.l.EndOffset(), s.m.end, s.m.synced, rep)
	end, start := s.l.EndOffset(), s.l.StartOffset()
	if rep.LostTo > rep.LostFrom {
		s.fatalf("recovery says that %d to %d were lost", rep.LostFrom, rep.LostTo)
	}
	if end < s.m.synced || end > s.m.end {
		s.fatalf("end %d after a power cut, want between %d and %d", end, s.m.synced, s.m.end)
	}
	if start < s.m.durable || start > max(s.m.start, end) {
		s.fatalf("start %d after a power cut, want between %d and %d", start, s.m.durable, s.m.start)
	}
	s.m.start = start
	s.m.cutTo(end)
	s.m.epoch++ // what an unclean stop does
	s.verify("after a power cut", true)
}

func (s *scenario) restart() {
	if err := s.l.Close(); err != nil {
		s.fatalf("close: %v", err)
	}
	if err := s.d.MarkClean(); err != nil {
		s.fatalf("mark clean: %v", err)
	}
	if err := s.d.Close(); err != nil {
		s.fatalf("close directory: %v", err)
	}
	s.note("clean restart")
	s.m.synced = s.m.end
	rep := s.open()
	if !s.d.WasClean() || rep.CheckedBytes > 0 || rep.HeaderBytes > 0 && !s.wanted {
		s.fatalf("clean %v: %+v", s.d.WasClean(), rep)
	}
	s.wanted = false
	s.verify("after a clean restart", false)
}

// verify compares everything that can be read. lossy: producer state that only
// unsynced snapshots held may be missing.
func (s *scenario) verify(when string, lossy bool) {
	if s.l.StartOffset() != s.m.start || s.l.EndOffset() != s.m.end {
		s.fatalf("%s: offsets %d to %d, want %d to %d", when, s.l.StartOffset(), s.l.EndOffset(), s.m.start, s.m.end)
	}
	if s.l.SyncedOffset() > s.m.end {
		s.fatalf("%s: synced %d of %d", when, s.l.SyncedOffset(), s.m.end)
	}
	var want []record.Batch
	for _, b := range s.m.batches {
		if b.LastOffset() >= s.m.start {
			want = append(want, b)
		}
	}
	got := readAll(s.t, s.l, s.m.start, 1+s.rng.IntN(6000))
	if len(got) != len(want) {
		s.fatalf("%s: %d batches, want %d", when, len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			s.fatalf("%s: batch %d at offset %d differs", when, i, want[i].BaseOffset())
		}
	}
	for range 5 {
		if s.m.end > s.m.start {
			s.verifyPlan(when, want)
			s.verifyTime(when, want)
		}
	}
	s.verifyEpochs(when, want)
	s.verifyProducers(when, lossy)
}

func (s *scenario) verifyPlan(when string, want []record.Batch) {
	offset := s.m.start + s.rng.Int64N(s.m.end-s.m.start)
	limit := offset + s.rng.Int64N(s.m.end-offset+1)
	size := s.rng.IntN(5000)
	first := s.rng.IntN(2) == 0
	r, err := s.l.Plan(offset, limit, size, first)
	if err != nil {
		s.fatalf("%s: plan at %d: %v", when, offset, err)
	}
	got := make([]byte, r.N)
	if r.N > 0 {
		if _, err := r.File.ReadAt(got, r.Off); err != nil {
			s.fatalf("%s: read: %v", when, err)
		}
		r.Release()
	}
	var all []byte
	segmentEnd := int64(-1)
	for _, b := range want {
		if b.LastOffset() < offset || b.LastOffset() >= limit || segmentEnd >= 0 && b.BaseOffset() >= segmentEnd {
			continue
		}
		if len(all)+len(b) > size && !(first && len(all) == 0) {
			break
		}
		all = append(all, b...)
		if segmentEnd < 0 {
			segs := s.l.segmentList()
			segmentEnd = segs[segmentOf(segs, b.BaseOffset())].next
		}
	}
	if !bytes.Equal(got, all) {
		s.fatalf("%s: plan(%d, %d, %d, %v) gave %d bytes, want %d", when, offset, limit, size, first, len(got), len(all))
	}
}

func (s *scenario) verifyTime(when string, want []record.Batch) {
	limit := s.m.start + s.rng.Int64N(s.m.end-s.m.start+1)
	ts := s.now - 300 + s.rng.Int64N(400)
	var best, first Found
	haveBest, haveFirst := false, false
	for _, b := range want {
		r, err := record.NewReader(b)
		if err != nil {
			s.fatalf("%v", err)
		}
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			if rec.Offset < s.m.start || rec.Offset >= limit {
				continue
			}
			f := Found{rec.Offset, rec.Timestamp, b.LeaderEpoch()}
			if !haveFirst && rec.Timestamp >= ts {
				first, haveFirst = f, true
			}
			if !haveBest || rec.Timestamp > best.Timestamp {
				best, haveBest = f, true
			}
		}
		r.Close()
	}
	if f, ok, err := s.l.OffsetForTimestamp(ts, limit); err != nil || ok != haveFirst || ok && f != first {
		s.fatalf("%s: first at or after %d below %d: %+v, %v, %v; want %+v, %v", when, ts, limit, f, ok, err, first, haveFirst)
	}
	if f, ok, err := s.l.MaxTimestamp(limit); err != nil || ok != haveBest || ok && f != best {
		s.fatalf("%s: largest timestamp below %d: %+v, %v, %v; want %+v, %v", when, limit, f, ok, err, best, haveBest)
	}
}

func (s *scenario) verifyEpochs(when string, want []record.Batch) {
	for range 3 {
		if len(want) == 0 {
			return
		}
		b := want[s.rng.IntN(len(want))]
		if got := s.l.EpochAt(max(b.BaseOffset(), s.m.start)); got != b.LeaderEpoch() {
			s.fatalf("%s: epoch at %d is %d, want %d", when, b.BaseOffset(), got, b.LeaderEpoch())
		}
		end := s.m.end
		for _, x := range want {
			if x.LeaderEpoch() > b.LeaderEpoch() {
				end = x.BaseOffset()
				break
			}
		}
		if e, o := s.l.EpochEnd(b.LeaderEpoch()); e != b.LeaderEpoch() || o != end {
			s.fatalf("%s: end of epoch %d is %d, %d; want %d", when, b.LeaderEpoch(), e, o, end)
		}
	}
}

func (s *scenario) verifyProducers(when string, lossy bool) {
	known := map[int64]*producer{}
	for id, p := range s.l.producers.byID {
		known[id] = p
	}
	if lossy { // what is forgotten is found out anew
		s.m.hidden = map[int64]bool{}
		s.m.renote()
		for id := range s.m.seq {
			kept := 0
			if p := known[id]; p != nil {
				kept = int(p.n)
			}
			want := s.m.lastFive(id)
			if kept >= len(want) {
				continue
			}
			oldest := want[len(want)-kept-1] // and all before it
			if oldest.BaseOffset() >= s.m.start {
				s.fatalf("%s: producer %d lost the batch at %d, which is in the log", when, id, oldest.BaseOffset())
			}
			for _, b := range s.m.batches {
				if b.ProducerID() == id && b.BaseOffset() <= oldest.BaseOffset() {
					s.m.hidden[b.BaseOffset()] = true
				}
			}
		}
		s.m.renote()
	}
	for id := range s.m.seq {
		want := s.m.lastFive(id)
		p := known[id]
		delete(known, id)
		if p == nil {
			s.fatalf("%s: producer %d is forgotten", when, id)
		}
		if int(p.n) != len(want) {
			s.fatalf("%s: producer %d has %d batches, want %d", when, id, p.n, len(want))
		}
		for i, b := range want {
			m := p.batches[i]
			if m.BaseOffset != b.BaseOffset() || m.FirstSequence != b.BaseSequence() || m.LastSequence != b.LastSequence() {
				s.fatalf("%s: producer %d batch %d is %+v, want offset %d sequence %d", when, id, i, m, b.BaseOffset(), b.BaseSequence())
			}
			if dup, err := s.l.CheckProducer(b, s.now); err != nil || dup == nil || dup.BaseOffset != b.BaseOffset() {
				s.fatalf("%s: repeat of the batch at %d: %+v, %v", when, b.BaseOffset(), dup, err)
			}
		}
	}
	for id := range known {
		s.fatalf("%s: producer %d is known and has no batch", when, id)
	}
}

func TestRandomOperations(t *testing.T) {
	for seed := range histories(150) {
		s := newScenario(t, seed, testIO())
		for range 150 {
			s.step()
		}
		s.kill()
		s.d.Close()
		s.io.Close()
	}
}

func TestRandomOperationsOnDisk(t *testing.T) {
	eachBackend(func(be backend) {
		t.Run(be.name, func(t *testing.T) {
			for seed := range uint64(2) {
				io := be.make()
				s := newDiskScenario(t, 9000+seed, io)
				for range 100 {
					s.step()
				}
				s.kill()
				for _, d := range append(s.abandoned, s.d) {
					d.Close()
				}
				io.Close()
			}
		})
	})
}

func FuzzOperations(f *testing.F) {
	for seed := range uint64(5) {
		f.Add(seed, uint8(100))
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) {
		s := newScenario(t, seed, testIO())
		defer s.io.Close()
		for range steps {
			s.step()
		}
		s.kill()
		s.d.Close()
	})
}
