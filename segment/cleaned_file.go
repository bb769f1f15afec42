package segment

import (
	"fmt"
	"hash/crc32"
	"math"
	"os"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// cleanedFile writes a segment anew beside the old one. Nothing reads it, and a
// restart removes it, before a replacement note says that it counts. One
// goroutine.
type cleanedFile struct {
	l    *Log
	seg  *segment // its index as it grows
	f    vfs.File
	path string
	out  []byte // not written yet
	pos  int64  // of out in the file
	safe int64  // synced up to here
	crc  uint32 // of all bytes
	pace func(bytes int) error
}

// cleanedPath is the name of a cleaned file before it takes its place.
func cleanedPath(h *home, base int64, suffix string) string {
	return offsetPath(h.path, base, suffix+cleanedSuffix)
}

func newCleanedFile(l *Log, base int64, buffer []byte, pace func(int) error) (*cleanedFile, error) {
	w := &cleanedFile{l: l, seg: newSegment(l.home, base), path: cleanedPath(l.home, base, logSuffix), out: buffer[:0], pace: pace}
	l.home.names.Lock()
	defer l.home.names.Unlock()
	if l.closed.Load() { // its directory may be another topic's by now
		return nil, ErrClosed
	}
	f, err := l.home.fs.OpenFile(w.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, fmt.Errorf("create cleaned segment: %w", err)
	}
	w.f = f
	return w, nil
}

// size is the bytes added so far.
func (w *cleanedFile) size() int64 { return w.pos + int64(len(w.out)) }

func (w *cleanedFile) add(b record.Batch, interval int64) error {
	at := w.size()
	if at+int64(len(b)) > math.MaxUint32 {
		return fmt.Errorf("clean %s: the segment of %d would exceed 4 GiB, which an index cannot address; lower segment.bytes", w.l.tp, w.seg.base)
	}
	w.seg.index(uint32(b.BaseOffset()-w.seg.base), at, indexTimestamp(b), b.CRC(), interval)
	w.seg.next = b.LastOffset() + 1
	if len(w.out)+len(b) > cap(w.out) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.out = append(w.out, b...) // grows for a batch above the buffer
	return nil
}

func (w *cleanedFile) flush() error {
	if len(w.out) == 0 {
		return nil
	}
	if err := w.pace(len(w.out)); err != nil {
		return err
	}
	if _, err := w.f.WriteAt(w.out, w.pos); err != nil {
		return fmt.Errorf("write cleaned segment: %w", err)
	}
	w.crc = crc32.Update(w.crc, castagnoli, w.out)
	w.pos += int64(len(w.out))
	w.out = w.out[:0]
	if w.pos-w.safe < syncEvery {
		return nil
	}
	return w.sync()
}

// syncEvery is how much is written between two syncs: appends to other logs wait
// for the disk behind one of them, not behind a whole segment.
const syncEvery = 16 << 20

func (w *cleanedFile) sync() error {
	if err := w.f.SyncData(); err != nil {
		return fmt.Errorf("sync cleaned segment: %w", err)
	}
	w.safe = w.pos
	return nil
}

// finish makes the bytes durable and writes the index. The segment ends with its last
// batch, which is always there.
func (w *cleanedFile) finish() (*segment, error) {
	if err := w.flush(); err != nil {
		return nil, err
	}
	if err := w.sync(); err != nil {
		return nil, err
	}
	err := w.f.Close()
	w.f = nil
	if err != nil {
		return nil, fmt.Errorf("close cleaned segment: %w", err)
	}
	s := w.seg
	s.size, s.onDisk = w.pos, true
	blocks, err := w.writeIndex()
	if err != nil { // it can be built from the log
		w.l.log.Warn("cannot write the index of a cleaned segment; it is made again when needed", "file", w.path, "error", err)
		w.l.home.fs.Remove(cleanedPath(w.l.home, s.base, indexSuffix))
		return s, nil
	}
	s.idx = &indexFile{file: newFile(w.l.home, s.base, indexSuffix), blocks: blocks}
	s.tail = nil
	s.known.Store(true)
	return s, nil
}

func (w *cleanedFile) writeIndex() (blocks int, err error) {
	f, err := w.l.home.fs.OpenFile(cleanedPath(w.l.home, w.seg.base, indexSuffix), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if blocks, err = appendBlocks(f, 0, w.seg.base, w.seg.tail); err != nil {
		return 0, err
	}
	_, err = f.WriteAt(encodeIndexHeader(w.l.key(), w.seg.base, w.seg.stats()), 0)
	return blocks, err
}

// discard removes what was written.
func (w *cleanedFile) discard() {
	if w.f != nil {
		w.f.Close()
		w.f = nil
	}
	w.l.removeCleaned(w.seg.base)
}

// removeCleaned removes cleaned files that do not count; what stays, a restart
// removes.
func (l *Log) removeCleaned(base int64) {
	l.home.names.Lock()
	defer l.home.names.Unlock()
	if l.closed.Load() {
		return
	}
	for _, suffix := range []string{indexSuffix, logSuffix} {
		path := cleanedPath(l.home, base, suffix)
		if err := l.home.fs.Remove(path); err != nil && !isNotExist(err) {
			l.log.Warn("cannot remove an unfinished cleaned segment; the next start tries again", "file", path, "error", err)
		}
	}
}
