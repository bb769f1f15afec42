package segment

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// interleaved is a log with cleanup.policy=compact,delete and its model. A pass of compaction
// runs step by step, and between two steps its owner appends, syncs, retains and deletes
// records, or is killed.
type interleaved struct {
	t     testing.TB
	seed  uint64
	rng   *rand.Rand
	mem   *vfs.Mem
	d     *Dir
	l     *Log
	io    LogIO
	cfg   Config
	now   int64
	model []keyed // by offset
	start int64
	seen  int64 // no pass was told of records at or above it
	trace []string

	between map[string]int // what happened within passes
}

type keyed struct{ key, value string } // a tombstone has no value

func newInterleaved(t testing.TB, seed uint64, between map[string]int) *interleaved {
	s := &interleaved{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 5)), mem: vfs.NewMem(), io: testIO(), cfg: smallConfig(), now: t0, between: between}
	s.cfg.SegmentBytes = int32(400 + s.rng.IntN(1500))
	s.cfg.CompactPolicy, s.cfg.DeletePolicy = true, true
	s.cfg.DeleteRetentionMs = math.MaxInt32
	s.open()
	return s
}

func (s *interleaved) open() {
	s.d = openDir(s.t, s.mem, "/data")
	s.l, _ = openLog(s.t, s.d, s.cfg)
}

func (s *interleaved) fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("seed %d: %s\nafter:\n%s", s.seed, fmt.Sprintf(format, args...), strings.Join(s.trace[max(0, len(s.trace)-40):], "\n"))
}

func (s *interleaved) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
}

func (s *interleaved) append() {
	b := record.NewBuilder()
	if s.rng.IntN(4) == 0 {
		b.Codec = record.Zstd
	}
	n := 1 + s.rng.IntN(4)
	for range n {
		k := keyed{key: fmt.Sprint("key", s.rng.IntN(6))}
		var value []byte
		if s.rng.IntN(8) > 0 {
			k.value = fmt.Sprintf("%d %s", len(s.model), strings.Repeat("x", s.rng.IntN(60)))
			value = []byte(k.value)
		}
		s.now++
		b.Add(s.now, []byte(k.key), value)
		s.model = append(s.model, k)
	}
	appendAll(s.t, s.io, s.l, 0, b.Build())
	if end := s.l.EndOffset(); end != int64(len(s.model)) {
		s.fatalf("the log ends at %d, want %d", end, len(s.model))
	}
}

// owner does one thing that the log's owner may do at any time.
func (s *interleaved) owner() (what string) {
	switch s.rng.IntN(7) {
	case 0, 1, 2:
		what = "append"
		s.append()
	case 3:
		what = "sync"
		syncLog(s.t, s.io, s.l)
	case 4:
		what = "delete records"
		to := s.start + s.rng.Int64N(min(int64(len(s.model))-s.start, 12)+1)
		if err := s.l.AdvanceStart(to); err != nil || s.l.StartOffset() != to {
			s.fatalf("delete records below %d: start %d, %v", to, s.l.StartOffset(), err)
		}
		s.start = to
	case 5:
		what = "retain"
		cfg := s.cfg
		cfg.RetentionBytes = s.l.Size() - s.rng.Int64N(2000)
		if s.rng.IntN(8) == 0 {
			cfg.RetentionBytes = 0
		}
		s.l.SetConfig(cfg)
		if _, err := s.l.Retain(s.now); err != nil {
			s.fatalf("retain: %v", err)
		}
		s.l.SetConfig(s.cfg)
		if got := s.l.StartOffset(); got < s.start || got > int64(len(s.model)) {
			s.fatalf("retention moves the start from %d to %d", s.start, got)
		}
		s.start = s.l.StartOffset()
	case 6:
		what = "checkpoint"
		if err := s.d.Checkpoint(); err != nil {
			s.fatalf("checkpoint: %v", err)
		}
	}
	s.note("%s: offsets %d to %d", what, s.start, len(s.model))
	return what
}

// pass runs a cleaning, with what its owner does between its steps.
func (s *interleaved) pass() {
	at, goOn, ended := make(chan func()), make(chan struct{}), make(chan error)
	s.seen = s.l.EndOffset()
	o := CleanOptions{Config: s.cfg, Stable: s.seen, NowMs: s.now, MapBytes: int64(200 + s.rng.IntN(2000)), MapLoad: 0.9,
		Pace: func(int) error { at <- nil; <-goOn; return nil },
		Replace: func(r *Replacement) (err error) {
			at <- func() { err = s.l.Replace(r) }
			<-goOn
			return err
		}}
	s.note("a pass begins at %d", s.seen)
	go func() {
		_, err := s.l.Clean(o)
		ended <- err
	}()
	for {
		select {
		case replace := <-at:
			for s.rng.IntN(4) == 0 {
				s.between[s.owner()]++
			}
			if s.rng.IntN(30) == 0 {
				s.between["kill"]++
				s.check(s.killed(), "killed within a pass")
			}
			if s.rng.IntN(8) == 0 {
				s.check(s.l, "within a pass")
			}
			if replace != nil {
				replace()
				s.between["replace"]++
				s.check(s.l, "after a replacement")
			}
			goOn <- struct{}{}
		case err := <-ended:
			if errors.Is(err, ErrSuperseded) {
				s.between["superseded"]++
			} else if err != nil {
				s.fatalf("clean: %v", err)
			}
			s.check(s.l, "after a pass")
			return
		}
	}
}

// killed is the log as a new process finds it.
func (s *interleaved) killed() *Log {
	l, rep := openLog(s.t, openDir(s.t, s.mem.KillClone(), "/data"), s.cfg)
	if rep.Damaged() || rep.CutBytes > 0 {
		s.fatalf("killed: %+v", rep)
	}
	return l
}

// check compares what can be read with the model: every record is what was written at its
// offset, and one is missing only if a pass knew a newer one of its key.
func (s *interleaved) check(l *Log, when string) {
	s.t.Helper()
	if l.StartOffset() != s.start || l.EndOffset() != int64(len(s.model)) {
		s.fatalf("%s: offsets %d to %d, want %d to %d", when, l.StartOffset(), l.EndOffset(), s.start, len(s.model))
	}
	got, last := make([]bool, len(s.model)), int64(-1)
	for _, b := range readAll(s.t, l, s.start, 700) {
		err := record.Each(b, func(r record.Record) (bool, error) {
			if want := s.model[r.Offset]; r.Offset <= last || string(r.Key) != want.key || string(r.Value) != want.value {
				s.fatalf("%s: offset %d behind %d has %s=%q, want %s=%q", when, r.Offset, last, r.Key, r.Value, want.key, want.value)
			}
			last, got[r.Offset] = r.Offset, true
			return true, nil
		})
		if err != nil {
			s.fatalf("%s: %v", when, err)
		}
	}
	newer := map[string]bool{} // keys that have a record between here and where passes have looked
	for o := int64(len(s.model)) - 1; o >= s.start; o-- {
		key := s.model[o].key
		if !got[o] && !newer[key] {
			s.fatalf("%s: the record at %d is gone, and no pass knew a newer one of %s", when, o, key)
		}
		newer[key] = newer[key] || o < s.seen
	}
}

// Retention and DeleteRecords, appends and kills between any two steps of a pass of
// compaction, over random histories.
func TestOwnerWorksWithinAPass(t *testing.T) {
	between := map[string]int{}
	for seed := range max(histories(40), 10) {
		s := newInterleaved(t, seed, between)
		for range 12 {
			for range s.rng.IntN(12) {
				s.owner()
			}
			s.pass()
			if s.rng.IntN(4) == 0 {
				s.mem = s.mem.KillClone()
				s.open()
				s.check(s.l, "killed")
			}
		}
		s.io.Close()
	}
	for _, what := range []string{"append", "sync", "delete records", "retain", "checkpoint", "kill", "replace", "superseded"} {
		if between[what] == 0 {
			t.Errorf("%s has not happened within a pass: %v", what, between)
		}
	}
	t.Logf("within passes: %v", between)
}
