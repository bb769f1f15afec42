package segment

import (
	"errors"
	"fmt"
	"io"
	"os"

	"ringmain/internal/vfs"
)

// keepTail copies what is about to be cut from a segment into a file beside it,
// unless it is what a kill leaves: a torn write behind which nothing was. Sound
// batches behind the cut, or a cut before the recovery point, mean that what
// goes was whole once, and somebody may want it back.
func (r *recovery) keepTail(s *segment, pos int64) error {
	l := r.l
	if rp, known := l.dir.points.get(l.key()); !known || r.end >= rp.offset {
		w := newWalk(s.file, s.size)
		defer w.done()
		if _, found, err := w.resync(pos, s.base); err != nil || !found {
			return err
		}
	}
	to, err := copyAside(l.home.fs, s.file, pos, s.size)
	if err != nil {
		return fmt.Errorf("keep what is cut from %s at byte %d: %w", s.file.Path(), pos, err)
	}
	r.rep.SetAside = append(r.rep.SetAside, to)
	l.log.Error("what is cut from a segment is no torn write and is kept in a file",
		"file", s.file.Path(), "position", pos, "bytes", s.size-pos, "kept", to)
	return nil
}

// asidePath names a file for bytes of path from pos on.
func asidePath(path string, pos int64) string {
	return fmt.Sprintf("%s.from-%d%s", path, pos, damagedSuffix)
}

// copyAside copies bytes [pos, end) of a file into one of its own beside it,
// durably, and never over one that is there.
func copyAside(fsys vfs.FS, f *File, pos, end int64) (path string, err error) {
	path = asidePath(f.Path(), pos)
	var out vfs.File
	for n := 2; ; n++ {
		if out, err = fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL); err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) {
			return "", err
		}
		path = fmt.Sprintf("%s.from-%d.%d%s", f.Path(), pos, n, damagedSuffix)
	}
	buf := warmPool.Get().(*[warmChunk]byte)
	defer warmPool.Put(buf)
	for at := pos; at < end && err == nil; {
		var n int
		n, err = f.ReadAt(buf[:min(warmChunk, end-at)], at)
		if errors.Is(err, io.EOF) && n > 0 {
			err = nil
		}
		if err == nil {
			_, err = out.WriteAt(buf[:n], at-pos)
		}
		at += int64(n)
	}
	if err == nil {
		err = out.SyncData()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", errors.Join(err, fsys.Remove(path))
	}
	return path, nil
}
