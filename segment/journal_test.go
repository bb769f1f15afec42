package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/record"
)

// many are the logs of one directory with what was appended to them, and a journal
// small enough to be filled over and over.
type many struct {
	t        testing.TB
	rng      *rand.Rand
	mem      *vfs.Mem
	fault    *vfs.Faulty
	d        *Dir
	cfg      Config
	io       LogIO
	journals *Journals
	topics   []model.TopicID
	logs     []*Log
	written  [][]record.Batch // of each log, from offset 0
	durable  []int64          // acknowledged

	mu     sync.Mutex
	failed []*Log
	done   int // commits of files by the journal
}

const manyJournal = 2*24<<10 + 2*journalBlock

func newMany(t testing.TB, seed uint64, logs int) *many {
	m := &many{t: t, rng: rand.New(rand.NewPCG(seed, 5)), mem: vfs.NewMem(), cfg: smallConfig(), io: testIO(), written: make([][]record.Batch, logs), durable: make([]int64, logs)}
	m.topics = slices.Repeat([]model.TopicID{testTopic}, logs)
	m.cfg.SegmentBytes = int32(3000 + m.rng.IntN(20000))
	m.open()
	return m
}

func (m *many) topic(i int) (model.TopicPartition, model.TopicID) {
	return model.TopicPartition{Topic: "orders", Partition: int32(i)}, m.topics[i]
}

func (m *many) open() {
	m.t.Helper()
	m.fault = vfs.NewFaulty(m.mem)
	m.d = openDir(m.t, m.fault, "/data")
	m.journals = NewJournals(JournalConfig{Bytes: manyJournal, Failed: func(l *Log, _ error) {
		m.mu.Lock()
		m.failed = append(m.failed, l)
		m.mu.Unlock()
	}}, slog.New(slog.DiscardHandler))
	m.logs = m.logs[:0]
	for i := range m.written {
		tp, id := m.topic(i)
		l, _, err := m.d.OpenLog(tp, id, m.cfg)
		if err != nil {
			m.t.Fatal(err)
		}
		m.logs = append(m.logs, l)
	}
}

// ready waits until the journal was made.
func (m *many) ready() {
	for _, d := range m.journals.dirs {
		d.work.Wait()
	}
}

// hasFailed: a sync of the log's files behind the journal has failed, which every later
// one of the same file is told too.
func (m *many) hasFailed(l *Log) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.failed, l)
}

// round appends to some logs and makes all durable as a syncer does.
func (m *many) round(share float64) {
	m.t.Helper()
	var touched []*Log
	for i, l := range m.logs {
		if m.rng.Float64() > share || m.hasFailed(l) {
			continue
		}
		b := batchOf(t0+int64(m.rng.IntN(1000)), 1+m.rng.IntN(3), m.rng.IntN(300))
		if _, err := l.Stage(b, 0, t0, t0); err != nil {
			m.t.Fatal(err)
		}
		m.written[i] = append(m.written[i], b)
		touched = append(touched, l)
	}
	if len(touched) == 0 {
		return
	}
	if errs := Flush(m.io, touched); errs != nil {
		m.t.Fatal(errs)
	}
	m.sync()
}

func (m *many) sync() {
	m.t.Helper()
	var all []Dirty
	var owner []int
	upTo := map[int]int64{}
	for i, l := range m.logs {
		before := len(all)
		var to int64
		if all, to = l.BeginSync(all); len(all) > before {
			upTo[i] = to
		}
		for range len(all) - before {
			owner = append(owner, i)
		}
	}
	var small []Dirty
	place := map[int]int{}
	for k := range all {
		if all[k].Small() {
			place[k] = len(small)
			small = append(small, all[k])
		}
	}
	done := m.journals.Commit(small, 0)
	var rest []*File
	var of []int
	journaled := map[int]bool{}
	for k := range all {
		if at, ok := place[k]; ok && done != nil && done[at] {
			journaled[owner[k]] = true
			m.done++
		} else {
			rest, of = append(rest, all[k].File), append(of, owner[k])
		}
	}
	failed := map[int]error{}
	for k, err := range m.io.Sync(rest) {
		if err == nil {
			continue
		}
		if !m.hasFailed(m.logs[of[k]]) {
			m.t.Fatal(err)
		}
		failed[of[k]] = err
	}
	for i, to := range upTo {
		m.logs[i].EndSync(to, journaled[i], failed[i])
		if failed[i] != nil {
			continue
		}
		m.durable[i] = m.logs[i].SyncedOffset()
		if m.durable[i] != m.logs[i].EndOffset() {
			m.t.Fatalf("log %d: durable to %d of %d", i, m.durable[i], m.logs[i].EndOffset())
		}
	}
}

// check compares the logs with what was written: a prefix with all that was
// acknowledged.
func (m *many) check() {
	m.t.Helper()
	for i, l := range m.logs {
		if l.EndOffset() < m.durable[i] {
			m.t.Fatalf("log %d ends at %d, %d was acknowledged", i, l.EndOffset(), m.durable[i])
		}
		got := readAll(m.t, l, 0, 1<<20)
		if len(got) > len(m.written[i]) {
			m.t.Fatalf("log %d has %d batches, %d were written", i, len(got), len(m.written[i]))
		}
		for k, b := range got {
			if !b.ChecksumOK() || string(b[21:]) != string(m.written[i][k][21:]) {
				m.t.Fatalf("log %d: batch %d of %d (of %d) is not what was written: %v, want %v; %d segments", i, k, len(got), len(m.written[i]), b, m.written[i][k], len(l.segs))
			}
		}
		m.written[i] = m.written[i][:len(got)]
		m.durable[i] = l.EndOffset()
	}
}

// TestJournalSurvivesPowerCuts: whatever the cut leaves of files and journal, what was
// acknowledged is there, several cuts in a row.
func TestJournalSurvivesPowerCuts(t *testing.T) {
	runs, done := histories(150), 0
	for seed := range runs {
		m := newMany(t, seed, 4+int(seed%12))
		for range 1 + m.rng.IntN(3) {
			m.round(1) // new files are synced themselves
			m.round(1) // asks for the journal
			m.ready()
			for range 5 + m.rng.IntN(60) {
				m.round(0.2 + 0.8*m.rng.Float64())
				if m.rng.IntN(8) == 0 {
					if err := m.d.Checkpoint(); err != nil {
						t.Fatal(err)
					}
				}
			}
			// What the last process had not synced itself is cut away or torn; the
			// clone is made while its background work is under way.
			before := m.mem.CrashClone(m.rng)
			m.journals.Close()
			m.mem = before
			m.open()
			m.check()
			for m.rng.IntN(3) == 0 { // and again, while what was replayed is being synced
				before := m.mem.CrashClone(m.rng)
				m.journals.Close()
				m.mem = before
				m.open()
				m.check()
			}
		}
		done += m.done
		m.journals.Close()
	}
	if done < int(runs) {
		t.Errorf("only %d files went through a journal", done)
	}
}

// TestJournalTurns: both halves are filled many times, and the recovery points follow.
func TestJournalTurns(t *testing.T) {
	m := newMany(t, 1, 8)
	m.round(1)
	m.round(1)
	m.ready()
	for range 400 {
		m.round(1)
		m.ready() // the half behind is in its files
	}
	if g := m.journals.dirs["/data"].file.generation; g < 5 {
		t.Errorf("generation %d: the halves did not turn", g)
	}
	if m.done < 300*8 {
		t.Errorf("%d files went through the journal", m.done)
	}
	for i, l := range m.logs {
		l.mu.Lock()
		p := l.point.offset
		l.mu.Unlock()
		if p == 0 || p > l.EndOffset() {
			t.Errorf("log %d: recovery point %d of %d", i, p, l.EndOffset())
		}
	}
	m.journals.Close()
	for i, l := range m.logs {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l.point.offset != l.EndOffset() {
			t.Errorf("log %d: closed with recovery point %d of %d", i, l.point.offset, l.EndOffset())
		}
	}
	if err := m.d.MarkClean(); err != nil {
		t.Fatal(err)
	}
	if err := m.d.Close(); err != nil {
		t.Fatal(err)
	}
	m.open()
	m.check()
	if err := m.d.settled(); err != nil {
		t.Fatal(err)
	}
	for _, e := range must(m.mem.ReadDir("/data")) {
		if strings.HasPrefix(e.Name, journalPrefix) {
			t.Errorf("%s is still there after a clean start", e.Name)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestReplayIntoAnotherFile: after a kill two logs' files have changed places, the newest ones,
// of which nothing but a journal knows. Neither is served, and neither is written to.
func TestReplayIntoAnotherFile(t *testing.T) {
	for seed := range uint64(20) {
		m := newMany(t, seed, 6)
		m.cfg.SegmentBytes = 1 << 20
		for i := range m.logs {
			m.logs[i].SetConfig(m.cfg)
		}
		m.round(1)
		m.round(1)
		m.ready()
		for range 1 + seed%4 {
			m.round(1)
		}
		a, b := offsetPath("/data/orders-1", 0, logSuffix), offsetPath("/data/orders-4", 0, logSuffix)
		m.mem = m.mem.KillClone()
		for _, move := range [][2]string{{a, "/data/x"}, {b, a}, {"/data/x", b}} {
			if err := m.mem.Rename(move[0], move[1]); err != nil {
				t.Fatal(err)
			}
		}
		before := [][]byte{must(vfs.ReadFile(m.mem, a)), must(vfs.ReadFile(m.mem, b))}
		for start := range 2 { // at the second the journal is gone
			d := openDir(t, m.mem, "/data")
			for i := range m.logs {
				tp, id := m.topic(i)
				l, _, err := d.OpenLog(tp, id, m.cfg)
				var damage *DamageError
				if exchanged := i == 1 || i == 4; exchanged != errors.As(err, &damage) {
					t.Fatalf("seed %d, start %d: %v is opened: %v", seed, start, tp, err)
				} else if !exchanged && l.EndOffset() != m.logs[i].EndOffset() {
					t.Fatalf("seed %d, start %d: %v ends at %d, want %d", seed, start, tp, l.EndOffset(), m.logs[i].EndOffset())
				}
			}
			if !bytes.Equal(before[0], must(vfs.ReadFile(m.mem, a))) || !bytes.Equal(before[1], must(vfs.ReadFile(m.mem, b))) {
				t.Errorf("seed %d, start %d: a file was written to", seed, start)
			}
			d.Close()
			m.mem = m.mem.KillClone()
		}
	}
}

// TestReplayMendsDamage: what a hand did to a file after a kill is no other partition's file,
// and a journal that has the bytes mends it.
func TestReplayMendsDamage(t *testing.T) {
	last := func(file []byte) int { // of its batches
		at := 0
		for at+record.Batch(file[at:]).Size() < len(file) {
			at += record.Batch(file[at:]).Size()
		}
		return at
	}
	for name, damage := range map[string]func([]byte) []byte{
		"cut":          func(file []byte) []byte { return file[:last(file)+5] },
		"cut off":      func(file []byte) []byte { return file[:last(file)] },
		"flipped":      func(file []byte) []byte { file[last(file)+70] ^= 4; return file },
		"zeroed":       func(file []byte) []byte { clear(file[last(file):]); return file },
		"offset":       func(file []byte) []byte { file[last(file)+6] ^= 1; return file },
		"leader epoch": func(file []byte) []byte { file[last(file)+14] ^= 1; return file },
		"length":       func(file []byte) []byte { file[last(file)+11] ^= 1; return file },
	} {
		m := newMany(t, 9, 6)
		m.cfg.SegmentBytes = 1 << 20
		for _, l := range m.logs {
			l.SetConfig(m.cfg)
		}
		m.round(1)
		m.round(1)
		m.ready()
		for range 3 {
			m.round(1)
		}
		m.mem = m.mem.KillClone()
		path := offsetPath("/data/orders-2", 0, logSuffix)
		before := must(vfs.ReadFile(m.mem, path))
		if err := vfs.WriteFile(m.mem, path, damage(slices.Clone(before)), true); err != nil {
			t.Fatal(err)
		}
		m.open()
		m.check()
		if after := must(vfs.ReadFile(m.mem, path)); !bytes.Equal(before, after) {
			t.Errorf("%s: %d bytes of %d are not as they were", name, len(after), len(before))
		}
	}
}

// readCounter is a file that counts how often it is read.
type readCounter struct {
	vfs.File
	reads int
}

func (f *readCounter) ReadAt(p []byte, at int64) (int, error) {
	f.reads++
	return f.File.ReadAt(p, at)
}

// TestReplayWalksAFileOnce: however many entries find damage in their place, the batches
// before them are not read for each anew.
func TestReplayWalksAFileOnce(t *testing.T) {
	const batches = 4000
	one := batchOf(t0, 1, 10)
	mem := vfs.NewMem()
	file := append(bytes.Repeat(one, batches/2), make([]byte, batches/2*len(one))...)
	if err := vfs.WriteFile(mem, "/log", file, true); err != nil {
		t.Fatal(err)
	}
	f := &readCounter{File: must(mem.OpenFile("/log", os.O_RDWR))}
	r := &replay{walked: map[string]int64{}, strange: map[string]*DamageError{}}
	for i := batches / 2; i < batches; i++ {
		if there := must(r.there(f, "/log", &entryRead{pos: int64(i * len(one)), bytes: one})); there {
			t.Fatalf("entry %d is taken to be there", i)
		}
	}
	if most := 5 * batches / 2; f.reads > most {
		t.Errorf("%d reads, want at most %d", f.reads, most)
	}
}

// TestReplayOfTopicsOfOneName: a topic is deleted and made again under its name, and the
// journals hold records of both, those of the earlier one first or last. The later one gets
// what is its own, and nothing else.
func TestReplayOfTopicsOfOneName(t *testing.T) {
	for _, shards := range [][2]int{{0, 1}, {1, 0}} { // the journals are replayed in this order
		for seed := range uint64(20) {
			m := newMany(t, seed, 6)
			m.cfg.SegmentBytes = 1 << 20
			ids := []model.TopicID{testTopic, {9, 9}}
			for life, shard := range shards {
				m.journals = NewJournals(JournalConfig{Bytes: manyJournal, Shard: shard}, slog.New(slog.DiscardHandler))
				for i, l := range m.logs {
					if life > 0 {
						if err := l.Delete(); err != nil {
							t.Fatal(err)
						}
						var err error
						if l, _, err = m.d.OpenLog(l.tp, ids[life], m.cfg); err != nil {
							t.Fatal(err)
						}
					}
					l.SetConfig(m.cfg)
					m.logs[i], m.written[i], m.durable[i] = l, nil, 0
				}
				m.round(1)
				m.round(1)
				m.ready()
				m.done = 0
				for range 3 {
					m.round(1)
				}
				if m.done == 0 {
					t.Fatal("nothing went through the journal")
				}
			}
			for what, fsys := range map[string]*vfs.Mem{"kill": m.mem.KillClone(), "power cut": m.mem.CrashClone(m.rng)} {
				d := openDir(t, fsys, "/data")
				for i := range m.logs {
					tp, _ := m.topic(i)
					l, _, err := d.OpenLog(tp, ids[1], m.cfg)
					if err != nil {
						t.Fatalf("shards %v, seed %d, after a %s: %v", shards, seed, what, err)
					}
					got := readAll(t, l, 0, 1<<20)
					if len(got) != len(m.written[i]) {
						t.Fatalf("shards %v, seed %d, after a %s: %v has %d batches, %d were acknowledged", shards, seed, what, tp, len(got), len(m.written[i]))
					}
					for k, b := range got {
						if string(b[21:]) != string(m.written[i][k][21:]) {
							t.Fatalf("shards %v, seed %d, after a %s: batch %d of %v is not what was written", shards, seed, what, k, tp)
						}
					}
				}
			}
		}
	}
}

// TestReplayPassesOver: entries of topics that are gone or were made anew, of segments
// that retention took, and of bytes that their file has had synced itself change
// nothing.
func TestReplayPassesOver(t *testing.T) {
	m := newMany(t, 3, 6)
	for _, l := range m.logs {
		l.cfg.SegmentBytes = 1 << 20
	}
	m.round(1)
	m.round(1)
	m.ready()
	m.round(1)
	if m.done == 0 {
		t.Fatal("nothing went through the journal")
	}
	killed := m.mem.KillClone()
	m.journals.Close()

	// Log 0 is another topic's now, log 1 has lost its segment, log 2 is known to be
	// synced, log 3 to be cleaned, and both hold something else since.
	fsys := killed
	dir := func(i int) string { tp, _ := m.topic(i); return filepath.Join("/data", tp.String()) }
	if err := fsys.RemoveAll(dir(0)); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Remove(offsetPath(dir(1), 0, logSuffix)); err != nil {
		t.Fatal(err)
	}
	points, err := openCheckpoint(fsys, filepath.Join("/data", pointsName), 1, quiet)
	if err != nil {
		t.Fatal(err)
	}
	l := m.logs[2]
	if err := points.put([]pointKey{l.key()}, []point{l.pointNow()}); err != nil {
		t.Fatal(err)
	}
	points.close()
	cleaned, err := openCheckpoint(fsys, filepath.Join("/data", cleanedName), 3, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := cleaned.put([]pointKey{m.logs[3].key()}, []point{{offset: 1}}); err != nil {
		t.Fatal(err)
	}
	cleaned.close()
	changed := map[string][]byte{}
	for _, i := range []int{2, 3} {
		path := offsetPath(dir(i), 0, logSuffix)
		changed[path] = append([]byte("cleaned"), must(vfs.ReadFile(fsys, path))[7:]...)
		clear(changed[path][len(changed[path])-60:])
		if err := vfs.WriteFile(fsys, path, changed[path], true); err != nil {
			t.Fatal(err)
		}
	}
	d, err := OpenDir(fsys, "/data", testIdent, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, path := range []string{dir(0), offsetPath(dir(1), 0, logSuffix)} {
		if ok, _ := vfs.Exists(fsys, path); ok {
			t.Errorf("%s was made by the replay", path)
		}
	}
	for path, want := range changed {
		if got := must(vfs.ReadFile(fsys, path)); !bytes.Equal(got, want) {
			t.Errorf("%s was synced itself, and was written over", path)
		}
	}
}

// TestSyncBehindJournalFails: the log is said to have failed, the half that has the only
// good copy is not written over, others go on.
func TestSyncBehindJournalFails(t *testing.T) {
	m := newMany(t, 7, 6)
	for _, l := range m.logs {
		l.cfg.SegmentBytes = 1 << 20
	}
	m.round(1)
	m.round(1)
	m.ready()
	m.round(1)
	if m.done == 0 {
		t.Fatal("nothing went through the journal")
	}
	j := m.journals.dirs["/data"]
	first := j.file.generation
	m.fault.Inject(vfs.Rule{Op: vfs.OpSync, Pattern: "0*.log", Times: 1, Err: syscall.EIO})
	for j.file.generation == first {
		m.round(1)
	}
	m.ready()
	m.mu.Lock()
	failed := len(m.failed)
	m.mu.Unlock()
	if failed != 1 {
		t.Fatalf("%d logs were said to have failed, want 1", failed)
	}
	generation := j.file.generation
	for range 200 {
		m.round(1)
		m.ready()
	}
	if j.file.generation > generation {
		t.Errorf("generation %d: the half with the only good copy was filled again", j.file.generation)
	}
	before := m.mem.CrashClone(m.rng)
	m.journals.Close()
	m.mem = before
	m.open()
	m.check()
	m.journals.Close()
}

// TestJournalIsKept while files that were written from it cannot be synced: the start
// goes on, and the next one replays it again.
func TestJournalIsKept(t *testing.T) {
	m := newMany(t, 15, 6)
	m.round(1)
	m.round(1)
	m.ready()
	m.round(1)
	before := m.mem.CrashClone(m.rng)
	m.journals.Close()
	m.mem = before
	for range 3 {
		m.fault = vfs.NewFaulty(m.mem)
		m.fault.Inject(vfs.Rule{Op: vfs.OpSync, Pattern: "0*.log", Times: 1, Err: syscall.EIO})
		d := openDir(t, m.fault, "/data")
		if err := d.settled(); !errors.Is(err, syscall.EIO) {
			t.Fatalf("settled: %v", err)
		}
		kept := 0
		for _, e := range must(m.mem.ReadDir("/data")) {
			if strings.HasSuffix(e.Name, keptSuffix) {
				kept++
			}
		}
		if kept != 1 {
			t.Fatalf("%d journals are kept", kept)
		}
		d.Close()
	}
	m.mem = m.mem.CrashClone(m.rng)
	m.open()
	m.check()
	m.journals.Close()
}

// TestJournalThatCannotBeMade leaves the work to syncs of the files.
func TestJournalThatCannotBeMade(t *testing.T) {
	for name, rule := range map[string]vfs.Rule{
		"no space": {Op: vfs.OpWrite, Pattern: journalPrefix + "*", After: 1, Err: syscall.ENOSPC},
		"sync":     {Op: vfs.OpSync, Pattern: journalPrefix + "*", Err: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMany(t, 9, 6)
			m.fault.Inject(rule)
			for range 20 {
				m.round(1)
				m.ready()
			}
			if m.done > 0 {
				t.Errorf("%d files went through a journal that was not made", m.done)
			}
			for _, e := range must(m.mem.ReadDir("/data")) {
				if strings.HasPrefix(e.Name, journalPrefix) {
					t.Errorf("%s was left behind", e.Name)
				}
			}
			m.check()
			m.journals.Close()
		})
	}
}

// TestJournalFails in the middle: what was acknowledged before and after is there.
func TestJournalFails(t *testing.T) {
	m := newMany(t, 11, 6)
	m.round(1)
	m.round(1)
	m.ready()
	m.round(1)
	m.fault.Inject(vfs.Rule{Op: vfs.OpSync, Pattern: journalPrefix + "*", Times: 1, Err: syscall.EIO})
	done := m.done
	for range 10 {
		m.round(1)
	}
	if m.done > done {
		t.Errorf("a journal whose sync has failed was used again")
	}
	before := m.mem.CrashClone(m.rng)
	m.journals.Close()
	m.mem = before
	m.open()
	m.check()
	m.journals.Close()
}

// TestJournalFileDamaged: any change to the file leads to a start that serves nothing
// wrong, and a file of a newer format is refused.
func TestJournalFileDamaged(t *testing.T) {
	m := newMany(t, 13, 6)
	m.round(1)
	m.round(1)
	m.ready()
	for range 10 {
		m.round(1)
	}
	killed := m.mem.KillClone()
	m.journals.Close()
	path := journalPath("/data", 0)
	whole := must(vfs.ReadFile(killed, path))
	for range 200 {
		fsys := killed.KillClone()
		b := append([]byte(nil), whole...)
		switch m.rng.IntN(3) {
		case 0:
			b[m.rng.IntN(len(b))] ^= 1 << m.rng.IntN(8)
		case 1:
			b = b[:m.rng.IntN(len(b))]
		case 2:
			at := m.rng.IntN(len(b))
			clear(b[at:min(len(b), at+m.rng.IntN(8192))])
		}
		if err := vfs.WriteFile(fsys, path, b, true); err != nil {
			t.Fatal(err)
		}
		d, err := OpenDir(fsys, "/data", testIdent, quiet)
		if err != nil {
			if errors.Is(err, ErrNewer) {
				continue // the flipped bit is that of the version: it is within the checksum, so never
			}
			t.Fatal(err)
		}
		for i := range m.written {
			tp, id := m.topic(i)
			l, _, err := d.OpenLog(tp, id, m.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, l, 0, 1<<20); len(got) != len(m.written[i]) {
				t.Fatalf("log %d: %d batches of %d after a kill, whose files had everything", i, len(got), len(m.written[i]))
			}
		}
	}
	newer := append([]byte(nil), journalHead(journalBlock)...)
	newer[4]++
	newer = append(seal(newer), make([]byte, 2*journalBlock)...)
	if err := vfs.WriteFile(killed, path, newer, true); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDir(killed, "/data", testIdent, quiet); !errors.Is(err, ErrNewer) {
		t.Errorf("a journal of a newer format: %v", err)
	}
}

// seal computes the checksum of a head anew.
func seal(head []byte) []byte {
	binary.LittleEndian.PutUint32(head[16:], crc32.Checksum(head[:16], castagnoli))
	return head
}

// TestJournalFormat reads a journal that is written here field by field, as
// docs/format/journal.md has it: it must be readable for ever.
func TestJournalFormat(t *testing.T) {
	le := binary.LittleEndian
	head := make([]byte, 4096)
	copy(head, "RMJF\x01\x00")
	le.PutUint64(head[8:], 8192)
	le.PutUint32(head[16:], crc32.Checksum(head[:16], castagnoli))

	batch := []byte("bytes of the log")
	body := append([]byte{}, testTopic[:]...)
	body = le.AppendUint32(body, 3)
	body = le.AppendUint32(body, uint32(len(batch)))
	body = le.AppendUint64(body, 700)
	body = le.AppendUint32(body, 42)
	body = le.AppendUint32(body, uint32(len("orders")))
	body = append(append(body, "orders"...), batch...)
	commit := make([]byte, 40)
	copy(commit, "RMJC")
	le.PutUint64(commit[8:], 9) // generation
	le.PutUint32(commit[24:], 1)
	le.PutUint32(commit[28:], uint32(len(commit)+len(body)))
	le.PutUint32(commit[32:], crc32.Checksum(body, castagnoli))
	le.PutUint32(commit[36:], crc32.Checksum(commit[:36], castagnoli))
	file := append(append(head, commit...), body...)
	file = append(file, make([]byte, 4096+2*8192-len(file))...)

	half, err := readJournalHead(file)
	if err != nil || half != 8192 {
		t.Fatalf("a half of %d bytes, %v", half, err)
	}
	fsys := vfs.NewMem()
	if err := vfs.WriteFile(fsys, "/j", file, true); err != nil {
		t.Fatal(err)
	}
	h := halfReader{file: must(fsys.OpenFile("/j", 0)), at: 4096, end: 4096 + half}
	c, ok, err := h.next()
	if err != nil || !ok || c.generation != 9 || len(c.entries) != 1 {
		t.Fatalf("%+v, %v, %v", c, ok, err)
	}
	if e := c.entries[0]; e.topic != testTopic || e.tp != testTP || e.base != 700 || e.pos != 42 || string(e.bytes) != string(batch) {
		t.Errorf("%+v", e)
	}
	if _, ok, err := h.next(); ok || err != nil {
		t.Errorf("a second commit: %v, %v", ok, err)
	}
}

// A group commit allocates nothing of its own once it has found its size.
func TestJournalCommitReusesItsMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	d := openDir(t, vfs.OS{}, t.TempDir()+"/data")
	defer d.Close()
	io := testIO()
	defer io.Close()
	journals := NewJournals(JournalConfig{Bytes: 8 << 20, Failed: func(l *Log, err error) { t.Error(l.tp, err) }}, quiet)
	logs := make([]*Log, 2*journalFiles)
	for i := range logs {
		l, _, err := d.OpenLog(model.TopicPartition{Topic: "many", Partition: int32(i)}, testTopic, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		logs[i] = l
		appendAll(t, io, l, 1, batchOf(t0, 1, 100))
		syncLog(t, io, l) // a new file is synced itself
	}
	var before, after runtime.MemStats
	allocated, measured := uint64(0), 0
	for round := 0; measured < 50; round++ {
		var ds []Dirty
		upTo := make([]int64, len(logs))
		for i, l := range logs {
			appendAll(t, io, l, 1, batchOf(t0, 1, 100))
			ds, upTo[i] = l.BeginSync(ds)
		}
		runtime.ReadMemStats(&before)
		done := journals.Commit(ds, 0)
		runtime.ReadMemStats(&after)
		if done != nil {
			if measured++; measured > 5 {
				allocated += after.Mallocs - before.Mallocs
			}
		} else if round > 10_000 {
			t.Fatal("the journal is not used")
		}
		for i, l := range logs {
			var err error
			if done == nil {
				err = errors.Join(io.Sync(filesOf(nil, ds[i:i+1]))...)
			} else if !done[i] {
				t.Fatalf("%v was not committed", l.tp)
			}
			l.EndSync(upTo[i], done != nil, err)
		}
	}
	if allocated > 45*2 {
		t.Errorf("%d allocations in 45 commits of %d logs", allocated, len(logs))
	}
	journals.Close()
	for _, l := range logs {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
