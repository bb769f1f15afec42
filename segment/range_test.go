package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// oldLog is a log that an earlier process wrote, closed cleanly and opened
// again: nothing of it is known to be sound.
func oldLog(t testing.TB, damage func(f vfs.File, batches []record.Batch), batches ...record.Batch) (*Log, LogIO) {
	t.Helper()
	mem, d, l := newMemLog(t)
	cfg := DefaultConfig()
	l.SetConfig(cfg)
	io := NewPwritevIO()
	t.Cleanup(func() { io.Close() })
	for _, b := range batches {
		appendAll(t, io, l, 0, b)
	}
	syncLog(t, io, l)
	if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	if damage != nil {
		f, err := mem.OpenFile("/data/orders-3/00000000000000000000.log", os.O_RDWR)
		if err != nil {
			t.Fatal(err)
		}
		damage(f, batches)
	}
	d = openDir(t, mem, "/data")
	l, _ = openLog(t, d, cfg)
	return l, io
}

// flip changes one bit of a file.
func flip(t testing.TB, f vfs.File, at int64, bit int) {
	t.Helper()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << bit
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

func plan(t testing.TB, l *Log, offset int64, maxBytes int) Range {
	t.Helper()
	r, err := l.Plan(offset, l.EndOffset(), maxBytes, true)
	if err != nil {
		t.Fatalf("plan at %d: %v", offset, err)
	}
	return r
}

func TestWarmChecksWhatAnEarlierProcessWrote(t *testing.T) {
	l, io := oldLog(t, nil, batchOf(t0, 1, 10), batchOf(t0, 1, 10), batchOf(t0, 1, 10))
	first := plan(t, l, 0, 10) // one batch
	middle := plan(t, l, 1, 10)
	all := plan(t, l, 0, 1<<20)
	for name, r := range map[string]Range{"first": first, "middle": middle, "all": all} {
		if r.Ready() {
			t.Errorf("%s: believed without a look", name)
		}
	}
	warm := func(r Range) {
		t.Helper()
		if good, err := r.Warm(); err != nil || good != r {
			t.Fatalf("%+v, %v; want %+v", good, err, r)
		}
		if !r.Ready() {
			t.Error("not known after the look")
		}
	}
	warm(middle)
	if first.Ready() || all.Ready() {
		t.Error("what was not read is known")
	}
	warm(first)
	if all.Ready() {
		t.Error("the last batch is known, and was not read")
	}
	warm(all)
	if got := l.active().file.sound.from.Load(); got != 0 {
		t.Errorf("all was read, and what lies before %d is still not known", got)
	}
	appendAll(t, io, l, 0, batchOf(t0, 1, 10))
	tail := plan(t, l, 3, 1<<20)
	if !tail.Ready() {
		t.Error("what this process wrote is to be checked")
	}
	for _, r := range []Range{first, middle, all, tail} {
		r.Release()
	}
}

// Every single bit of a batch, wherever it lies: the batch is not sent, those
// before it are, and those behind it can be read.
func TestFlippedBitIsNeverSent(t *testing.T) {
	batches := []record.Batch{batchOf(t0, 2, 20), batchOf(t0, 1, 10), batchOf(t0, 3, 5)}
	from := int64(len(batches[0]))
	for at := range int64(len(batches[1])) {
		bit := int(at % 8)
		l, _ := oldLog(t, func(f vfs.File, _ []record.Batch) { flip(t, f, from+at, bit) }, cloned(batches)...)
		for offset := range int64(6) {
			r, err := l.Plan(offset, 6, 1<<20, true)
			if err == nil {
				var good Range
				good, err = r.Warm()
				for _, b := range bytesOf(t, good) {
					switch {
					case at >= 12 && at < 16 && b.BaseOffset() == 2: // the leader epoch has no checksum
					case b.BaseOffset() == 0 && bytes.Equal(b, stamped(batches[0], 0)):
					case b.BaseOffset() == 3 && bytes.Equal(b, stamped(batches[2], 3)):
					default:
						t.Fatalf("bit %d of byte %d, read at %d: batch %d is sent", bit, at, offset, b.BaseOffset())
					}
				}
				if offset < 2 && at >= 8 && good.N < int(from) { // flipped offsets blame both neighbours
					t.Errorf("bit %d of byte %d, read at %d: the batch before is not sent: %v", bit, at, offset, err)
				}
				if offset >= 3 && good.N == 0 && at >= 8 && at >= 12 && at < 23 {
					t.Errorf("bit %d of byte %d, read at %d: the batch behind is not sent: %v", bit, at, offset, err)
				}
				r.Release()
			}
			var d *DamageError
			if err != nil && (!errors.As(err, &d) || !errors.Is(err, ErrCorrupt) || d.File == "" || d.Position > int64(len(batches[0])+len(batches[1])+len(batches[2]))) {
				t.Errorf("bit %d of byte %d, read at %d: %v", bit, at, offset, err)
			}
		}
		l.Close()
	}
}

func cloned(bs []record.Batch) (out []record.Batch) {
	for _, b := range bs {
		out = append(out, bytes.Clone(b))
	}
	return out
}

func stamped(b record.Batch, offset int64) record.Batch {
	c := record.Batch(bytes.Clone(b))
	c.Stamp(offset, 0)
	return c
}

func bytesOf(t testing.TB, r Range) (out []record.Batch) {
	t.Helper()
	b := make([]byte, r.N)
	if r.N > 0 {
		if _, err := r.File.ReadAt(b, r.Off); err != nil {
			t.Fatal(err)
		}
	}
	for len(b) > 0 {
		one, err := record.First(b)
		if err != nil {
			t.Fatal(err)
		}
		out, b = append(out, one), b[one.Size():]
	}
	return out
}

// Batches of all sizes pass through a buffer that is smaller than some.
func TestWarmOfBatchesLargerThanItsBuffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var batches []record.Batch
	for range 12 {
		batches = append(batches, batchOf(t0, 1+rng.IntN(3), rng.IntN(warmChunk)))
	}
	batches = append(batches, batchOf(t0, 1, 3*warmChunk), batchOf(t0, 1, 1))
	total := 0
	for _, b := range batches {
		total += len(b)
	}
	l, _ := oldLog(t, nil, cloned(batches)...)
	r := plan(t, l, 0, 1<<30)
	if good, err := r.Warm(); err != nil || good.N != total {
		t.Errorf("%d of %d bytes are sound: %v", good.N, total, err)
	}
	r.Release()
	for range 40 {
		k := rng.IntN(len(batches))
		want := 0
		for _, b := range batches[:k] {
			want += len(b)
		}
		at := int64(want + 21 + rng.IntN(len(batches[k])-21))
		l, _ := oldLog(t, func(f vfs.File, _ []record.Batch) { flip(t, f, at, rng.IntN(8)) }, cloned(batches)...)
		r := plan(t, l, 0, 1<<30)
		good, err := r.Warm()
		var d *DamageError
		if good.N > want || !errors.As(err, &d) && good.N != r.N || err != nil && d.Position != int64(want) {
			t.Errorf("byte %d: %d sound bytes, want %d: %v", at, good.N, want, err)
		}
		r.Release()
	}
}

// batchDamage is a byte of a batch, and the bit in it that is flipped. Most leave the reader
// without a way to the next batch.
var batchDamage = map[string]struct {
	at  int64
	bit int
}{
	"offset, far":         {0, 6},
	"offset, within":      {7, 6},
	"offset, a few above": {7, 0},
	"offset, some above":  {7, 5},
	"length":              {8, 6},
	"length, a bit":       {11, 6},
	"magic":               {16, 6},
	"offset delta":        {23, 6},
	"offset delta, a few": {26, 2},
	"checksum":            {17, 3},
	"payload":             {100, 5},
}

// Consumers get the sound batches on both sides of damage in a header, up to the next one
// that the damage leaves in doubt.
func TestReadersGoRoundADamagedHeader(t *testing.T) {
	for what, bit := range batchDamage {
		for _, index := range []string{"there", "missing"} {
			for _, damaged := range []int{0, 30, 59} {
				t.Run(fmt.Sprintf("%s of batch %d, index %s", what, damaged, index), func(t *testing.T) {
					readRound(t, damaged, bit.at, bit.bit, index == "missing", false)
				})
				if damaged < 59 { // the last one may be a torn write
					t.Run(fmt.Sprintf("%s of batch %d, index %s, after a kill", what, damaged, index), func(t *testing.T) {
						readRound(t, damaged, bit.at, bit.bit, index == "missing", true)
					})
				}
			}
		}
	}
}

func readRound(t *testing.T, damaged int, byteAt int64, bit int, withoutIndex, killed bool) {
	mem, d, l := newMemLog(t)
	io := NewPwritevIO()
	cfg := smallConfig()
	cfg.SegmentBytes = 1 << 20
	l.SetConfig(cfg)
	var at int64
	for i := range 60 {
		if i == damaged {
			at = l.active().size
		}
		appendAll(t, io, l, 0, batchOf(t0, 1, 100))
	}
	syncLog(t, io, l)
	if killed {
		mem = mem.KillClone()
	} else if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	io.Close()
	f, _ := mem.OpenFile("/data/orders-3/00000000000000000000.log", os.O_RDWR)
	flip(t, f, at+byteAt, bit)
	if withoutIndex {
		mem.Remove("/data/orders-3/00000000000000000000.index")
	}
	d = openDir(t, mem, "/data")
	l, rep := openLog(t, d, cfg)
	defer l.Close()
	if rep.Damaged() || l.EndOffset() != 60 {
		t.Fatalf("log end %d, %+v", l.EndOffset(), rep)
	}
	got := map[int64]bool{}
	for o := range int64(60) {
		r, err := l.Plan(o, 60, 1, true)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("plan at %d: %v", o, err)
			}
			continue
		}
		good, _ := r.Warm()
		for _, b := range bytesOf(t, good) {
			if b.BaseOffset() != o {
				t.Errorf("read at %d gives %d", o, b.BaseOffset())
			}
			got[b.BaseOffset()] = true
		}
		r.Release()
	}
	if got[int64(damaged)] {
		t.Errorf("the damaged batch is sent")
	}
	for o := range int64(60) {
		if near := o - int64(damaged); !got[o] && (near < -1 || near > 1) {
			t.Errorf("offset %d cannot be read", o)
		}
	}
	io = NewPwritevIO()
	defer io.Close()
	if base := appendAll(t, io, l, 0, batchOf(t0, 1, 100)); base != 60 {
		t.Errorf("append at %d, want 60", base)
	}
}

// A power cut may have torn any of the writes that were not synced: the log ends at the
// first one, and what is sound behind it is kept in a file.
func TestPowerCutEndsTheLogAtATornWrite(t *testing.T) {
	mem, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for range 10 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 100))
	}
	mem = mem.RebootClone()
	f, _ := mem.OpenFile("/data/orders-3/00000000000000000000.log", os.O_RDWR)
	size, _ := f.Size()
	flip(t, f, size/2, 0)
	d := openDir(t, mem, "/data")
	l, rep := openLog(t, d, smallConfig())
	if l.EndOffset() != 5 || len(rep.SetAside) != 1 {
		t.Errorf("the log ends at %d, set aside %v", l.EndOffset(), rep.SetAside)
	}
	// Once all logs were opened, a kill leaves damage only.
	d.MarkRecovered()
	for range 5 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 100))
	}
	mem = mem.KillClone()
	f, _ = mem.OpenFile("/data/orders-3/00000000000000000000.log", os.O_RDWR)
	flip(t, f, size/2, 0)
	if l, _ = openLog(t, openDir(t, mem, "/data"), smallConfig()); l.EndOffset() != 10 {
		t.Errorf("after a kill the log ends at %d", l.EndOffset())
	}
}

func TestMissingAndShortSegmentsAreNotSkipped(t *testing.T) {
	for _, what := range []string{"missing", "short"} {
		mem, all := history(t, true)
		var bases []int64
		es, _ := mem.ReadDir("/data/orders-3")
		for _, e := range es {
			if base, ok := parseOffsetName(e.Name, logSuffix); ok {
				bases = append(bases, base)
			}
		}
		path := offsetPath("/data/orders-3", bases[1], logSuffix)
		lost := bases[2] - bases[1]
		if what == "missing" {
			mem.Remove(path)
		} else {
			f, _ := mem.OpenFile(path, os.O_RDWR)
			b, _ := vfs.ReadFile(mem, path)
			n := int64(0)
			for { // the last batch goes
				one, err := record.First(b[n:])
				if err != nil {
					t.Fatal(err)
				}
				if one.LastOffset()+1 == bases[2] {
					lost = bases[2] - one.BaseOffset()
					break
				}
				n += int64(one.Size())
			}
			f.Truncate(n)
		}
		for range 2 { // not only the first start knows
			d := openDir(t, mem, "/data")
			l, _ := openLog(t, d, smallConfig())
			refused := int64(0)
			for o := range all[len(all)-1].LastOffset() + 1 {
				r, err := l.Plan(o, l.EndOffset(), 1, true)
				switch {
				case err == nil:
					if b := bytesOf(t, r); len(b) == 0 || b[0].BaseOffset() > o {
						t.Errorf("%s: read at %d skips to %d", what, o, b[0].BaseOffset())
					}
					r.Release()
				case errors.Is(err, ErrCorrupt):
					refused++
				default:
					t.Fatal(err)
				}
			}
			if refused != lost {
				t.Errorf("%s: %d offsets are refused, %d are lost", what, refused, lost)
			}
			if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSoundOfManyReaders(t *testing.T) {
	var s sound
	s.unknownBelow(100)
	for _, c := range []struct {
		from, to int64
		knows    []int64 // pairs
		not      []int64
	}{
		{40, 50, []int64{40, 50, 100, 200}, []int64{39, 50, 40, 51, 0, 10, 99, 100}},
		{50, 60, []int64{40, 60}, []int64{60, 100}},
		{10, 20, []int64{10, 20}, []int64{40, 50}}, // another reader: the first begins again
		{90, 100, []int64{90, 500, 10, 20}, []int64{20, 90}},
		{20, 95, []int64{10, 500}, []int64{9, 10}},
		{0, 10, []int64{0, 500}, nil},
	} {
		s.learn(c.from, c.to)
		for i := 0; i < len(c.knows); i += 2 {
			if !s.knows(c.knows[i], c.knows[i+1]) {
				t.Errorf("after %d to %d: %d to %d is not known", c.from, c.to, c.knows[i], c.knows[i+1])
			}
		}
		for i := 0; i < len(c.not); i += 2 {
			if s.knows(c.not[i], c.not[i+1]) {
				t.Errorf("after %d to %d: %d to %d is known", c.from, c.to, c.not[i], c.not[i+1])
			}
		}
	}
}

func TestSoundOfWhatComesFromTheDisk(t *testing.T) {
	const far = 10 * readahead
	for _, c := range []struct {
		learnt, forgotten [2]int64
		knows, not        [][2]int64
	}{
		{[2]int64{0, 0}, [2]int64{100, 200}, [][2]int64{{0, 100}, {200 + readahead, far}}, [][2]int64{{0, 101}, {150, 160}, {200, 300}, {199 + readahead, far}}},
		{[2]int64{0, 0}, [2]int64{0, 200}, [][2]int64{{200 + readahead, far}}, [][2]int64{{0, 1}, {150, 160}}},
		{[2]int64{100, 300}, [2]int64{200, 250}, [][2]int64{{100, 200}}, [][2]int64{{100, 201}, {250, 300}}},
		{[2]int64{100, 300}, [2]int64{50, 120}, nil, [][2]int64{{100, 130}, {250, 300}}},
		{[2]int64{100, 300}, [2]int64{300, 400}, [][2]int64{{100, 300}}, [][2]int64{{300, 400}}},
	} {
		var s sound
		if c.learnt[1] > 0 {
			s.unknownBelow(far)
			s.learn(c.learnt[0], c.learnt[1])
		}
		s.forget(c.forgotten[0], c.forgotten[1])
		for _, k := range c.knows {
			if !s.knows(k[0], k[1]) {
				t.Errorf("%+v: %v is not known", c, k)
			}
		}
		for _, k := range c.not {
			if s.knows(k[0], k[1]) {
				t.Errorf("%+v: %v is known", c, k)
			}
		}
	}
	// A file that was written, and is read from the disk by a reader that knows
	// where it goes on.
	var s sound
	for at := int64(0); at < 20; at++ {
		s.forget(at*100, at*100+100)
		if s.knows(at*100, at*100+1) {
			t.Errorf("%d is known before it is read", at)
		}
		s.learn(at*100, at*100+100)
		if !s.knows(0, at*100+100) {
			t.Errorf("up to %d is not known after it was read", at)
		}
	}
}

func BenchmarkReady(b *testing.B) {
	io := NewPwritevIO()
	defer io.Close()
	l := warmLog(b, io)
	end := l.EndOffset()
	r, err := l.Plan(end-1, end, 1<<20, true)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Release()
	b.Run("knows", func(b *testing.B) {
		for b.Loop() {
			if !r.File.sound.knows(r.Off, r.Off+int64(r.N)) {
				b.Fatal("not known")
			}
		}
	})
	b.Run("Hot", func(b *testing.B) {
		for b.Loop() {
			r.Hot()
		}
	})
	b.Run("Ready", func(b *testing.B) {
		for b.Loop() {
			r.Ready()
		}
	})
}

func BenchmarkWarm(b *testing.B) {
	d := openDir(b, vfs.OS{}, b.TempDir()+"/data")
	defer d.Close()
	io := NewPwritevIO()
	defer io.Close()
	for _, size := range []int{200, 16 << 10} {
		l, _ := openLog(b, d, DefaultConfig())
		for l.Size() < 4<<20 {
			appendAll(b, io, l, 0, batchOf(t0, 1, size))
		}
		r := plan(b, l, 0, 1<<20)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(r.N))
			b.ReportAllocs()
			for b.Loop() {
				if good, err := r.Warm(); err != nil || good.N != r.N {
					b.Fatal(good, err)
				}
			}
		})
		r.Release()
		l.Delete()
	}
}
