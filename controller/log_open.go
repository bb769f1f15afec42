package controller

import (
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
)

// openMode says what openLogStore may find.
type openMode struct {
	// covered is the last entry that the checkpoint includes. Files that lie
	// before it and do not join the rest are what a crash brought back of a
	// deletion, and go.
	covered uint64

	// strict is set after a clean stop: then nothing can be torn.
	strict bool

	// reached is the last entry that is known to have been synced, 0 if that is not known:
	// neither it nor one before it can be torn.
	reached uint64
}

// tornFrom is the first entry that a crash may have left torn.
func (m openMode) tornFrom() uint64 {
	switch {
	case m.strict:
		return math.MaxUint64
	case m.reached > m.covered:
		return m.reached + 1
	}
	return 0
}

// lost says that entries are gone which were synced; end is where the log ends in a file.
func (m openMode) lost(path string, end int64, last uint64) error {
	if m.strict || last >= m.reached { // a clean stop has noted more than that
		return nil
	}
	return damaged(path, end, "the log ends with entry %d, and had reached entry %d on the disk", last, m.reached)
}

// openLogStore verifies every file. visit sees every entry in order.
func openLogStore(fsys vfs.FS, dir string, log *slog.Logger, f *fault, mode openMode, visit entryVisitor) (*logStore, error) {
	s := &logStore{fs: fsys, dir: dir, log: log, fault: f, failed: make(chan struct{}, 1), keepAfter: func() uint64 { return 1<<64 - 1 },
		noteReached: func(uint64, bool) error { return nil }}
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var firsts []uint64
	for _, e := range names {
		if first, ok := parseSegmentName(e.Name); ok && !e.IsDir {
			firsts = append(firsts, first)
		}
	}
	slices.Sort(firsts)
	seen := visit
	visit = func(path string, at int64, l *raft.Log) error {
		if l.Index > mode.covered {
			s.unapplied = append(s.unapplied, copyLog(l))
		}
		return seen(path, at, l)
	}
	for n, first := range firsts {
		if err := s.openNext(first, n == len(firsts)-1, mode, visit); err != nil {
			s.close()
			return nil, err
		}
	}
	last, _ := s.LastIndex()
	if err := s.checkReached(mode, max(last, mode.covered)); err != nil {
		s.close()
		return nil, err
	}
	if last < mode.covered {
		if err := s.dropCovered(); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *logStore) checkReached(mode openMode, last uint64) error {
	path, end := filepath.Join(s.dir, segmentName(last+1)), int64(0)
	if n := len(s.segments); n > 0 {
		path, end = s.segments[n-1].path, s.segments[n-1].end
	}
	return mode.lost(path, end, last)
}

func (s *logStore) openNext(first uint64, last bool, mode openMode, visit entryVisitor) error {
	path := filepath.Join(s.dir, segmentName(first))
	if n := len(s.segments); n > 0 && s.segments[n-1].next() != first {
		if before := s.segments[n-1].next() - 1; first > mode.covered+1 || first <= before {
			return damaged(path, 0, "the file begins with entry %d, the one before ends with entry %d", first, before)
		}
		if err := s.dropCovered(); err != nil {
			return err
		}
	}
	tornFrom := uint64(math.MaxUint64)
	if last {
		tornFrom = mode.tornFrom()
	}
	seg, cut, err := openSegment(s.fs, path, tornFrom, visit)
	if errors.Is(err, errTornStart) {
		s.log.Warn("remove a metadata log file that a crash left half made", "file", path)
		return s.discard(path)
	}
	if err != nil {
		return err
	}
	if cut > 0 {
		s.log.Warn("cut the torn tail of the metadata log, which nobody was told of", "file", path, "at", seg.end, "bytes", cut)
	}
	if len(seg.starts) == 0 {
		if first < tornFrom && tornFrom < math.MaxUint64 {
			return errors.Join(damaged(path, seg.end, "entry %d is missing", first), seg.file.Close())
		}
		return errors.Join(seg.file.Close(), s.discard(path))
	}
	s.segments = append(s.segments, seg)
	if s.first == 0 {
		s.first = seg.first
	}
	return nil
}

func (s *logStore) discard(path string) error {
	if err := s.fs.Remove(path); err != nil {
		return err
	}
	return s.fs.SyncDir(s.dir)
}

// dropCovered removes all files opened so far: a checkpoint has what they hold.
func (s *logStore) dropCovered() error {
	for _, seg := range s.segments {
		if err := errors.Join(seg.file.Close(), s.fs.Remove(seg.path)); err != nil {
			return err
		}
	}
	if len(s.segments) > 0 {
		s.segments, s.first = nil, 0
		return s.fs.SyncDir(s.dir)
	}
	return nil
}
