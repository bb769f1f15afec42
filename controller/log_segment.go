package controller

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
)

// A segment file begins with
//
//	0   magic "RMRAFT\r\n"
//	8   version      uint32
//	12  zero         uint32
//	16  first index  uint64
//	24  zeros
//	60  crc32c of bytes 0 to 59
//
// and goes on with frames of consecutive entries.
const (
	segmentSuffix     = ".raft"
	segmentMagic      = "RMRAFT\r\n"
	segmentVersion    = 1
	segmentHeaderSize = 64

	// segmentRollBytes is the size at which the next write begins a new file.
	// The log is short (it is cut after each checkpoint), so files are small.
	segmentRollBytes = 1 << 20

	// reserveBytes is how much room the log holds ready beyond its end, in steps
	// of reserveStep: raft writes an entry of its own when it begins to lead, and
	// that must not fail because the disk is full.
	reserveBytes = 64 << 10
	reserveStep  = 256 << 10

	// smallEntryBytes is what may use that room up, except for as much again at
	// its end: on a full disk, topics can still be deleted.
	smallEntryBytes = 4 << 10
)

// logSegment is one file of the log. Appends and truncation are done by one
// goroutine at a time; reads by any.
type logSegment struct {
	file      vfs.File
	path      string
	first     uint64
	starts    []int64 // where each entry begins
	end       int64
	allocated int64 // blocks are reserved up to here
}

func segmentName(first uint64) string { return fmt.Sprintf("%020d%s", first, segmentSuffix) }

// parseSegmentName returns ok only for what segmentName makes.
func parseSegmentName(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil && segmentName(first) == name
}

func segmentHeader(first uint64) []byte {
	b := make([]byte, segmentHeaderSize)
	copy(b, segmentMagic)
	binary.BigEndian.PutUint32(b[8:], segmentVersion)
	binary.BigEndian.PutUint64(b[16:], first)
	binary.BigEndian.PutUint32(b[60:], crc32.Checksum(b[:60], castagnoli))
	return b
}

// createSegment writes a new file with its first entries. It is durable after
// sync. frames begins with room for the header.
func createSegment(fsys vfs.FS, dir string, first uint64, frames []byte) (*logSegment, error) {
	path := filepath.Join(dir, segmentName(first))
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	s := &logSegment{file: f, path: path, first: first}
	copy(frames, segmentHeader(first))
	if err = s.reserve(int64(len(frames))); err == nil {
		_, err = f.WriteAt(frames, 0)
	}
	if err != nil {
		f.Close()
		return nil, errors.Join(err, fsys.Remove(path))
	}
	s.index(frames)
	return s, nil
}

// sync makes a new file and its name durable.
func (s *logSegment) sync(fsys vfs.FS) error {
	if err := s.file.SyncData(); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(s.path))
}

// index takes in frames that were written at the end of the file. The first
// write of a file includes the header.
func (s *logSegment) index(frames []byte) {
	at := s.end
	if at == 0 {
		at, frames = segmentHeaderSize, frames[segmentHeaderSize:]
	}
	for len(frames) > 0 {
		s.starts = append(s.starts, at)
		n := frameHeaderSize + int64(binary.BigEndian.Uint32(frames[4:])) + 1
		at, frames = at+n, frames[n:]
	}
	s.end = at
}

// reserve makes sure that n more bytes, and raft's own entry after them, fit.
func (s *logSegment) reserve(n int64) error {
	need := s.end + n + reserveBytes
	if need <= s.allocated {
		return nil
	}
	to := (need/reserveStep + 1) * reserveStep
	if err := s.file.Allocate(s.end, to-s.end); err != nil {
		if n > smallEntryBytes {
			return err
		}
		if to = s.end + n + smallEntryBytes; to <= s.allocated {
			return nil
		}
		if s.file.Allocate(s.end, to-s.end) != nil {
			return err
		}
	}
	s.allocated = to
	return nil
}

// next is the index of the entry after the last.
func (s *logSegment) next() uint64 { return s.first + uint64(len(s.starts)) }

// extent says where an entry of this segment lies.
func (s *logSegment) extent(index uint64) (at, size int64) {
	i := int(index - s.first)
	at, end := s.starts[i], s.end
	if i+1 < len(s.starts) {
		end = s.starts[i+1]
	}
	return at, end - at
}

// readEntry reads and verifies one frame.
func readEntry(file vfs.File, path string, at, size int64, index uint64, l *raft.Log) error {
	b := make([]byte, size)
	if _, err := file.ReadAt(b, at); err != nil {
		return fmt.Errorf("read entry %d from %s at byte %d: %w", index, path, at, err)
	}
	h, ok := parseFrameHeader(b)
	if !ok || h.index != index || h.frameSize() != size || !h.payloadOK(b) {
		return damaged(path, at, "entry %d has changed since it was verified", index)
	}
	h.entry(b, l)
	return nil
}

// entryVisitor sees every entry when a log is opened. An error stops the
// opening. The entry's slices are valid during the call.
type entryVisitor func(path string, at int64, l *raft.Log) error

// errTornStart says that a file holds nothing but what a crash left of its
// creation.
var errTornStart = errors.New("segment file was being created")

// openSegment reads and verifies a whole file. A torn tail from the entry tornFrom on is
// cut; tornBytes says how much that was.
func openSegment(fsys vfs.FS, path string, tornFrom uint64, visit entryVisitor) (s *logSegment, tornBytes int64, err error) {
	f, err := fsys.OpenFile(path, os.O_RDWR)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	b, err := readAll(f)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", path, err)
	}
	first, err := parseSegmentHeader(b, path, tornFrom)
	if err != nil {
		return nil, 0, err
	}
	s = &logSegment{file: f, path: path, first: first, end: int64(len(b)), allocated: int64(len(b))}
	err = scanFrames(b, path, first, func(at int64, l *raft.Log) error {
		s.starts = append(s.starts, at)
		return visit(path, at, l)
	}, func(at int64) bool {
		if s.next() < tornFrom {
			return false
		}
		s.end = at
		return true
	})
	if err != nil {
		return nil, 0, err
	}
	if tornBytes = int64(len(b)) - s.end; tornBytes > 0 {
		if err = f.Truncate(s.end); err == nil {
			err = f.SyncData()
		}
		if err != nil {
			return nil, 0, fmt.Errorf("cut the torn tail of %s at byte %d: %w", path, s.end, err)
		}
	}
	return s, tornBytes, nil
}

// parseSegmentHeader checks the header and that it says what the name says.
func parseSegmentHeader(b []byte, path string, tornFrom uint64) (first uint64, err error) {
	named, _ := parseSegmentName(filepath.Base(path))
	if len(b) < segmentHeaderSize || missingSector(b, 0, segmentHeaderSize) {
		if named >= tornFrom && !laterWrite(b, named) {
			return 0, errTornStart
		}
		return 0, damaged(path, 0, "the header is missing: the file has %d bytes", len(b))
	}
	if string(b[:8]) != segmentMagic {
		return 0, damaged(path, 0, "this is not a raft log segment")
	}
	if crc32.Checksum(b[:60], castagnoli) != binary.BigEndian.Uint32(b[60:]) {
		return 0, damaged(path, 0, "the checksum of the header is wrong")
	}
	if v := binary.BigEndian.Uint32(b[8:]); v != segmentVersion {
		return 0, fmt.Errorf("%w: %s has version %d, this release reads up to %d", ErrNewer, path, v, segmentVersion)
	}
	if first = binary.BigEndian.Uint64(b[16:]); first != named || first == 0 {
		return 0, damaged(path, 16, "the file says that its first entry is %d, its name says %d", first, named)
	}
	return first, nil
}

// scanFrames calls entry for each frame of a file. When the bytes at a place
// are no frame but could be a torn write, cut decides whether to end there.
func scanFrames(b []byte, path string, first uint64, entry func(at int64, l *raft.Log) error, cut func(at int64) bool) error {
	var l raft.Log
	at, want, batch := int64(segmentHeaderSize), first, first
	for at < int64(len(b)) {
		rest := b[at:]
		h, ok := parseFrameHeader(rest)
		whole := ok && h.frameSize() <= int64(len(rest))
		switch {
		case ok && h.index != want:
			return damaged(path, at, "entry %d is where entry %d should be", h.index, want)
		case ok && h.batchFirst != want && h.batchFirst != batch:
			return damaged(path, at, "entry %d says that its write began at entry %d, the one before began at %d", want, h.batchFirst, batch)
		case !whole || !h.payloadOK(rest):
			if torn(b, at, want) && cut(at) {
				return nil
			}
			return damaged(path, at, "entry %d: %s", want, frameTrouble(ok, whole))
		}
		h.entry(rest, &l)
		if err := entry(at, &l); err != nil {
			return err
		}
		at, want, batch = at+h.frameSize(), want+1, h.batchFirst
	}
	return nil
}

func frameTrouble(header, whole bool) string {
	switch {
	case !header:
		return "the header is wrong"
	case !whole:
		return "the file ends within it"
	}
	return "the checksum is wrong"
}

func readAll(f vfs.File) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:n], nil
}
