package segment

import (
	"fmt"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/record"
)

// warmLog has appended enough that all scratch has its size.
func warmLog(t testing.TB, io LogIO) *Log {
	d := openDir(t, vfs.OS{}, t.TempDir()+"/data")
	t.Cleanup(func() { d.Close() })
	cfg := DefaultConfig()
	l, _ := openLog(t, d, cfg)
	t.Cleanup(func() { l.Close() })
	for range 600 {
		appendAll(t, io, l, 0, batchOf(t0, 10, 1000))
	}
	return l
}

func TestAppendAndPlanAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool forget on purpose")
	}
	eachBackend(func(be backend) {
		t.Run(be.name, func(t *testing.T) {
			io := be.make()
			defer io.Close()
			l := warmLog(t, io)
			b := produced(7, 0, 0, t0, 5)
			batches := []record.Batch{batchOf(t0, 10, 1000), b, batchOf(t0, 1, 100)}
			logs := []*Log{l}
			if n := testing.AllocsPerRun(200, func() {
				for _, b := range batches {
					if _, err := l.Stage(b, 0, t0, t0); err != nil {
						t.Fatal(err)
					}
				}
				if errs := Flush(io, logs); errs != nil {
					t.Fatal(errs)
				}
			}); n >= 1 {
				t.Errorf("a round of three batches allocates %v times", n)
			}
			plan := func(offset, limit int64, size int) {
				r, err := l.Plan(offset, limit, size, true)
				if err != nil || r.N == 0 {
					t.Fatal(r, err)
				}
				if !r.Hot() {
					t.Fatal("just written, and not in the page cache")
				}
				r.Release()
			}
			end := l.EndOffset()
			for name, f := range map[string]func(){
				"tail":       func() { plan(end-1, end, 1<<20) },
				"cold start": func() { plan(5, end, 64<<10) },
				"limited":    func() { plan(700, end-2000, 1<<20) },
			} {
				if n := testing.AllocsPerRun(200, f); n >= 1 {
					t.Errorf("plan (%s) allocates %v times", name, n)
				}
			}
			if n := testing.AllocsPerRun(100, func() {
				if dup, err := l.CheckProducer(b, t0); dup == nil || err != nil {
					t.Fatal(dup, err)
				}
			}); n >= 1 {
				t.Errorf("check of a duplicate allocates %v times", n)
			}
		})
	})
}

func BenchmarkRound(b *testing.B) {
	for _, be := range backends {
		for _, size := range []int{200, 64 << 10} {
			b.Run(fmt.Sprintf("%s/%d", be.name, size), func(b *testing.B) {
				io := be.make()
				defer io.Close()
				l := warmLog(b, io)
				cfg := DefaultConfig()
				cfg.SegmentBytes = 64 << 20
				cfg.RetentionBytes, cfg.DeleteDelayMs = 0, 0
				l.SetConfig(cfg)
				batch := batchOf(t0, 1, size)
				logs := []*Log{l}
				b.SetBytes(int64(len(batch)))
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, err := l.Stage(batch, 0, t0, t0); err != nil {
						b.Fatal(err)
					}
					if errs := Flush(io, logs); errs != nil {
						b.Fatal(errs)
					}
					if i%4096 == 0 {
						syncLog(b, io, l)
						l.Retain(t0)
					}
				}
			})
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	io := testIO()
	defer io.Close()
	l := warmLog(b, io)
	end := l.EndOffset()
	for name, f := range map[string]func(i int) (int64, int){
		"tail":     func(int) (int64, int) { return end - 1, 1 << 20 },
		"catch-up": func(i int) (int64, int) { return int64(i*50) % (end - 1000), 64 << 10 },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				offset, size := f(i)
				r, err := l.Plan(offset, end, size, true)
				if err != nil {
					b.Fatal(err)
				}
				r.Release()
			}
		})
	}
}

func BenchmarkOpenClean(b *testing.B) {
	d := openDir(b, vfs.OS{}, b.TempDir()+"/data")
	defer d.Close()
	io := testIO()
	defer io.Close()
	cfg := DefaultConfig()
	l, _, err := d.OpenLog(model.TopicPartition{Topic: "t"}, testTopic, cfg)
	if err != nil {
		b.Fatal(err)
	}
	appendAll(b, io, l, 0, batchOf(t0, 10, 100))
	for b.Loop() {
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		if l, _, err = d.OpenLog(model.TopicPartition{Topic: "t"}, testTopic, cfg); err != nil {
			b.Fatal(err)
		}
	}
	l.Close()
}
