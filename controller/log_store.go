package controller

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
)

// logStore is raft's log on disk: segment files of frames, every write synced
// before it returns. It implements raft.LogStore and raft.MonotonicLogStore.
//
// writing is held through I/O by the one that appends or deletes (raft's main
// goroutine, its snapshot goroutine); mu only guards what readers look at, so
// a read never waits for a sync.
type logStore struct {
	fs    vfs.FS
	dir   string
	log   *slog.Logger
	fault *fault

	// beforeAppend runs once, before the first append.
	beforeAppend func() error

	// noteReached is told of the last entry when it has changed: when entries were
	// synced, and before some are taken back (synced).
	noteReached func(index uint64, synced bool) error

	// keepAfter returns the index up to which entries may be deleted from the
	// front: those of the older checkpoint's.
	keepAfter func() uint64

	failed chan struct{} // capacity 1: an append failed

	writing sync.Mutex
	buf     []byte

	mu       sync.RWMutex
	segments []*logSegment
	first    uint64 // 0 when empty
	bytes    int64  // appended since the store was opened
	failure  error  // of the last append, nil when it succeeded

	// unapplied holds the last entries, those that the state machine has not
	// applied yet (with what lies between). raft reads them back to apply them,
	// and panics when that fails.
	unapplied []raft.Log
}

var (
	_ raft.LogStore          = (*logStore)(nil)
	_ raft.MonotonicLogStore = (*logStore)(nil)
)

func (s *logStore) IsMonotonic() bool { return true }

func (s *logStore) FirstIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.first, nil
}

func (s *logStore) LastIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.lastLocked(), nil
}

func (s *logStore) lastLocked() uint64 {
	if s.first == 0 {
		return 0
	}
	return s.segments[len(s.segments)-1].next() - 1
}

func (s *logStore) GetLog(index uint64, l *raft.Log) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.first == 0 || index < s.first || index > s.lastLocked() {
		return raft.ErrLogNotFound
	}
	if n := len(s.unapplied); n > 0 && index >= s.unapplied[0].Index {
		*l = s.unapplied[index-s.unapplied[0].Index]
		return nil
	}
	i, found := slices.BinarySearchFunc(s.segments, index, func(seg *logSegment, index uint64) int {
		switch {
		case index < seg.first:
			return 1
		case index >= seg.next():
			return -1
		}
		return 0
	})
	if !found {
		return raft.ErrLogNotFound
	}
	seg := s.segments[i]
	at, size := seg.extent(index)
	return readEntry(seg.file, seg.path, at, size, index, l)
}

func (s *logStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs appends entries with one write and one sync. After an error none of
// them is in the log.
func (s *logStore) StoreLogs(logs []*raft.Log) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.store(logs)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure = err; err != nil {
		select {
		case s.failed <- struct{}{}:
		default:
		}
		return err
	}
	for _, l := range logs {
		s.unapplied = append(s.unapplied, *l)
	}
	if n := len(logs); n > 0 {
		if err := s.noteReached(logs[n-1].Index, false); err != nil { // the entries are there all the same
			s.log.Warn("cannot note how far the metadata log has come; that it is cut would not be found", "error", err)
		}
	}
	return nil
}

// applied lets go of entries that the state machine has applied.
func (s *logStore) applied(index uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.unapplied) && s.unapplied[n].Index <= index {
		s.unapplied[n] = raft.Log{}
		n++
	}
	if s.unapplied = s.unapplied[n:]; len(s.unapplied) == 0 {
		s.unapplied = nil
	}
}

// copyLog copies an entry whose slices belong to a buffer.
func copyLog(l *raft.Log) raft.Log {
	c := *l
	c.Data, c.Extensions = bytes.Clone(l.Data), bytes.Clone(l.Extensions)
	return c
}

// lastFailure returns why the last append failed, nil when it did not.
func (s *logStore) lastFailure() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.failure
}

func (s *logStore) forgetFailure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = nil
	select {
	case <-s.failed:
	default:
	}
}

func (s *logStore) store(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	if err := s.fault.check(); err != nil {
		return err
	}
	if s.beforeAppend != nil {
		if err := s.beforeAppend(); err != nil {
			return err
		}
		s.beforeAppend = nil
	}
	if last, _ := s.LastIndex(); last != 0 && logs[0].Index != last+1 {
		return fmt.Errorf("entry %d cannot follow entry %d in the metadata log", logs[0].Index, last)
	}
	roll := s.shouldRoll()
	frames := s.buf[:0]
	if roll {
		frames = append(frames, make([]byte, segmentHeaderSize)...)
	}
	for _, l := range logs {
		if len(l.Data)+len(l.Extensions) > maxEntryBytes {
			return fmt.Errorf("%w: entry %d has %d bytes, the limit is %d", ErrTooLarge, l.Index, len(l.Data), maxEntryBytes)
		}
		frames = appendFrame(frames, l, logs[0].Index)
	}
	if s.buf = frames; cap(frames) > segmentRollBytes {
		s.buf = nil
	}
	if roll {
		return s.appendToNew(logs[0].Index, frames)
	}
	return s.appendToLast(frames)
}

func (s *logStore) shouldRoll() bool {
	if n := len(s.segments); n > 0 {
		return s.segments[n-1].end >= segmentRollBytes
	}
	return true
}

func (s *logStore) appendToNew(first uint64, frames []byte) error {
	seg, err := createSegment(s.fs, s.dir, first, frames)
	if err != nil {
		return fmt.Errorf("%w: begin %s: %w", ErrStorage, filepath.Join(s.dir, segmentName(first)), err)
	}
	if err := seg.sync(s.fs); err != nil {
		return s.fault.set("sync "+seg.path, errors.Join(err, seg.file.Close()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.segments = append(s.segments, seg)
	s.bytes += int64(len(frames))
	if s.first == 0 {
		s.first = first
	}
	return nil
}

func (s *logStore) appendToLast(frames []byte) error {
	seg := s.segments[len(s.segments)-1]
	if _, err := seg.file.WriteAt(frames, seg.end); err != nil {
		// Part of it may be there. Without it the file is as it was, and the next
		// attempt is as good as the first.
		cut := seg.file.Truncate(seg.end)
		if cut == nil {
			cut = seg.file.SyncData()
		}
		seg.allocated = seg.end
		if cut != nil {
			return s.fault.set("undo a failed write to "+seg.path, errors.Join(err, cut))
		}
		return fmt.Errorf("%w: append to %s: %w", ErrStorage, seg.path, err)
	}
	if err := seg.file.SyncData(); err != nil {
		return s.fault.set("sync "+seg.path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == 0 {
		s.first = seg.first
	}
	seg.index(frames)
	s.bytes += int64(len(frames))
	return nil
}

// Reserve makes sure that an entry with n bytes of data can be stored, by
// reserving the blocks. A change that does not fit is refused before raft has
// heard of it: raft would give up leading because of it.
func (s *logStore) Reserve(n int) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.fault.check(); err != nil {
		return err
	}
	if s.shouldRoll() {
		_, usable, err := s.fs.Space(s.dir)
		if err == nil && usable < int64(n)+2*reserveStep {
			return fmt.Errorf("%w: there is no room for %d bytes in %s: %d are free", ErrStorage, n, s.dir, usable)
		}
		return nil // what cannot be said now is found out when the file is written
	}
	seg := s.segments[len(s.segments)-1]
	if err := seg.reserve(int64(n) + frameHeaderSize + 1); err != nil {
		return fmt.Errorf("%w: there is no room for %d bytes in %s: %w", ErrStorage, n, seg.path, err)
	}
	return nil
}

// appended returns the bytes written since the store was opened.
func (s *logStore) appended() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bytes
}

// tail says where the log ends: for the mark of a clean stop.
func (s *logStore) tail() logTail {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := logTail{lastIndex: s.lastLocked()}
	if n := len(s.segments); n > 0 {
		t.segment, t.size = s.segments[n-1].first, uint64(s.segments[n-1].end)
	}
	return t
}

func (s *logStore) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, seg := range s.segments {
		errs = append(errs, seg.file.Close())
	}
	s.segments, s.first, s.unapplied = nil, 0, nil
	return errors.Join(errs...)
}
