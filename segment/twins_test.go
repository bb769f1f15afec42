package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/record"
)

var twins = [2]model.TopicPartition{{Topic: "orders", Partition: 0}, {Topic: "orders", Partition: 1}}

const twinEnd = 18 // offset after the last record of each

// twinBatch is a batch of one record that says whose it is; those of two partitions at one
// offset differ in nothing else.
func twinBatch(partition int32, offset int64) record.Batch {
	b := record.NewBuilder()
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = 42, 0, int32(offset)
	return b.Add(t0+offset, nil, fmt.Appendf(nil, "%d at %3d %s", partition, offset, strings.Repeat("x", 500))).Build()
}

// twinLogs fills two partitions of one topic with files of the same names, sizes, offsets
// and times, three segments each, and stops cleanly or as killed.
func twinLogs(t *testing.T, root string, clean bool) (bases []int64) {
	t.Helper()
	made := root
	if !clean {
		made = t.TempDir() + "/data"
	}
	d := openDir(t, vfs.OS{}, made)
	d.MarkRecovered()
	io := testIO()
	defer io.Close()
	var logs []*Log
	for _, tp := range twins {
		l, _, err := d.OpenLog(tp, testTopic, smallConfig())
		if err != nil {
			t.Fatal(err)
		}
		bases = bases[:0]
		for o := range int64(twinEnd) {
			appendAll(t, io, l, 0, twinBatch(tp.Partition, o))
			if o%3 == 0 {
				syncLog(t, io, l)
			}
		}
		for _, s := range l.segs {
			bases = append(bases, s.base)
		}
		logs = append(logs, l)
	}
	if len(bases) != 3 {
		t.Fatalf("segments at %v", bases)
	}
	if !clean {
		if err := copyTree(made, root); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range logs {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
	return bases
}

// exchange has files of the two change places.
func exchange(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		a, b := filepath.Join(root, twins[0].String(), name), filepath.Join(root, twins[1].String(), name)
		for _, r := range [][2]string{{a, a + "~"}, {b, a}, {a + "~", b}} {
			if err := os.Rename(r[0], r[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// judgeTwins opens both, and wants every record outside of [from, to) served, and those
// inside refused or served as they were written.
func judgeTwins(t *testing.T, root string, from, to int64) {
	t.Helper()
	d := openDir(t, vfs.OS{}, root)
	defer d.Close()
	d.MarkRecovered()
	for _, tp := range twins {
		l, _, err := d.OpenLog(tp, testTopic, smallConfig())
		if err != nil {
			if to < twinEnd || !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v is not opened: %v", tp, err)
			}
			continue
		}
		if l.EndOffset() != twinEnd {
			t.Errorf("%v ends at %d, want %d", tp, l.EndOffset(), twinEnd)
		}
		for o := range int64(twinEnd) {
			batch, err := readOne(l, o)
			switch {
			case errors.Is(err, ErrCorrupt) && from <= o && o < to:
			case err != nil:
				t.Errorf("%v at %d: %v", tp, o, err)
			case !strings.Contains(string(batch), fmt.Sprintf("%d at %3d", tp.Partition, o)):
				t.Errorf("%v at %d: %.60q", tp, o, batch[record.HeaderSize:])
			}
		}
		for id, next := range map[int64]int32{42: twinEnd} { // and its producer goes on
			b := twinBatch(tp.Partition, int64(next))
			if dup, err := l.CheckProducer(b, t0); (err != nil || dup != nil) && from == to {
				t.Errorf("%v: the next batch of producer %d: %v, %v", tp, id, dup, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// readOne reads the batch at an offset with the checks that a fetch makes.
func readOne(l *Log, offset int64) (record.Batch, error) {
	r, err := l.Plan(offset, l.EndOffset(), 1, true)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	good := r
	if !r.Ready() {
		if good, err = r.Warm(); err != nil {
			return nil, err
		}
	}
	b := make(record.Batch, good.N)
	_, err = good.File.ReadAt(b, good.Off)
	return b, err
}

// verifyTwins is log verify, and log repair with mend.
func verifyTwins(t *testing.T, root string, mend bool) []Finding {
	t.Helper()
	v, err := OpenVerifier(vfs.OS{}, root)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, tp := range twins {
		if err := v.VerifyPartition(tp, testTopic); err != nil {
			t.Fatal(err)
		}
	}
	if mend {
		if err := v.Repair(); err != nil {
			t.Fatal(err)
		}
	}
	var wrong []Finding
	for _, f := range v.Findings {
		if !f.Harmless {
			wrong = append(wrong, f)
		}
	}
	return wrong
}

// Files that change places between two partitions of one topic, and differ in nothing but
// the records: they are found by a start or a read and by verify, no record of the other
// partition is served, and what was not exchanged is.
func TestExchangedFilesAreFound(t *testing.T) {
	for _, clean := range []bool{true, false} {
		for _, seg := range []int{0, 1, 2} {
			for _, suffixes := range [][]string{{logSuffix}, {logSuffix, indexSuffix}, {logSuffix, indexSuffix, snapshotSuffix}, {indexSuffix}, {snapshotSuffix}} {
				t.Run(fmt.Sprintf("clean %v, segment %d, %v", clean, seg, suffixes), func(t *testing.T) {
					root := t.TempDir() + "/data"
					bases := append(twinLogs(t, root, clean), twinEnd)
					if wrong := verifyTwins(t, root, false); len(wrong) > 0 {
						t.Fatalf("before: %+v", wrong)
					}
					from, to := bases[seg], bases[seg+1]
					var names []string
					for _, suffix := range suffixes {
						name := offsetName(from, suffix)
						if suffix == snapshotSuffix {
							name = offsetName(to, suffix)
						}
						if _, err := os.Stat(filepath.Join(root, twins[0].String(), name)); err != nil && !clean && seg == 2 {
							continue // the newest segment has none before it is closed
						}
						names = append(names, name)
					}
					if len(names) == 0 {
						t.Skip("no such file after a kill")
					}
					exchange(t, root, names...)
					found := verifyTwins(t, root, false)
					for _, tp := range twins {
						stem := filepath.Join(tp.String(), strings.TrimSuffix(names[0], filepath.Ext(names[0])))
						named := false
						for _, f := range found {
							named = named || strings.Contains(f.File, stem) && f.Repair != ""
						}
						if !named {
							t.Errorf("verify does not name %s: %+v", stem, found)
						}
					}
					for _, start := range []string{"start", "start after a start"} {
						t.Log(start)
						at := t.TempDir() + "/data"
						if err := copyTree(root, at); err != nil {
							t.Fatal(err)
						}
						if suffixes[0] != logSuffix {
							judgeTwins(t, at, 0, 0)
							break
						}
						judgeTwins(t, at, from, to)
						judgeTwins(t, at, from, to)
					}
					verifyTwins(t, root, true)
					if wrong := verifyTwins(t, root, false); len(wrong) > 0 {
						t.Errorf("after the repair: %+v", wrong)
					}
				})
			}
		}
	}
}

// Where the newest segment is another partition's, nothing is appended behind its records.
func TestNothingIsAppendedToAnExchangedFile(t *testing.T) {
	root := t.TempDir() + "/data"
	bases := twinLogs(t, root, true)
	exchange(t, root, offsetName(bases[2], logSuffix))
	d := openDir(t, vfs.OS{}, root)
	defer d.Close()
	io := testIO()
	defer io.Close()
	l, _, err := d.OpenLog(twins[0], testTopic, smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Stage(twinBatch(0, twinEnd), 0, t0, t0); err != nil {
		t.Fatal(err)
	}
	if errs := Flush(io, []*Log{l}); len(errs) != 1 || !errors.Is(errs[0], ErrStorage) || !errors.Is(errs[0], ErrCorrupt) {
		t.Errorf("append: %v", errs)
	}
	l.Close()
}

// An index of another time beside a log that is right takes nothing from readers: one from
// before the last appends, and one from before a truncation.
func TestOlderIndexIsNoAlarm(t *testing.T) {
	for _, clean := range []bool{true, false} {
		root := t.TempDir() + "/data"
		d := openDir(t, vfs.OS{}, root)
		io := testIO()
		defer io.Close()
		l, _ := openLog(t, d, smallConfig())
		for o := range int64(5) {
			appendAll(t, io, l, 0, twinBatch(3, o))
		}
		index := offsetPath(l.Path(), 0, indexSuffix)
		reopen := func() {
			t.Helper()
			if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
				t.Fatal(err)
			}
			d = openDir(t, vfs.OS{}, root)
			l, _ = openLog(t, d, smallConfig())
		}
		reopen()
		older, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, io, l, 0, twinBatch(3, 5))
		if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(index, older, 0o644); err != nil {
			t.Fatal(err)
		}
		if !clean {
			os.Remove(filepath.Join(root, cleanName))
		}
		d = openDir(t, vfs.OS{}, root)
		l, _ = openLog(t, d, smallConfig())
		if got := readAll(t, l, 0, 1<<20); len(got) != 6 {
			t.Errorf("clean %v: %d batches beside an older index", clean, len(got))
		}
		// Other batches of the same size in the place of those that were truncated.
		if err := l.TruncateTo(0); err != nil {
			t.Fatal(err)
		}
		for o := range int64(6) {
			appendAll(t, io, l, 1, twinBatch(4, o))
		}
		syncLog(t, io, l)
		reopen()
		if got := readAll(t, l, 0, 1<<20); len(got) != 6 || !strings.Contains(string(got[0]), "4 at   0") {
			t.Errorf("clean %v: %d batches after a truncation", clean, len(got))
		}
		l.Close()
		d.Close()
	}
}

// headerV1 turns the header of an index into one as version 1 wrote it.
func headerV1(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint16(b[4:], 1)
	clear(b[80:92])
	binary.LittleEndian.PutUint32(b[92:], crc32.Checksum(b[:92], castagnoli))
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A segment whose header is of version 1 goes on, and has the checksums when it is closed.
func TestHeaderOfVersion1GetsItsSums(t *testing.T) {
	for _, more := range []int64{1, 3, 20} {
		root := t.TempDir() + "/data"
		io := testIO()
		defer io.Close()
		d := openDir(t, vfs.OS{}, root)
		l, _ := openLog(t, d, smallConfig())
		for o := range int64(2) {
			appendAll(t, io, l, 0, twinBatch(3, o))
		}
		index := offsetPath(l.Path(), 0, indexSuffix)
		for range 2 {
			if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
				t.Fatal(err)
			}
			if wrong := findings(t, root); len(wrong) > 0 {
				t.Errorf("verify: %+v", wrong)
			}
			headerV1(t, index)
			d = openDir(t, vfs.OS{}, root)
			var rep RecoveryReport
			if l, rep = openLog(t, d, smallConfig()); rep.HeaderBytes > 0 || rep.IndexRebuilt {
				t.Errorf("a header of version 1: %+v", rep)
			}
		}
		for o := range more {
			appendAll(t, io, l, 0, twinBatch(3, 2+o))
		}
		if err := errors.Join(l.Close(), d.MarkClean(), d.Close()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		head, err := decodeIndexHeader(b[:indexHeaderSize], testTopic, 0)
		if err != nil || head.partition != testTP.Partition || head.sums.first != twinBatch(3, 0).CRC() || head.sums.last == 0 {
			t.Errorf("%d more: %+v, %v", more, head, err)
		}
		if wrong := findings(t, root); len(wrong) > 0 {
			t.Errorf("verify: %+v", wrong)
		}
	}
}

func findings(t *testing.T, root string) []Finding {
	t.Helper()
	v, err := OpenVerifier(vfs.OS{}, root)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := v.VerifyPartition(testTP, testTopic); err != nil {
		t.Fatal(err)
	}
	return v.Findings
}

// The mark of a checksum is never that of none.
func TestMarks(t *testing.T) {
	for sum, want := range map[uint32]uint16{0: 0, 1: 1, 0x10001: 1, 0xabcd0000: 0xabcd, 0xffff0001: 0xfffe} {
		if got := mark(sum); got != want {
			t.Errorf("mark of %#x is %#x, want %#x", sum, got, want)
		}
	}
}

// What the checkpoint notes of a first batch is forgotten when that batch goes, whatever
// takes it: another one in its place, and a kill before the next checkpoint, are no alarm.
func TestMarkGoesWithItsBatch(t *testing.T) {
	for what, take := range map[string]func(t *testing.T, mem *vfs.Mem) *vfs.Mem{
		"a truncation": func(t *testing.T, mem *vfs.Mem) *vfs.Mem {
			l, _ := openLog(t, openDir(t, mem, "/data"), smallConfig())
			if err := l.TruncateTo(0); err != nil {
				t.Fatal(err)
			}
			return mem.KillClone()
		},
		"a hand": func(t *testing.T, mem *vfs.Mem) *vfs.Mem {
			if err := mem.Remove("/data/orders-3/" + offsetName(0, logSuffix)); err != nil {
				t.Fatal(err)
			}
			return mem
		},
		"a bad disk and a power cut": func(t *testing.T, mem *vfs.Mem) *vfs.Mem {
			mem = mem.RebootClone()
			f, err := mem.OpenFile("/data/orders-3/"+offsetName(0, logSuffix), os.O_RDWR)
			if err != nil {
				t.Fatal(err)
			}
			flip(t, f, 100, 3)
			return mem
		},
	} {
		mem, _, l := newMemLog(t)
		io := NewPwritevIO()
		appendAll(t, io, l, 0, twinBatch(3, 0))
		syncLog(t, io, l)
		if p, ok := l.dir.points.get(l.key()); !ok || p.first != mark(twinBatch(3, 0).CRC()) || p.pos != 0 {
			t.Fatalf("the point is %+v, %v", p, ok)
		}
		mem = take(t, mem.KillClone())
		l, _ = openLog(t, openDir(t, mem, "/data"), smallConfig())
		want := int64(0)
		if what == "a hand" { // the note of the newest segment is left
			want = 1 + newestStep
		}
		if l.EndOffset() != want {
			t.Fatalf("%s: the log ends at %d, want %d", what, l.EndOffset(), want)
		}
		appendAll(t, io, l, 0, twinBatch(4, 0))
		for _, sync := range []bool{false, true} {
			if sync {
				syncLog(t, io, l)
			}
			mem = mem.KillClone()
			l, _ = openLog(t, openDir(t, mem, "/data"), smallConfig())
			if got := readAll(t, l, want, 1<<20); len(got) != 1 || !strings.Contains(string(got[0]), "4 at") {
				t.Errorf("%s, synced %v: %d batches", what, sync, len(got))
			}
		}
		io.Close()
	}
}
