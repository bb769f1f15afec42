package audit

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"ringmain/record"
)

const run = 77

func TestStampComesBack(t *testing.T) {
	want := Stamp{Run: 1<<32 - 1, Producer: 3, Partition: 5, Sequence: 1 << 40, Sent: 123456789 * time.Nanosecond}
	value := make([]byte, StampBytes+3)
	want.Put(value)
	if got, err := ReadStamp(value); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	Restamp(value, 9, 10)
	want.Sequence, want.Sent = 9, 10
	if got, err := ReadStamp(value); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range StampBytes {
		changed := bytes.Clone(value)
		changed[i] ^= 0x10
		if _, err := ReadStamp(changed); err == nil {
			t.Fatalf("byte %d changed, and nobody noticed", i)
		}
	}
	if _, err := ReadStamp(value[:StampBytes-1]); err != ErrNoStamp {
		t.Fatalf("short value: %v", err)
	}
}

func TestFillerNoticesEveryByte(t *testing.T) {
	f := NewFiller(run)
	s := Stamp{Run: run, Producer: 1, Partition: 2, Sequence: 3}
	for _, size := range []int{StampBytes, StampBytes + 1, 1000, 3 * fillerBytes} {
		value := make([]byte, size)
		f.Put(s, value)
		if !f.Holds(s, value) {
			t.Fatalf("%d bytes: not what was put", size)
		}
		if size > StampBytes {
			value[size-1] ^= 1
			if f.Holds(s, value) {
				t.Fatalf("%d bytes: the last one changed, and nobody noticed", size)
			}
		}
	}
}

// rig is an account and a partition's log in memory, which the test may change
// behind the account's back.
type rig struct {
	t      *testing.T
	book   *Book
	filler *Filler
	log    [][]byte
}

func newRig(t *testing.T) *rig {
	f := NewFiller(run)
	b, err := NewBook(Config{Run: run, Producers: 2, Partitions: 2, Offsets: true, Filler: f})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, book: b, filler: f}
}

// write sends n records to partition 1 and has them acknowledged.
func (r *rig) write(producer uint32, n int) {
	s := r.book.Stream(producer, 1)
	first, base := s.Next(n), int64(len(r.log))
	for i := range n {
		value := make([]byte, 100)
		r.filler.Put(Stamp{Run: run, Producer: producer, Partition: 1, Sequence: first + uint64(i)}, value)
		r.log = append(r.log, value)
	}
	s.Acked(first, n, base)
}

func (r *rig) read() Verdict {
	for offset, value := range r.log {
		if value != nil {
			r.book.Saw(1, int64(offset), value)
		}
	}
	return r.book.Verdict()
}

func TestVerdictNamesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(r *rig)
		want map[Fault]int64
	}{
		"all is well":   {func(*rig) {}, nil},
		"one lost":      {func(r *rig) { r.log[4] = nil }, map[Fault]int64{Lost: 1}},
		"the tail lost": {func(r *rig) { r.log = r.log[:17] }, map[Fault]int64{Lost: 3}},
		"all lost":      {func(r *rig) { r.log = nil }, map[Fault]int64{Lost: 20}},
		"twice":         {func(r *rig) { r.log = append(r.log, r.log[19]) }, map[Fault]int64{Duplicate: 1}},
		"swapped":       {func(r *rig) { r.log[2], r.log[3] = r.log[3], r.log[2] }, map[Fault]int64{OutOfOrder: 1, Moved: 2}},
		"moved up":      {func(r *rig) { r.log = append(r.log[:5], append([][]byte{nil}, r.log[5:]...)...) }, map[Fault]int64{Moved: 15}},
		"a bit flipped": {func(r *rig) { r.log[6][90] ^= 4 }, map[Fault]int64{Damaged: 1, Lost: 1}},
		"stamp damaged": {func(r *rig) { r.log[6][20] ^= 4 }, map[Fault]int64{Damaged: 1, Lost: 1}},
		"cut":           {func(r *rig) { r.log[6] = r.log[6][:20] }, map[Fault]int64{Foreign: 1, Lost: 1}},
		"somebody else": {func(r *rig) { r.log = append(r.log, []byte("hello")) }, map[Fault]int64{Foreign: 1}},
		"never sent": {func(r *rig) {
			v := bytes.Clone(r.log[19])
			r.filler.Put(Stamp{Run: run, Producer: 1, Partition: 1, Sequence: 999}, v)
			r.log = append(r.log, v)
		}, map[Fault]int64{NeverSent: 1}},
		"from elsewhere": {func(r *rig) {
			v := make([]byte, 100)
			r.book.Stream(0, 0).Next(1)
			r.filler.Put(Stamp{Run: run}, v)
			r.log = append(r.log, v)
		}, map[Fault]int64{WrongPartition: 1}},
		"two answers": {func(r *rig) { r.book.Stream(0, 1).Acked(0, 2, 0) }, map[Fault]int64{AckedTwice: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.write(0, 10)
			r.write(1, 5)
			r.write(0, 5)
			c.harm(r)
			v := r.read()
			for _, f := range Faults {
				if got := v.Count(f); got != c.want[f] {
					t.Errorf("%d %s, want %d; %+v", got, f, c.want[f], v.Findings)
				}
			}
			err := v.Err()
			if (err != nil) != (len(c.want) > 0) {
				t.Fatalf("error %v", err)
			}
			for f := range c.want {
				if !strings.Contains(err.Error(), string(f)) {
					t.Errorf("the error does not name %q: %v", f, err)
				}
			}
			if len(c.want) > 0 && len(v.Findings) == 0 {
				t.Error("nothing says which records")
			}
		})
	}
}

func TestUnansweredRecordsMayBeThereOrNot(t *testing.T) {
	r := newRig(t)
	r.write(0, 4)
	r.book.Stream(0, 1).Next(3) // no answer
	value := make([]byte, 100)
	r.filler.Put(Stamp{Run: run, Producer: 0, Partition: 1, Sequence: 5}, value)
	r.log = append(r.log, value)
	v := r.read()
	if v.Err() != nil || v.Sent != 7 || v.Acked != 4 || v.Unacked != 3 || v.Seen != 5 {
		t.Fatalf("%v, %+v", v.Err(), v)
	}
}

func TestUnseenFallsToZero(t *testing.T) {
	r := newRig(t)
	r.write(0, 10)
	if got := r.book.Unseen(); got != 10 {
		t.Fatalf("%d before reading", got)
	}
	r.read()
	if got := r.book.Unseen(); got != 0 {
		t.Fatalf("%d after reading", got)
	}
}

func TestFindingsAreJoinedAndBounded(t *testing.T) {
	r := newRig(t)
	r.write(0, 1000)
	copy := append([][]byte{}, r.log...)
	r.log = append(r.log, copy...)
	v := r.read()
	if v.Duplicated != 1000 || len(v.Findings) != 1 || v.Findings[0].Count != 1000 || v.Findings[0].Offset != 1000 {
		t.Fatalf("%d duplicates, %+v", v.Duplicated, v.Findings)
	}
	r = newRig(t)
	r.write(0, 1000)
	for i := 1; i < 1000; i += 2 {
		r.log[i] = nil
	}
	if v = r.read(); v.Lost != 500 || len(v.Findings) != maxFindings {
		t.Fatalf("%d lost, %d findings", v.Lost, len(v.Findings))
	}
}

func TestSawBatchesReadsWhatAFetchBrings(t *testing.T) {
	r := newRig(t)
	r.write(0, 9)
	var answer []byte
	for i := 0; i < 9; i += 3 {
		b := record.NewBuilder()
		b.BaseOffset = int64(i)
		if i == 3 {
			b.Codec = record.Zstd
		}
		for _, v := range r.log[i : i+3] {
			b.Add(1, nil, v)
		}
		answer = append(answer, b.Build()...)
	}
	seen := 0
	each := func(Stamp) { seen++ }
	// The answer ends inside the third batch.
	next, err := r.book.SawBatches(1, 0, answer[:len(answer)-1], each)
	if err != nil || next != 6 || seen != 6 {
		t.Fatalf("next %d, %d seen, %v", next, seen, err)
	}
	// The next one begins with a batch of which one record was read already.
	if next, err = r.book.SawBatches(1, 6, answer, each); err != nil || next != 9 || seen != 9 {
		t.Fatalf("next %d, %d seen, %v", next, seen, err)
	}
	if v := r.book.Verdict(); v.Err() != nil || v.Seen != 9 {
		t.Fatalf("%v, %+v", v.Err(), v)
	}
	answer[len(answer)-1] ^= 1
	if _, err = r.book.SawBatches(1, 6, answer, nil); err == nil {
		t.Fatal("a batch with a wrong checksum was taken")
	}
}

func BenchmarkSaw(b *testing.B) {
	book, err := NewBook(Config{Run: run, Producers: 1, Partitions: 1})
	if err != nil {
		b.Fatal(err)
	}
	book.Stream(0, 0).Next(b.N)
	value := make([]byte, 100)
	Stamp{Run: run}.Put(value)
	b.ReportAllocs()
	for i := range b.N {
		Restamp(value, uint64(i), 0)
		book.Saw(0, int64(i), value)
	}
}
