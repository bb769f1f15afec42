package partition

import (
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/record"
	"ringmain/segment"
)

// lateIO is a lane whose syncs take their time, so that lanes and journal overlap.
type lateIO struct{ segment.LogIO }

func (io lateIO) Sync(files []*segment.File) []error {
	time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
	errs := io.LogIO.Sync(files)
	time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
	return errs
}

// TestAcknowledgedSurvivesPowerCuts: appends of all sizes to many logs, through lanes and
// journal at once, with rolls and background syncs; whenever the power goes, what was
// answered by then is there.
func TestAcknowledgedSurvivesPowerCuts(t *testing.T) {
	const logs, cuts = 12, 15
	quiet := slog.New(slog.DiscardHandler)
	ident := segment.Ident{ClusterID: "c", NodeID: 1}
	mem := vfs.NewMem()
	dir, err := segment.OpenDir(mem, "/data", ident, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var lanes []segment.LogIO
	for range segment.SyncLanes {
		lanes = append(lanes, lateIO{segment.NewPwritevIO()})
	}
	s := NewShard(Config{SyncBytes: 1 << 20, SyncAge: time.Hour, JournalBytes: 256 << 10, Observe: silent{}}, segment.NewPwritevIO(), lanes, quiet)
	set := &Settings{Log: segment.DefaultConfig(), MinInSyncReplicas: 1, FlushMessages: 20, FlushMs: 1 << 62}
	set.Log.SegmentBytes = 60_000
	ids := make([]model.TopicID, logs)
	acked := make([]atomic.Int64, logs)
	var answers atomic.Int64
	var replicas []*Replica
	open := func(d *segment.Dir, i int) *segment.Log {
		l, _, err := d.OpenLog(model.TopicPartition{Topic: "t" + strconv.Itoa(i)}, ids[i], set.Log)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for i := range logs {
		ids[i] = model.NewTopicID()
		r := NewReplica(model.TopicPartition{Topic: "t" + strconv.Itoa(i)}, ids[i], open(dir, i), set, Role{Leader: 1, ISR: 1, Replicas: 1, Local: true})
		if err := s.Adopt(r); err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, r)
	}
	stop := make(chan struct{})
	var work sync.WaitGroup
	for i, r := range replicas {
		work.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				value := make([]byte, 10)
				if i%4 == 0 && n%3 == 0 || n%17 == 0 {
					value = make([]byte, rand.IntN(40_000))
				}
				b := record.NewBuilder()
				b.ProducerID, b.ProducerEpoch, b.BaseSequence = -1, -1, -1
				b.Add(time.Now().UnixMilli(), []byte("key"), value)
				batch := b.Build()
				done := make(answered, 1)
				a := &Append{Replica: r, Batch: batch, MaxTimestamp: batch.MaxTimestamp(), AppendTimeMs: -1, AcksAll: n%5 != 4, Done: done}
				if err := s.PostAppends([]*Append{a}); err != nil {
					t.Error(err)
					return
				}
				if a := <-done; a.Err != nil {
					t.Error(a.Err)
					return
				} else if a.AcksAll {
					acked[i].Store(a.BaseOffset + 1)
					answers.Add(1)
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range cuts {
		next := answers.Load() + rng.Int64N(20*logs)
		eventually(t, "no append is answered", func() bool { return answers.Load() >= next })
		if rng.IntN(3) == 0 {
			if err := dir.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
		var was [logs]int64
		for i := range was {
			was[i] = acked[i].Load()
		}
		clone := mem.CrashClone(rng)
		d, err := segment.OpenDir(clone, "/data", ident, quiet)
		if err != nil {
			t.Fatal(err)
		}
		for i := range was {
			l := open(d, i)
			if l.EndOffset() < was[i] {
				t.Errorf("log %d ends at %d, %d was acknowledged", i, l.EndOffset(), was[i])
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	work.Wait()
	if b, err := vfs.ReadFile(mem, "/data/ringmain-journal-0"); err != nil || len(b) < 4100 || string(b[4096:4100]) != "RMJC" {
		t.Errorf("nothing went through a journal (error %v)", err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Error(err)
	}
}
