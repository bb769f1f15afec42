package segment

import "errors"

// FileSync makes what a log holds durable in its own files, where a journal has
// it so far, and raises the recovery point. Compaction needs that: what it
// replaces must lie before the point, or a replay of the journal would write into
// it.
type FileSync struct {
	log   *Log
	files []*File // each with a reference
	point point
}

// BeginFileSync takes the files from the recovery point on. Run must follow.
// Owner.
func (l *Log) BeginFileSync() (*FileSync, error) {
	if err := l.Err(); err != nil {
		return nil, err
	}
	s := &FileSync{log: l, point: l.pointNow()}
	l.mu.Lock()
	from := l.point.segBase
	l.mu.Unlock()
	for _, seg := range l.segs {
		if seg.base < from || !seg.onDisk {
			continue
		}
		if err := seg.file.acquire(); err != nil {
			s.release()
			return nil, err
		}
		s.files = append(s.files, seg.file)
	}
	return s, nil
}

// Run syncs the files. An error is final for the log. Any goroutine; waits for
// the disk.
func (s *FileSync) Run() error {
	defer s.release()
	if err := errors.Join(syncInTurn(s.files)...); err != nil {
		if s.log.closed.Load() {
			return ErrClosed // nobody misses what was removed
		}
		return s.log.fail(err)
	}
	s.log.raisePoint(s.point)
	return nil
}

func (s *FileSync) release() {
	for _, f := range s.files {
		f.Release()
	}
	s.files = nil
}
