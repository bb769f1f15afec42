package segment

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/record"
)

var (
	testTP    = model.TopicPartition{Topic: "orders", Partition: 3}
	testTopic = model.TopicID{1, 2, 3, 4}
	testIdent = Ident{ClusterID: "test-cluster-0123456789", NodeID: 1}
	quiet     = slog.New(slog.NewTextHandler(io.Discard, nil))
)

const t0 = int64(1_700_000_000_000)

// backend is a LogIO that tests run on.
type backend struct {
	name string
	make func() LogIO
}

// histories is how many random histories a test goes through: so many, or what
// RINGMAIN_HISTORIES says (make histories).
func histories(usual uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv("RINGMAIN_HISTORIES"), 10, 32); err == nil {
		return n
	}
	if testing.Short() {
		return usual / 5
	}
	return usual
}

func openDir(t testing.TB, fsys vfs.FS, path string) *Dir {
	t.Helper()
	d, err := OpenDir(fsys, path, testIdent, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func openLog(t testing.TB, d *Dir, cfg Config) (*Log, RecoveryReport) {
	t.Helper()
	l, rep, err := d.OpenLog(testTP, testTopic, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l, rep
}

func smallConfig() Config {
	c := DefaultConfig()
	c.SegmentBytes = 4096
	c.IndexIntervalBytes = 256
	c.DeleteDelayMs = 0
	c.RetentionMs = -1
	return c
}

// batchOf builds a batch of n records with values of size bytes, stamped with
// times ts, ts+1, ...
func batchOf(ts int64, n, size int) record.Batch {
	b := record.NewBuilder()
	for i := range n {
		b.Add(ts+int64(i), fmt.Appendf(nil, "k%d", i), make([]byte, size))
	}
	return b.Build()
}

// produced is a batch of an idempotent producer.
func produced(id int64, epoch int16, seq int32, ts int64, n int) record.Batch {
	b := record.NewBuilder()
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = id, epoch, seq
	for i := range n {
		b.Add(ts+int64(i), nil, []byte("v"))
	}
	return b.Build()
}

func appendAll(t testing.TB, io LogIO, l *Log, epoch int32, batches ...record.Batch) (base int64) {
	t.Helper()
	for i, b := range batches {
		o, err := l.Stage(b, epoch, b.MaxTimestamp(), b.MaxTimestamp())
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			base = o
		}
	}
	if errs := Flush(io, []*Log{l}); errs != nil {
		t.Fatal(errs)
	}
	return base
}

func syncLog(t testing.TB, io LogIO, l *Log) {
	t.Helper()
	files, upTo := l.BeginSync(nil)
	if len(files) == 0 {
		return
	}
	errs := io.Sync(filesOf(nil, files))
	l.EndSync(upTo, false, errors.Join(errs...))
	if errs != nil {
		t.Fatal(errs)
	}
}

// readAll reads all batches from offset on, in pieces of at most maxBytes.
func readAll(t testing.TB, l *Log, offset int64, maxBytes int) []record.Batch {
	t.Helper()
	var out []record.Batch
	for {
		r, err := l.Plan(offset, l.EndOffset(), maxBytes, true)
		if err != nil {
			t.Fatalf("plan at %d: %v", offset, err)
		}
		if r.N == 0 {
			return out
		}
		b := make([]byte, r.N)
		if _, err := r.File.ReadAt(b, r.Off); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		r.Release()
		for len(b) > 0 {
			one, err := record.First(b)
			if err != nil {
				t.Fatalf("range at %d: %v", offset, err)
			}
			if !one.ChecksumOK() {
				t.Fatalf("batch at %d: wrong checksum", one.BaseOffset())
			}
			out = append(out, one)
			offset = one.LastOffset() + 1
			b = b[one.Size():]
		}
	}
}

var otherTP = model.TopicPartition{Topic: "other", Partition: 0}
