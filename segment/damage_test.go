package segment

import (
	"bytes"
	"encoding/binary"
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

// tornTails are what a killed or damaged write may have left behind the last
// batch; next is the batch that would have followed, first the log's first.
var tornTails = map[string]func(first, next record.Batch) []byte{
	"nothing":           func(_, _ record.Batch) []byte { return nil },
	"half a batch":      func(_, next record.Batch) []byte { return next[:len(next)*2/3] },
	"half a header":     func(_, next record.Batch) []byte { return next[:20] },
	"zeros":             func(_, _ record.Batch) []byte { return make([]byte, 4096) },
	"an old batch":      func(first, _ record.Batch) []byte { return first },
	"a flipped bit":     func(_, next record.Batch) []byte { b := bytes.Clone(next); b[len(b)-1] ^= 1; return b },
	"endless length":    func(_, next record.Batch) []byte { return withLength(next, 0x7fffff00) },
	"negative length":   func(_, next record.Batch) []byte { return withLength(next, 0xfffffff0) },
	"another magic":     func(_, next record.Batch) []byte { b := bytes.Clone(next); b[16] = 1; return b },
	"zeros, then sound": func(_, next record.Batch) []byte { return append(make([]byte, 100), next...) },
	"a higher offset, then sound": func(_, next record.Batch) []byte {
		b, behind := bytes.Clone(next), bytes.Clone(next)
		b[7] ^= 0x40
		record.Batch(behind).Stamp(next.LastOffset()+1, 0)
		return append(b, behind...)
	},
}

func withLength(b record.Batch, n uint32) []byte {
	c := bytes.Clone(b)
	binary.BigEndian.PutUint32(c[8:], n)
	return c
}

func TestTornTailIsCut(t *testing.T) {
	for name, tail := range tornTails {
		t.Run(name, func(t *testing.T) { cutsTail(t, name, tail, (*vfs.Mem).RebootClone) })
		if !strings.HasSuffix(name, "then sound") { // a kill leaves nothing behind what is torn
			t.Run(name+", after a kill", func(t *testing.T) { cutsTail(t, name, tail, (*vfs.Mem).KillClone) })
		}
	}
}

func cutsTail(t *testing.T, name string, tail func(first, next record.Batch) []byte, clone func(*vfs.Mem) *vfs.Mem) {
	mem, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	var all []record.Batch
	for i := range 5 {
		b := produced(4, 0, int32(3*i), t0, 3)
		all = append(all, b)
		appendAll(t, io, l, 0, b)
	}
	if name == "zeros" { // behind a recovery point, too
		syncLog(t, io, l)
		if err := d.Checkpoint(); err != nil {
			t.Fatal(err)
		}
	}
	next := produced(4, 0, 15, t0, 3)
	next.Stamp(15, 0)
	junk := tail(all[0], next)
	mem = clone(mem)
	path := "/data/orders-3/00000000000000000000.log"
	f, err := mem.OpenFile(path, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	size, _ := f.Size()
	f.WriteAt(junk, size)

	for range 2 { // a second kill changes nothing
		d = openDir(t, mem, "/data")
		var rep RecoveryReport
		l, rep = openLog(t, d, smallConfig())
		if len(junk) > 0 && rep.CutBytes > 0 && (rep.CutFile != path || rep.CutAt != size || rep.CutBytes != int64(len(junk)) || rep.CutReason == "") {
			t.Errorf("report %+v, want a cut of %d bytes at %d", rep, len(junk), size)
		}
		if rep.Damaged() {
			t.Errorf("a torn tail counts as loss: %+v", rep)
		}
		if n, _ := f.Size(); n != size {
			t.Fatalf("the file has %d bytes, want %d", n, size)
		}
		if l.EndOffset() != 15 || len(readAll(t, l, 0, 1<<20)) != 5 {
			t.Fatalf("log end %d", l.EndOffset())
		}
		mem = mem.KillClone()
		f, _ = mem.OpenFile(path, os.O_RDWR)
	}
	if dup, err := l.CheckProducer(all[4], t0); err != nil || dup == nil || dup.BaseOffset != 12 {
		t.Errorf("the last batch again: %+v, %v", dup, err)
	}
	if _, err := l.CheckProducer(produced(4, 0, 18, t0, 3), t0); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("a batch after a gap: %v", err)
	}
	if base := appendAll(t, io, l, 0, next); base != 15 {
		t.Errorf("the next batch is at %d", base)
	}
}

// history is a log of several segments with producers and epochs, closed
// cleanly or killed.
func history(t testing.TB, clean bool) (*vfs.Mem, []record.Batch) {
	mem, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	var all []record.Batch
	for i := range 80 {
		var b record.Batch
		if i%3 == 0 {
			b = produced(int64(i%2), 0, int32(i/6*2), t0+int64(i)*100, 2)
		} else {
			b = batchOf(t0+int64(i)*100, 1+i%3, 150)
		}
		appendAll(t, io, l, int32(i/30), b)
		all = append(all, b)
		if i == 60 {
			syncLog(t, io, l)
			if err := d.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !clean {
		return mem.KillClone(), all
	}
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	return mem, all
}

func allFiles(t testing.TB, mem *vfs.Mem) []string {
	var out []string
	for _, dir := range []string{"/data", "/data/orders-3"} {
		es, err := mem.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			if !e.IsDir {
				out = append(out, dir+"/"+e.Name)
			}
		}
	}
	return out
}

// damage changes one file.
func damage(t testing.TB, mem *vfs.Mem, path string, rng *rand.Rand) string {
	f, err := mem.OpenFile(path, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	size, _ := f.Size()
	switch k := rng.IntN(6); {
	case k == 0 || size == 0:
		junk := make([]byte, 1+rng.IntN(5000))
		for i := range junk {
			junk[i] = byte(rng.Uint32())
		}
		f.WriteAt(junk, size)
		return "appended to"
	case k == 1:
		f.Truncate(rng.Int64N(size))
		return "truncated"
	case k == 2:
		mem.Remove(path)
		return "removed"
	case k == 3:
		junk := bytes.Repeat([]byte{byte(rng.Uint32())}, int(size))
		f.WriteAt(junk, 0)
		return "filled"
	default:
		b := []byte{0}
		at := rng.Int64N(size)
		f.ReadAt(b, at)
		b[0] ^= 1 << rng.IntN(8)
		f.WriteAt(b, at)
		return "flipped"
	}
}

// Whatever is damaged: opening either refuses with an error, or gives a log in
// which every batch that can be read is one that was written, at its offset;
// and damage to what can be rebuilt loses nothing.
func checkDamaged(t testing.TB, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 5))
	mem, all := history(t, rng.IntN(2) == 0)
	files := allFiles(t, mem)
	path := files[rng.IntN(len(files))]
	what := damage(t, mem, path, rng)
	d, err := OpenDir(mem, "/data", testIdent, quiet)
	if err != nil {
		if !strings.HasSuffix(path, identityName) {
			t.Fatalf("seed %d: %s %s: %v", seed, path, what, err)
		}
		return
	}
	defer d.Close()
	l, rep, err := d.OpenLog(testTP, testTopic, smallConfig())
	derived := !strings.HasSuffix(path, logSuffix)
	if err != nil {
		if derived || !errors.Is(err, ErrCorrupt) {
			t.Fatalf("seed %d: %s %s: %v", seed, path, what, err)
		}
		return
	}
	byOffset := make(map[int64]record.Batch)
	for _, b := range all {
		byOffset[b.BaseOffset()] = b
	}
	end := all[len(all)-1].LastOffset() + 1
	if derived && (l.EndOffset() != end || rep.Damaged()) {
		t.Fatalf("seed %d: %s %s: log end %d, want %d; %+v", seed, path, what, l.EndOffset(), end, rep)
	}
	read := 0
	for o := l.StartOffset(); o < l.EndOffset(); {
		r, err := l.Plan(o, l.EndOffset(), 700, true)
		if err != nil {
			if derived || !errors.Is(err, ErrCorrupt) {
				t.Fatalf("seed %d: %s %s: plan at %d: %v", seed, path, what, o, err)
			}
			return
		}
		if r.N == 0 {
			break
		}
		buf := make([]byte, r.N)
		r.File.ReadAt(buf, r.Off)
		r.Release()
		for len(buf) > 0 {
			b, err := record.First(buf)
			if err != nil {
				if derived {
					t.Fatalf("seed %d: %s %s: batch at %d: %v", seed, path, what, o, err)
				}
				return
			}
			// A flipped bit in a closed segment's batch is for the reader's
			// checksum to find; headers that lie about offsets are not sent.
			if want := byOffset[b.BaseOffset()]; !bytes.Equal(b, want) && (derived || b.ChecksumOK() && what != "flipped") {
				t.Fatalf("seed %d: %s %s: batch at %d is not what was written", seed, path, what, b.BaseOffset())
			}
			o = b.LastOffset() + 1
			buf = buf[b.Size():]
			read++
		}
	}
	if derived && read != len(all) {
		t.Fatalf("seed %d: %s %s: %d batches, want %d", seed, path, what, read, len(all))
	}
	if derived {
		for i, b := range all {
			if f, ok, err := l.OffsetForTimestamp(b.MaxTimestamp(), end); err != nil || !ok || f.Timestamp != b.MaxTimestamp() {
				t.Fatalf("seed %d: %s %s: time of batch %d: %+v, %v, %v", seed, path, what, i, f, ok, err)
			}
			if e := l.EpochAt(b.BaseOffset()); e != b.LeaderEpoch() {
				t.Fatalf("seed %d: %s %s: epoch at %d is %d, want %d", seed, path, what, b.BaseOffset(), e, b.LeaderEpoch())
			}
		}
		for id := range int64(2) {
			p := l.producers.byID[id]
			if p == nil || p.n != keptBatches {
				t.Fatalf("seed %d: %s %s: producer %d is %+v", seed, path, what, id, p)
			}
		}
	}
	// And it can go on.
	io := testIO()
	defer io.Close()
	next := l.EndOffset()
	if base := appendAll(t, io, l, 9, batchOf(t0, 1, 10)); base != next {
		t.Fatalf("seed %d: %s %s: append at %d, want %d", seed, path, what, base, next)
	}
	syncLog(t, io, l)
	if err := l.Close(); err != nil {
		t.Fatalf("seed %d: %s %s: close: %v", seed, path, what, err)
	}
}

func TestDamagedFiles(t *testing.T) {
	for seed := range uint64(600) {
		checkDamaged(t, seed)
	}
}

func FuzzRecovery(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { checkDamaged(t, seed) })
}

// Arbitrary bytes as a segment: no panic, no endless loop, and what is
// readable afterwards is sound: all of it after a power cut, which ends the log at the
// first byte that is wrong, and what is not refused after a kill.
func FuzzSegmentBytes(f *testing.F) {
	b := batchOf(t0, 2, 20)
	f.Add([]byte(b), []byte{})
	f.Add(append(bytes.Clone(b), b...), bytes.Repeat([]byte{0xff}, 200))
	f.Add(make([]byte, 100), []byte("RMIX"))
	f.Add(append([]byte{'0', 0, 0, 0, 0}, b[4:]...), []byte{})
	f.Fuzz(func(t *testing.T, data, index []byte) {
		mem := vfs.NewMem()
		openDir(t, mem, "/data").Close()
		mem.MkdirAll("/data/orders-3")
		vfs.WriteFile(mem, "/data/orders-3/"+offsetName(0, logSuffix), data, true)
		vfs.WriteFile(mem, "/data/orders-3/"+offsetName(0, indexSuffix), index, true)
		for _, killed := range []bool{true, false} {
			clone := mem.RebootClone()
			if killed {
				clone = mem.KillClone()
			}
			d := openDir(t, clone, "/data")
			defer d.Close()
			l, _, err := d.OpenLog(testTP, testTopic, smallConfig())
			if err != nil {
				t.Fatal(err)
			}
			if !killed {
				readAll(t, l, 0, 100)
			}
			for o, reads := int64(0), 0; killed && o < l.EndOffset() && reads < 100; reads++ {
				r, err := l.Plan(o, l.EndOffset(), 100, true)
				if o++; err != nil {
					if !errors.Is(err, ErrCorrupt) {
						t.Fatal(err)
					}
					continue
				}
				good, _ := r.Warm()
				for _, b := range bytesOf(t, good) {
					if !b.ChecksumOK() {
						t.Fatalf("batch at %d: wrong checksum", b.BaseOffset())
					}
					o = max(o, b.LastOffset()+1)
				}
				r.Release()
			}
			l.OffsetForTimestamp(0, 1<<40)
			l.MaxTimestamp(1 << 40)
		}
	})
}

func TestFailedSyncIsFinal(t *testing.T) {
	eachBackend(func(be backend) {
		t.Run(be.name, func(t *testing.T) {
			fault := vfs.NewFaulty(vfs.OS{})
			d := openDir(t, fault, t.TempDir()+"/data")
			defer d.Close()
			l, _ := openLog(t, d, smallConfig())
			io := be.make()
			defer io.Close()
			appendAll(t, io, l, 0, batchOf(t0, 1, 10))
			syncLog(t, io, l)
			appendAll(t, io, l, 0, batchOf(t0, 1, 10))
			fault.Inject(vfs.Rule{Op: vfs.OpSync, Times: 1, Err: syscall.EIO})
			files, upTo := l.BeginSync(nil)
			l.EndSync(upTo, false, errors.Join(io.Sync(filesOf(nil, files))...))
			if l.SyncedOffset() != 1 || !errors.Is(l.Err(), ErrStorage) || !errors.Is(l.Err(), syscall.EIO) {
				t.Fatalf("synced %d, %v", l.SyncedOffset(), l.Err())
			}
			if _, err := l.Stage(batchOf(t0, 1, 10), 0, t0, t0); !errors.Is(err, ErrStorage) {
				t.Errorf("append after it: %v", err)
			}
			if files, _ := l.BeginSync(nil); len(files) > 0 {
				t.Error("a second sync is handed out")
			}
			if got := readAll(t, l, 0, 1<<20); len(got) != 2 {
				t.Errorf("%d batches can be read, want 2", len(got))
			}
		})
	})
}

func TestFailedWriteTakesTheLogOffline(t *testing.T) {
	fault := vfs.NewFaulty(vfs.NewMem())
	d := openDir(t, fault, "/data")
	l, _ := openLog(t, d, smallConfig())
	io := testIO()
	defer io.Close()
	appendAll(t, io, l, 0, batchOf(t0, 1, 10))
	other, _, err := d.OpenLog(otherTP, testTopic, smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	fault.Inject(vfs.Rule{Op: vfs.OpWrite, Pattern: "*.log", Times: 1, Err: syscall.EIO})
	for _, x := range []*Log{l, other} {
		if _, err := x.Stage(batchOf(t0, 1, 10), 0, t0, t0); err != nil {
			t.Fatal(err)
		}
	}
	errs := Flush(io, []*Log{l, other})
	if len(errs) != 2 || !errors.Is(errs[0], ErrStorage) || errs[1] != nil {
		t.Fatalf("flush: %v; want the first log alone to fail", errs)
	}
	if l.EndOffset() != 1 || other.EndOffset() != 1 {
		t.Errorf("ends %d and %d", l.EndOffset(), other.EndOffset())
	}
}

func TestDescriptorsRunOutAndComeBack(t *testing.T) {
	fault := vfs.NewFaulty(vfs.NewMem())
	d := openDir(t, fault, "/data")
	l, _ := openLog(t, d, smallConfig())
	io := testIO()
	defer io.Close()
	fault.Inject(vfs.Rule{Op: vfs.OpOpen, Pattern: "*.log", Err: syscall.EMFILE})
	b := produced(1, 0, 0, t0, 2)
	if _, err := l.Stage(b, 0, t0, t0); err != nil {
		t.Fatal(err)
	}
	if errs := Flush(io, []*Log{l}); errs == nil || !errors.Is(errs[0], ErrNoSpace) {
		t.Fatalf("flush without descriptors: %v", errs)
	}
	fault.Heal()
	if dup, err := l.CheckProducer(b, t0); dup != nil || err != nil {
		t.Errorf("the batch that failed is remembered: %+v, %v", dup, err)
	}
	if base := appendAll(t, io, l, 0, b); base != 0 {
		t.Errorf("append at %d", base)
	}
}

// A roll fails after it has made the new segment's file. What is appended next has room in the
// old one, so nothing may be left of the new one: the offsets of its name are the old one's.
func TestNothingIsLeftOfARollThatFailed(t *testing.T) {
	for what, rules := range map[string][]vfs.Rule{
		"the write": {{Op: vfs.OpWrite, Pattern: "*.log", Err: syscall.ENOSPC, Short: 200}},
		"the write, and the removal": {
			{Op: vfs.OpWrite, Pattern: "*.log", Err: syscall.ENOSPC, Short: 200}, {Op: vfs.OpRemove, Pattern: "*.log", Err: syscall.EIO}},
		"the sync of the directory": {{Op: vfs.OpSyncDir, Pattern: testTP.String(), Err: syscall.EMFILE}},
		"the removal of an index":   {{Op: vfs.OpRemove, Pattern: "*.index", Err: syscall.ENOMEM}},
	} {
		mem := vfs.NewMem()
		fault := vfs.NewFaulty(mem)
		l, _ := openLog(t, openDir(t, fault, "/data"), smallConfig())
		io := NewPwritevIO()
		var sent []record.Batch
		for l.active().size < 3000 {
			sent = append(sent, batchOf(t0, 1, 500))
			appendAll(t, io, l, 0, sent[len(sent)-1])
		}
		// Of an earlier life of the name, as a power cut may bring it back.
		if err := vfs.WriteFile(mem, offsetPath(l.Path(), l.EndOffset(), indexSuffix), []byte("old"), false); err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			r.Times = 1
			fault.Inject(r)
		}
		if _, err := l.Stage(batchOf(t0, 1, 2000), 0, t0, t0); err != nil {
			t.Fatal(err)
		}
		if errs := Flush(io, []*Log{l}); errs == nil {
			t.Fatalf("%s: it did not fail", what)
		}
		fault.Heal()
		for range 20 {
			b := batchOf(t0, 1, 300)
			if _, err := l.Stage(b, 0, t0, t0); errors.Is(err, ErrStorage) {
				break // offline: then a start finds what was appended before
			}
			if errs := Flush(io, []*Log{l}); errs != nil {
				t.Errorf("%s: the next append: %v", what, errs)
			}
			sent = append(sent, b)
		}
		l, rep := openLog(t, openDir(t, mem.KillClone(), "/data"), smallConfig())
		if got := readAll(t, l, 0, 1<<20); len(got) != len(sent) || len(rep.SetAside) > 0 {
			t.Errorf("%s: after a kill there are %d batches of %d: %+v", what, len(got), len(sent), rep)
		}
		io.Close()
	}
}

// holding is a batch whose first value is another batch, as a producer may well write.
func holding(inner record.Batch, behind int) record.Batch {
	b := record.NewBuilder()
	b.Add(t0, nil, inner)
	b.Add(t0, nil, make([]byte, behind))
	return b.Build()
}

// A kill tears the last write anywhere, and a value in what is left of it holds a whole
// batch: it is no part of the log. But where a bit of a length is flipped up so that the
// batch passes the end of the file, and nothing is missing, the log does not end.
func TestBatchInATornWriteIsNotTakenUp(t *testing.T) {
	for _, before := range []string{"sound", "damaged"} {
		t.Run("behind a "+before+" batch", func(t *testing.T) { tearsWithInner(t, before == "damaged") })
	}
}

func tearsWithInner(t *testing.T, damaged bool) {
	for _, offset := range []int64{5, 6, 7, 1000000} { // that the inner batch claims
		inner := batchOf(t0, 1, 10)
		inner.Stamp(offset, 0)
		torn := holding(inner, 1000)
		torn.Stamp(5, 0)
		for n := len(inner) + record.HeaderSize; n < len(torn); n += 37 {
			mem, _, l := newMemLog(t)
			io := NewPwritevIO()
			for range 5 {
				appendAll(t, io, l, 0, batchOf(t0, 1, 100))
			}
			syncLog(t, io, l)
			io.Close()
			mem = mem.KillClone()
			f, _ := mem.OpenFile("/data/orders-3/00000000000000000000.log", os.O_RDWR)
			size, _ := f.Size()
			f.WriteAt(torn[:n], size)
			want, cut := int64(5), size
			if damaged { // cut with it, as what is damaged at the very end is
				want, cut = 4, size-size/5
				flip(t, f, size-10, 3)
			}
			l, rep := openLog(t, openDir(t, mem, "/data"), smallConfig())
			if l.EndOffset() != want || rep.CutAt != cut || rep.CutBytes != size+int64(n)-cut {
				t.Errorf("%d bytes of a write, a batch of offset %d in it: the log ends at %d, want %d; %+v", n, offset, l.EndOffset(), want, rep)
			}
		}
	}
}

func TestFlippedLengthIsNoTornWrite(t *testing.T) {
	for _, size := range []int{100, walkWindow} {
		t.Run(fmt.Sprintf("values of %d bytes", size), func(t *testing.T) { flipsLengths(t, size) })
	}
}

func flipsLengths(t *testing.T, value int) {
	cfg := smallConfig()
	cfg.SegmentBytes = 1 << 20
	for bit := range 32 {
		mem, _, l := newMemLog(t)
		io := NewPwritevIO()
		inner := batchOf(t0, 1, 10)
		inner.Stamp(6, 0)
		l.SetConfig(cfg)
		var at int64
		for i := range 10 {
			b := batchOf(t0, 1, value)
			if i == 5 {
				at, b = l.active().size, holding(inner, value)
			}
			appendAll(t, io, l, 0, b)
		}
		syncLog(t, io, l)
		io.Close()
		end := l.EndOffset()
		mem = mem.KillClone()
		f, _ := mem.OpenFile("/data/orders-3/00000000000000000000.log", os.O_RDWR)
		flip(t, f, at+8+int64(3-bit/8), bit%8)
		l, rep := openLog(t, openDir(t, mem, "/data"), cfg)
		if l.EndOffset() != end || rep.CutBytes > 0 {
			t.Errorf("bit %d: the log ends at %d, want %d; %+v", bit, l.EndOffset(), end, rep)
		}
		for o := range end {
			r, err := l.Plan(o, end, 1, true)
			if err != nil {
				if damaged := o == 5 || o == 6; !errors.Is(err, ErrCorrupt) || !damaged {
					t.Errorf("bit %d: read at %d: %v", bit, o, err)
				}
				continue
			}
			good, _ := r.Warm()
			for _, b := range bytesOf(t, good) {
				if len(b) == len(inner) || b.BaseOffset() != o {
					t.Errorf("bit %d: read at %d gives a batch of %d bytes at %d", bit, o, len(b), b.BaseOffset())
				}
			}
			r.Release()
		}
	}
}
