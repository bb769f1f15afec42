package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/record"
)

// Readers read while the owner appends, rolls, syncs, retains and raises the
// log start: every range is whole sound batches that continue each other.
func TestReadersBesideTheOwner(t *testing.T) {
	eachBackend(func(be backend) {
		t.Run(be.name, func(t *testing.T) {
			d := openDir(t, vfs.OS{}, t.TempDir()+"/data")
			defer d.Close()
			d.UseFileBudget(NewFileBudget(16)) // files are closed under the readers' eyes
			cfg := smallConfig()
			cfg.SegmentBytes = 16 << 10
			cfg.RetentionBytes = 100 << 10
			l, _ := openLog(t, d, cfg)
			io := be.make()
			defer io.Close()
			appendAll(t, io, l, 0, batchOf(t0, 2, 100))

			var stop atomic.Bool
			var wg sync.WaitGroup
			fail := make(chan error, 16)
			report := func(err error) {
				select {
				case fail <- err:
				default:
				}
				stop.Store(true)
			}
			for i := range 4 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(i), 1))
					offset := int64(0)
					for !stop.Load() {
						if err := readSome(l, &offset, rng); err != nil {
							report(err)
						}
					}
				})
			}
			wg.Go(func() {
				for !stop.Load() {
					if _, _, err := l.OffsetForTimestamp(t0+l.EndOffset()/2, l.EndOffset()); err != nil {
						report(err)
					}
					if _, _, err := l.MaxTimestamp(l.EndOffset()); err != nil {
						report(err)
					}
					l.EpochEnd(l.LatestEpoch())
					l.Producers()
					if l.StartOffset() > l.EndOffset() {
						report(errors.New("start above end"))
					}
					if err := d.Checkpoint(); err != nil {
						report(err)
					}
				}
			})
			for i := range 600 {
				if stop.Load() {
					break
				}
				appendAll(t, io, l, int32(i/100), batchOf(t0+l.EndOffset(), 3, 50+i%400), produced(int64(i%3), 0, int32(i/3), t0+l.EndOffset()+3, 1))
				if i%7 == 0 {
					syncLog(t, io, l)
				}
				if i%50 == 0 {
					if _, err := l.Retain(t0); err != nil {
						t.Error(err)
					}
				}
				if i%200 == 199 {
					if err := l.AdvanceStart(l.EndOffset() - 50); err != nil {
						t.Error(err)
					}
				}
			}
			stop.Store(true)
			wg.Wait()
			select {
			case err := <-fail:
				t.Fatal(err)
			default:
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "no file is open", func() bool { return d.budget.Open() == 0 }) // the reaper closes some of them
		})
	})
}

func readSome(l *Log, offset *int64, rng *rand.Rand) error {
	end := l.EndOffset()
	if rng.IntN(3) == 0 {
		*offset = max(end-1-rng.Int64N(20), 0)
	}
	r, err := l.Plan(*offset, end, 1+rng.IntN(5000), true)
	if errors.Is(err, ErrOffsetOutOfRange) {
		*offset = l.StartOffset()
		return nil
	}
	if err != nil {
		return fmt.Errorf("plan at %d: %w", *offset, err)
	}
	defer r.Release()
	if r.N == 0 {
		*offset = l.StartOffset()
		return nil
	}
	r.Ready()
	b := make([]byte, r.N)
	if _, err := r.File.ReadAt(b, r.Off); err != nil {
		return fmt.Errorf("read at %d: %w", *offset, err)
	}
	for len(b) > 0 {
		one, err := record.First(b)
		if err != nil {
			return fmt.Errorf("at %d: %w", *offset, err)
		}
		if !one.ChecksumOK() || one.LastOffset() < *offset {
			return fmt.Errorf("at %d: batch %d to %d, checksum %v", *offset, one.BaseOffset(), one.LastOffset(), one.ChecksumOK())
		}
		*offset = one.LastOffset() + 1
		b = b[one.Size():]
	}
	return nil
}

// A range that is held outlives retention and deletion; the file is closed
// when it is released.
func TestHeldRangesSurviveDeletion(t *testing.T) {
	d := openDir(t, vfs.OS{}, t.TempDir()+"/data")
	defer d.Close()
	l, _ := openLog(t, d, smallConfig())
	io := testIO()
	defer io.Close()
	first := batchOf(t0, 1, 500)
	appendAll(t, io, l, 0, first)
	r, err := l.Plan(0, 1, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		b := make([]byte, r.N)
		if _, err := r.File.ReadAt(b, r.Off); err != nil || string(b) != string(first) {
			t.Fatalf("%s: %v, equal %v", when, err, string(b) == string(first))
		}
	}
	for range 20 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 500))
	}
	syncLog(t, io, l)
	if err := l.AdvanceStart(l.EndOffset()); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Retain(t0); err != nil || n == 0 {
		t.Fatalf("retain: %d, %v", n, err)
	}
	waitFor(t, "the segment to be unlinked", func() bool {
		_, err := os.Stat(r.File.Path())
		return os.IsNotExist(err)
	})
	check("after retention")
	path := l.Path()
	if err := l.Delete(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the partition's directory is there: %v", err)
	}
	check("after deletion")
	if _, err := l.Plan(0, 1, 1, true); err == nil {
		t.Error("a deleted log can be planned")
	}
	if _, err := l.Stage(first, 0, t0, t0); !errors.Is(err, ErrClosed) {
		t.Errorf("append to a deleted log: %v", err)
	}
	r.Release()
	eventually(t, "no file is open", func() bool { return d.budget.Open() == 0 }) // the reaper closes some of them
	// The same name again, under a new id, begins at 0.
	l2, _, err := d.OpenLog(testTP, model.TopicID{9}, smallConfig())
	if err != nil || l2.EndOffset() != 0 {
		t.Fatalf("created again: %v", err)
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 30 s for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// Thousands of partitions: creating them touches no disk, and writing to all
// of them keeps the descriptors within the budget once they are synced.
func TestManyPartitions(t *testing.T) {
	const partitions, budget = 300, 64
	path := t.TempDir() + "/data"
	d := openDir(t, vfs.OS{}, path)
	d.UseFileBudget(NewFileBudget(budget))
	io := testIO()
	defer io.Close()
	before, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	logs := make([]*Log, partitions)
	for i := range logs {
		l, _, err := d.OpenLog(model.TopicPartition{Topic: "many", Partition: int32(i)}, testTopic, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		logs[i] = l
	}
	if es, _ := os.ReadDir(path); len(es) != len(before) {
		t.Errorf("creating partitions: %d names in the directory, %d before", len(es), len(before))
	}
	for from := 0; from < partitions; from += 50 {
		round := logs[from : from+50]
		var files []Dirty
		var upTo []int64
		var owner []*Log
		for _, l := range round {
			if _, err := l.Stage(batchOf(t0, 1, 10), 0, t0, t0); err != nil {
				t.Fatal(err)
			}
		}
		if errs := Flush(io, round); errs != nil {
			t.Fatal(errs)
		}
		for _, l := range round {
			var o int64
			files, o = l.BeginSync(files)
			upTo, owner = append(upTo, o), append(owner, l)
		}
		if errs := io.Sync(filesOf(nil, files)); errs != nil {
			t.Fatal(errs)
		}
		for i, l := range owner {
			l.EndSync(upTo[i], false, nil)
		}
		if n := d.budget.Open(); n > budget {
			t.Fatalf("%d files are open, the budget is %d", n, budget)
		}
	}
	for _, l := range logs { // read all: files are opened again
		if got := readAll(t, l, 0, 1000); len(got) != 1 {
			t.Fatalf("%s: %d batches", l.TopicPartition(), len(got))
		}
	}
	if n := d.budget.Open(); n > budget {
		t.Errorf("%d files are open after reading, the budget is %d", n, budget)
	}
	if err := d.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	tps, err := d.Partitions()
	if err != nil || len(tps) != partitions {
		t.Errorf("%d partitions listed, %v", len(tps), err)
	}
	for _, l := range logs {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(d.MarkClean(), d.Close()); err != nil {
		t.Fatal(err)
	}
}
