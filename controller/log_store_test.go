package controller

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
)

func openLogs(t testing.TB, fsys vfs.FS, mode openMode) *logStore {
	t.Helper()
	s, err := openLogStore(fsys, "/meta", slog.New(slog.DiscardHandler), newFault(), mode, func(string, int64, *raft.Log) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkLogs compares the store with the entries that it should have.
func checkLogs(t *testing.T, s *logStore, want []raft.Log) {
	t.Helper()
	first, _ := s.FirstIndex()
	last, _ := s.LastIndex()
	if len(want) == 0 {
		if first != 0 || last != 0 {
			t.Fatalf("entries %d to %d, want none", first, last)
		}
		return
	}
	if last != want[len(want)-1].Index || first == 0 || first > want[0].Index {
		t.Fatalf("entries %d to %d, want %d to %d", first, last, want[0].Index, want[len(want)-1].Index)
	}
	for _, w := range want {
		var l raft.Log
		if err := s.GetLog(w.Index, &l); err != nil {
			t.Fatal(err)
		}
		if l.Index != w.Index || l.Term != w.Term || l.Type != w.Type || !bytes.Equal(l.Data, w.Data) ||
			!bytes.Equal(l.Extensions, w.Extensions) || !l.AppendedAt.Equal(w.AppendedAt) {
			t.Fatalf("entry %+v, want %+v", l, w)
		}
	}
	for _, index := range []uint64{0, last + 1} {
		if err := s.GetLog(index, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatalf("entry %d: %v", index, err)
		}
	}
}

// Random operations against a slice; reopened, killed and cut off from power in
// between.
func TestLogStoreAgainstAModel(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 3))
		mem := vfs.NewMem()
		mem.MkdirAll("/meta")
		mem.SyncDir("/")
		s := openLogs(t, mem, openMode{})
		var want []raft.Log
		next, term, covered := uint64(1), uint64(1), uint64(0)
		for range 250 {
			switch rng.IntN(12) {
			case 0: // what raft does after a checkpoint
				if len(want) > 1 {
					n := rng.IntN(len(want) - 1)
					covered = want[n].Index
					first, _ := s.FirstIndex() // a reopened store begins with the first of a file
					if err := s.DeleteRange(first, covered); err != nil {
						t.Fatal(err)
					}
					want = want[n+1:]
				}
			case 1: // what a follower does when its entries conflict
				if len(want) > 2 {
					n := 1 + rng.IntN(len(want)-1)
					if err := s.DeleteRange(want[n].Index, next-1); err != nil {
						t.Fatal(err)
					}
					next = want[n].Index
					want = want[:n]
					term++
				}
			case 2: // after a leader's checkpoint was installed
				if rng.IntN(4) == 0 && len(want) > 0 {
					first, _ := s.FirstIndex()
					if err := s.DeleteRange(first, next-1); err != nil {
						t.Fatal(err)
					}
					want, next = nil, next+uint64(rng.IntN(50))
					covered = next - 1
				}
			case 3:
				if err := s.close(); err != nil {
					t.Fatal(err)
				}
				s = openLogs(t, mem, openMode{covered: covered})
			case 4:
				s.close()
				mem = mem.CrashClone(rng)
				s = openLogs(t, mem, openMode{covered: covered})
			case 5:
				if len(want) > 0 {
					s.applied(want[rng.IntN(len(want))].Index)
				}
			default:
				var logs []*raft.Log
				for range 1 + rng.IntN(6) {
					data := make([]byte, rng.IntN(3)*rng.IntN(40_000))
					for i := range data {
						data[i] = byte(rng.Uint32())
					}
					l := raft.Log{Index: next, Term: term, Type: raft.LogCommand, Data: data, AppendedAt: time.Unix(int64(next), 5)}
					if rng.IntN(2) == 0 {
						l.Extensions = []byte("extension")
					}
					want, next = append(want, l), next+1
					logs = append(logs, &want[len(want)-1])
				}
				if err := s.StoreLogs(logs); err != nil {
					t.Fatal(err)
				}
			}
			checkLogs(t, s, want)
		}
	}
}

func TestLogStoreRefusesWhatRaftMustNotDo(t *testing.T) {
	mem := vfs.NewMem()
	mem.MkdirAll("/meta")
	s := openLogs(t, mem, openMode{})
	var logs []*raft.Log
	for n := range uint64(9) {
		logs = append(logs, &raft.Log{Index: n + 1, Term: 1})
	}
	if err := s.StoreLogs(logs); err != nil {
		t.Fatal(err)
	}
	if err := s.StoreLog(&raft.Log{Index: 11, Term: 1}); err == nil {
		t.Error("an entry was stored behind a hole")
	}
	if err := s.StoreLog(&raft.Log{Index: 10, Term: 1, Data: make([]byte, maxEntryBytes+1)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("entry above the limit: %v", err)
	}
	if err := s.DeleteRange(3, 5); err == nil {
		t.Error("a hole was made")
	}
	if err := s.DeleteRange(20, 30); err != nil {
		t.Errorf("deleting nothing: %v", err)
	}
	if err := s.StoreLog(&raft.Log{Index: 10, Term: 1}); err != nil {
		t.Error(err)
	}
}

// Several entries of one write are cut together, at whatever sector it stopped.
func TestTornWriteOfSeveralEntries(t *testing.T) {
	for missing := range 7 {
		mem := vfs.NewMem()
		mem.MkdirAll("/meta")
		s := openLogs(t, mem, openMode{})
		entry := func(index uint64) *raft.Log {
			return &raft.Log{Index: index, Term: 1, Data: bytes.Repeat([]byte{7}, 300)}
		}
		if err := s.StoreLogs([]*raft.Log{entry(1), entry(2)}); err != nil {
			t.Fatal(err)
		}
		keep := s.tail().size
		if err := s.StoreLogs([]*raft.Log{entry(3), entry(4), entry(5), entry(6), entry(7), entry(8)}); err != nil {
			t.Fatal(err)
		}
		s.close()
		path := "/meta/" + segmentName(1)
		b, err := vfs.ReadFile(mem, path)
		if err != nil {
			t.Fatal(err)
		}
		from := max(int(keep), (int(keep)/sectorBytes+missing)*sectorBytes)
		if from >= len(b) {
			continue
		}
		clear(b[from:min(len(b), from/sectorBytes*sectorBytes+sectorBytes)])
		putFile(t, mem, segmentName(1), b)
		s = openLogs(t, mem, openMode{})
		last, _ := s.LastIndex()
		if last < 2 || last >= 8 {
			t.Errorf("sector %d missing: the log ends with entry %d", missing, last)
		}
		if err := s.StoreLog(entry(last + 1)); err != nil {
			t.Error(err)
		}
		s.close()
	}
}

func FuzzOpenSegment(f *testing.F) {
	frames := segmentHeader(1)
	for n := range uint64(4) {
		frames = appendFrame(frames, &raft.Log{Index: n + 1, Term: 1, Data: []byte(fmt.Sprint("entry ", n))}, n/2*2+1)
	}
	f.Add(frames, true)
	f.Add(frames[:len(frames)-3], true)
	f.Fuzz(func(t *testing.T, b []byte, mayBeTorn bool) {
		tornFrom := uint64(math.MaxUint64)
		if mayBeTorn {
			tornFrom = 0
		}
		mem := vfs.NewMem()
		mem.MkdirAll("/meta")
		putFile(t, mem, segmentName(1), b)
		s, cut, err := openSegment(mem, "/meta/"+segmentName(1), tornFrom, func(string, int64, *raft.Log) error { return nil })
		switch {
		case err == nil && cut > 0 && !mayBeTorn:
			t.Fatal("cut a file that could not be torn")
		case err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) && !errors.Is(err, errTornStart):
			t.Fatalf("error of no kind: %v", err)
		case err == nil:
			for index := s.first; index < s.next(); index++ {
				at, size := s.extent(index)
				if err := readEntry(s.file, s.path, at, size, index, new(raft.Log)); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
