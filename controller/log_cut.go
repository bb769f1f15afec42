package controller

import (
	"fmt"
	"slices"

	"github.com/hashicorp/raft"
)

// DeleteRange deletes from the front (whole files; the rest of a file stays
// until all of it may go) or from the back.
func (s *logStore) DeleteRange(from, to uint64) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.fault.check(); err != nil {
		return err
	}
	s.mu.Lock()
	first, last := s.first, s.lastLocked()
	s.unapplied = slices.DeleteFunc(s.unapplied, func(l raft.Log) bool {
		return from <= first && l.Index <= to || to >= last && l.Index >= from
	})
	s.mu.Unlock()
	switch {
	case first == 0 || to < first || from > last || from > to:
		return nil
	case from <= first && to >= last:
		return s.deleteFront(to)
	case from <= first:
		return s.deleteFront(min(to, s.keepAfter()))
	case to >= last:
		return s.deleteBack(from)
	}
	return fmt.Errorf("entries %d to %d lie inside the metadata log, which can be cut at its ends only (%d to %d)", from, to, first, last)
}

// deleteFront removes the oldest file first: a crash leaves a log without holes.
func (s *logStore) deleteFront(to uint64) error {
	for {
		s.mu.Lock()
		if len(s.segments) == 0 || s.segments[0].next() > to+1 {
			if s.first = max(s.first, to+1); len(s.segments) == 0 {
				s.first = 0
			}
			s.mu.Unlock()
			return nil
		}
		seg := s.segments[0]
		s.mu.Unlock()
		if err := s.fs.Remove(seg.path); err != nil {
			return fmt.Errorf("%w: remove %s: %w", ErrStorage, seg.path, err)
		}
		s.mu.Lock()
		s.segments = slices.Delete(s.segments, 0, 1)
		s.first = seg.next()
		seg.file.Close()
		s.mu.Unlock()
	}
}

// deleteBack removes the newest file first, for the same reason.
func (s *logStore) deleteBack(from uint64) error {
	if err := s.noteReached(from-1, true); err != nil { // what goes must not look like lost later
		return s.fault.set("note the end of the metadata log", err)
	}
	for {
		seg := s.segments[len(s.segments)-1]
		if seg.first < from {
			break
		}
		s.mu.Lock()
		s.segments = s.segments[:len(s.segments)-1]
		seg.file.Close()
		s.mu.Unlock()
		if err := s.fs.Remove(seg.path); err != nil {
			return s.fault.set("remove "+seg.path, err)
		}
		if err := s.fs.SyncDir(s.dir); err != nil { // one by one: a crash brings none back behind a hole
			return s.fault.set("sync "+s.dir, err)
		}
	}
	seg := s.segments[len(s.segments)-1]
	if from == seg.next() {
		return nil
	}
	at, _ := seg.extent(from)
	s.mu.Lock()
	seg.starts, seg.end, seg.allocated = seg.starts[:from-seg.first], at, at
	s.mu.Unlock()
	err := seg.file.Truncate(at)
	if err == nil {
		err = seg.file.SyncData() // before new entries: a crash must not mix them with the old
	}
	if err != nil {
		return s.fault.set("cut "+seg.path, err)
	}
	return nil
}
