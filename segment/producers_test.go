package segment

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ringmain/internal/vfs"
	"ringmain/record"
)

func newMemLog(t testing.TB) (*vfs.Mem, *Dir, *Log) {
	t.Helper()
	mem := vfs.NewMem()
	d := openDir(t, mem, "/data")
	l, _ := openLog(t, d, smallConfig())
	return mem, d, l
}

func TestProducerRules(t *testing.T) {
	_, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	var sent []record.Batch
	for i := range 7 {
		b := produced(9, 2, int32(10+3*i), t0+int64(i), 3)
		sent = append(sent, b)
		appendAll(t, io, l, 0, b)
	}
	for _, x := range []struct {
		name  string
		b     record.Batch
		dupOf int64 // base offset, -1 for none
		err   error
	}{
		{"next in sequence", produced(9, 2, 31, t0, 2), -1, nil},
		{"the newest again", sent[6], 18, nil},
		{"the fifth newest again", sent[2], 6, nil},
		{"the sixth newest again", sent[1], -1, ErrOutOfOrderSequence},
		{"part of a batch", produced(9, 2, 28, t0, 2), -1, ErrOutOfOrderSequence},
		{"a gap", produced(9, 2, 32, t0, 1), -1, ErrOutOfOrderSequence},
		{"an older epoch", produced(9, 1, 31, t0, 1), -1, ErrInvalidProducerEpoch},
		{"an older epoch, same sequences", produced(9, 1, 28, t0, 3), -1, ErrInvalidProducerEpoch},
		{"a newer epoch from 0", produced(9, 3, 0, t0, 1), -1, nil},
		{"a newer epoch from 5", produced(9, 3, 5, t0, 1), -1, ErrOutOfOrderSequence},
		{"an unknown producer at any sequence", produced(10, 0, 77, t0, 1), -1, nil},
		{"not idempotent", batchOf(t0, 1, 1), -1, nil},
	} {
		dup, err := l.CheckProducer(x.b, t0)
		if !errors.Is(err, x.err) || (dup != nil) != (x.dupOf >= 0) || dup != nil && dup.BaseOffset != x.dupOf {
			t.Errorf("%s: %+v, %v; want duplicate of %d, %v", x.name, dup, err, x.dupOf, x.err)
		}
	}
	info := l.Producers()
	if len(info) != 1 || info[0].ProducerID != 9 || info[0].ProducerEpoch != 2 || info[0].LastSequence != 30 ||
		info[0].LastTimestamp != t0+8 || info[0].CoordinatorEpoch != -1 || info[0].CurrentTxnStartOff != -1 {
		t.Errorf("producers: %+v", info)
	}
}

func TestAProducerWithoutAnEpochIsAlwaysInSequence(t *testing.T) {
	_, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	if _, err := l.CheckProducer(produced(9, -2, 0, t0, 1), t0); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("epoch -2 of an unknown producer: %v", err)
	}
	known := produced(9, -1, 5, t0, 2)
	appendAll(t, io, l, 0, known)
	for _, x := range []struct {
		epoch int16
		first int32
		err   error
	}{{-1, 7, nil}, {-1, 50, nil}, {-1, 0, nil}, {0, 0, nil}, {0, 8, nil}, {3, 1, nil}, {-2, 7, ErrInvalidProducerEpoch}} {
		if dup, err := l.CheckProducer(produced(9, x.epoch, x.first, t0, 1), t0); dup != nil || !errors.Is(err, x.err) {
			t.Errorf("epoch %d, sequence %d: %+v, %v; want %v", x.epoch, x.first, dup, err, x.err)
		}
	}
	if dup, err := l.CheckProducer(known, t0); dup == nil || err != nil {
		t.Errorf("the same again: %+v, %v", dup, err)
	}
	appendAll(t, io, l, 0, produced(9, 0, 8, t0, 1))
	if _, err := l.CheckProducer(produced(9, 0, 11, t0, 1), t0); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("a gap once there is an epoch: %v", err)
	}
}

func TestSequencesWrapIn31Bits(t *testing.T) {
	_, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	wraps := produced(1, 0, math.MaxInt32-1, t0, 4) // 2147483646, 2147483647, 0, 1
	appendAll(t, io, l, 0, wraps)
	if dup, err := l.CheckProducer(wraps, t0); err != nil || dup == nil {
		t.Errorf("repeat: %+v, %v", dup, err)
	}
	if _, err := l.CheckProducer(produced(1, 0, 1, t0, 1), t0); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("sequence 1 after 1: %v", err)
	}
	next := produced(1, 0, 2, t0, 1)
	if dup, err := l.CheckProducer(next, t0); err != nil || dup != nil {
		t.Errorf("sequence 2 after 1: %+v, %v", dup, err)
	}
	ends := produced(2, 0, math.MaxInt32, t0, 1)
	appendAll(t, io, l, 0, ends)
	if dup, err := l.CheckProducer(produced(2, 0, 0, t0, 1), t0); err != nil || dup != nil {
		t.Errorf("0 after the largest: %+v, %v", dup, err)
	}
}

func TestStagedBatchesCount(t *testing.T) {
	_, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	a, b := produced(5, 0, 0, t0, 2), produced(5, 0, 2, t0, 2)
	for _, x := range []record.Batch{a, b} {
		if dup, err := l.CheckProducer(x, t0); dup != nil || err != nil {
			t.Fatal(dup, err)
		}
		if _, err := l.Stage(x, 0, t0, t0); err != nil {
			t.Fatal(err)
		}
	}
	if dup, err := l.CheckProducer(b, t0); err != nil || dup == nil || dup.BaseOffset != 2 {
		t.Errorf("repeat of a staged batch: %+v, %v", dup, err)
	}
	if l.EndOffset() != 0 {
		t.Errorf("staged batches are visible: log end %d", l.EndOffset())
	}
	if errs := Flush(io, []*Log{l}); errs != nil || l.EndOffset() != 4 {
		t.Errorf("flush: %v, end %d", errs, l.EndOffset())
	}
}

func TestLogAppendTimeIsTheDuplicatesAnswer(t *testing.T) {
	_, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	mk := func() record.Batch {
		b := record.NewBuilder()
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = 3, 0, 0
		b.LogAppendTime, b.AppendTimeMs = true, t0+500
		return b.Add(t0, nil, []byte("v")).Build()
	}
	appendAll(t, io, l, 0, mk())
	if dup, err := l.CheckProducer(mk(), t0); err != nil || dup == nil || dup.AppendTimeMs != t0+500 {
		t.Errorf("%+v, %v; want append time %d", dup, err, t0+500)
	}
}

func TestProducersExpire(t *testing.T) {
	_, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	appendAll(t, io, l, 0, produced(1, 0, 0, t0, 1))
	appendAll(t, io, l, 0, produced(2, 0, 0, t0+1000, 1))
	l.ExpireProducers(t0 + 86_400_000)
	if info := l.Producers(); len(info) != 1 || info[0].ProducerID != 2 {
		t.Errorf("after a day: %+v, want producer 2 alone", info)
	}
	if dup, err := l.CheckProducer(produced(1, 0, 55, t0, 1), t0); dup != nil || err != nil {
		t.Errorf("an expired producer may begin anywhere: %+v, %v", dup, err)
	}
}

// After a kill a producer was seen when its segment was written to last, whatever the
// timestamps of its batches are, and not when the log was opened.
func TestProducersReadFromTheLogExpire(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, vfs.OS{}, path)
	l, _ := openLog(t, d, smallConfig())
	io := testIO()
	defer io.Close()
	repeat := produced(1, 0, 0, t0, 1)
	appendAll(t, io, l, 0, repeat)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	partition := filepath.Join(path, testTP.String())
	now := time.Now()
	for _, idle := range []time.Duration{23 * time.Hour, 25 * time.Hour, -time.Hour} {
		snapshots, _ := filepath.Glob(filepath.Join(partition, "*"+snapshotSuffix))
		for _, name := range snapshots {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		logs, _ := filepath.Glob(filepath.Join(partition, "*"+logSuffix))
		for _, name := range logs {
			if err := os.Chtimes(name, now, now.Add(-idle)); err != nil {
				t.Fatal(err)
			}
		}
		l, _ := openLog(t, d, smallConfig())
		l.ExpireProducers(now.UnixMilli())
		dup, err := l.CheckProducer(repeat, now.UnixMilli())
		if known := dup != nil; err != nil || known != (idle < 24*time.Hour) {
			t.Errorf("silent for %v: known %v, %v", idle, known, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Segments below the log start go in any order, and a power cut may bring some of them back,
// or take the log start back. What lies behind one that is missing says what its producers
// wrote last; what lies before it is too old.
func TestProducersBehindAGapBelowTheLogStart(t *testing.T) {
	mem, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	old, kept := produced(1, 0, 0, t0, 1), produced(2, 0, 5, t0, 1)
	for len(l.segs) < 5 {
		switch {
		case l.EndOffset() == 0:
			appendAll(t, io, l, 0, old)
		case len(l.segs) == 3 && len(l.Producers()) == 1:
			appendAll(t, io, l, 0, kept)
		default:
			appendAll(t, io, l, 0, batchOf(t0, 1, 500))
		}
	}
	syncLog(t, io, l)
	if err := l.AdvanceStart(l.active().base); err != nil {
		t.Fatal(err)
	}
	mem = mem.KillClone()
	for i, s := range l.segs {
		removeSegmentFiles(mem, s.base, snapshotSuffix)
		if i == 1 {
			removeSegmentFiles(mem, s.base, indexSuffix, logSuffix)
		}
	}
	l, _ = openLog(t, openDir(t, mem, "/data"), smallConfig())
	if dup, err := l.CheckProducer(kept, t0); dup == nil || err != nil {
		t.Errorf("the batch behind the gap again: %+v, %v", dup, err)
	}
	if dup, err := l.CheckProducer(produced(1, 0, 7, t0, 1), t0); dup != nil || err != nil {
		t.Errorf("a batch whose producer may have gone on in the gap: %+v, %v", dup, err)
	}
}

func TestSnapshotRoundTripAndDamage(t *testing.T) {
	var table producerTable
	for id := range int64(20) {
		for i := range int32(id % 7) {
			b := produced(id, int16(id), 4*i, t0+int64(i), 4)
			b.Stamp(id*100+int64(i), 3)
			table.add(b, t0, false)
		}
	}
	h := snapshotHead{key: pointKey{testTopic, 3}, offset: 12345, segBase: 12000, pos: 777}
	file := encodeSnapshot(h, &table)
	got, byID, err := decodeSnapshot(file)
	if err != nil || got != h || len(byID) != len(table.byID) {
		t.Fatalf("%+v, %d producers, %v", got, len(byID), err)
	}
	for id, p := range table.byID {
		if *byID[id] != *p {
			t.Errorf("producer %d: %+v, want %+v", id, byID[id], p)
		}
	}
	for i := range file {
		bad := append([]byte(nil), file...)
		bad[i] ^= 0x10
		if _, _, err := decodeSnapshot(bad); err == nil {
			t.Fatalf("a flipped bit in byte %d of %d is not noticed", i, len(file))
		}
	}
}
