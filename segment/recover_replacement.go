package segment

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ringmain/internal/vfs"
)

// finishReplacements ends the replacements that a kill or a power cut
// interrupted, each one way or the other, and removes cleaned files that do
// not count. The note decides: if the segment or the cleaned file beside it is
// the one it describes, the new one stands; otherwise the old ones do, of which
// nothing was removed yet. It gives the bases of the new ones, which have no index. It
// runs before the directory's segments are listed.
func (l *Log) finishReplacements() (stand []int64, err error) {
	es, err := l.home.fs.ReadDir(l.home.path)
	if err != nil {
		return nil, fmt.Errorf("read partition directory: %w", err)
	}
	for _, e := range es {
		if base, ok := parseOffsetName(e.Name, swapSuffix); ok {
			stands, err := l.resumeReplacement(base)
			if err != nil {
				return nil, fmt.Errorf("end the replacement of segment %d: %w", base, err)
			}
			if stands {
				stand = append(stand, base)
			}
		}
	}
	for _, e := range es {
		if strings.HasSuffix(e.Name, cleanedSuffix) {
			if err := l.home.fs.Remove(filepath.Join(l.home.path, e.Name)); err != nil && !isNotExist(err) {
				return nil, fmt.Errorf("remove unfinished cleaned segment: %w", err)
			}
		}
	}
	return stand, nil
}

// resumeReplacement ends one replacement; stands says that the new segment does.
func (l *Log) resumeReplacement(base int64) (stands bool, err error) {
	h := l.home
	note := offsetPath(h.path, base, swapSuffix)
	b, err := vfs.ReadFile(h.fs, note)
	if err != nil {
		return false, err
	}
	r, err := decodeReplacement(b)
	if errors.Is(err, ErrNewer) {
		return false, err
	}
	if err != nil || r.topic != l.topic || r.base != base {
		l.log.Warn("a replacement note is damaged or of another topic; it is removed", "file", note, "reason", err)
		return false, h.fs.Remove(note)
	}
	path, cleaned := offsetPath(h.path, base, logSuffix), cleanedPath(h, base, logSuffix)
	stands, err = hasBytes(h.fs, path, r)
	if err != nil {
		return false, err
	}
	if !stands {
		if stands, err = hasBytes(h.fs, cleaned, r); err != nil {
			return false, err
		}
		if stands {
			if err := h.fs.Rename(cleaned, path); err != nil {
				return false, err
			}
		}
	}
	// Which of the two logs it belongs to is not known, and it can be built.
	if err := h.fs.Remove(offsetPath(h.path, base, indexSuffix)); err != nil && !isNotExist(err) {
		return false, err
	}
	if !stands {
		l.log.Info("a cleaning was interrupted before its segment took its place; the old segments stay", "file", path)
		return false, h.fs.Remove(note)
	}
	l.log.Info("an interrupted cleaning is ended: its segment takes the place of the old ones", "file", path, "up_to", r.end)
	return true, l.finishReplacement(r)
}

// indexReplacements makes the indexes that resumeReplacement has removed, before another kill
// could leave the segments without. What cannot be read is for the readers to find.
func (l *Log) indexReplacements() {
	for _, s := range l.segs {
		if s.unindexed && s != l.active() {
			_ = l.load(s)
		}
		s.unindexed = false
	}
}

// hasBytes tells whether a file is the one that a note describes.
func hasBytes(fsys vfs.FS, path string, r replacement) (bool, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY)
	if isNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil || size != r.size {
		return false, err
	}
	buf := warmPool.Get().(*[warmChunk]byte)
	defer warmPool.Put(buf)
	sum := uint32(0)
	for at := int64(0); at < size; {
		n, err := f.ReadAt(buf[:min(warmChunk, size-at)], at)
		if n == 0 && err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if n == 0 {
			return false, nil
		}
		sum = crc32.Update(sum, castagnoli, buf[:n])
		at += int64(n)
	}
	return sum == r.crc, nil
}
