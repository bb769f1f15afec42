package controller

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
	"ringmain/metadata"
)

// Verified is what Verify found in a metadata directory.
type Verified struct {
	ClusterID string // "" if quorum-state cannot be read
	NodeID    int32
	// Image is the newest that the directory gives, nil if it is too damaged.
	Image   *metadata.Image
	Files   int
	Entries int // of the log
	Bytes   int64
	// Problems are one error for each file that is not as it was written; the
	// sentence names file and byte.
	Problems []error
	// Stray are errors of the same kind for bytes that nothing reads.
	Stray []error
	// Spare is a damaged checkpoint that can be moved away: an older one and the
	// log after it hold the same. "" if there is none.
	Spare string
}

// Lock keeps brokers away from a metadata directory until the result is closed.
// vfs.ErrLocked if one uses it.
func Lock(fsys vfs.FS, dir string) (io.Closer, error) {
	return fsys.Lock(filepath.Join(dir, lockName))
}

// Verify reads a whole metadata directory and changes nothing. It needs the
// lock. What a crash leaves and a start mends is no problem.
func Verify(fsys vfs.FS, dir string) (*Verified, error) {
	v := &Verified{}
	found, err := readContents(fsys, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range found.foreign {
		v.problem(fmt.Errorf("%w: %s; metadata has a directory of its own", ErrForeign, filepath.Join(dir, name)))
	}
	q, err := v.quorumState(fsys, dir, found)
	if err != nil {
		return nil, err
	}
	meta, img, err := v.checkpoints(fsys, dir)
	if err != nil {
		return nil, err
	}
	check := logVerifier{term: 1<<64 - 1}
	if q != nil {
		check.term = q.term
	}
	if meta != nil {
		check.covered = meta.Index
		if q != nil && meta.Term > q.term {
			v.problem(damaged(filepath.Join(dir, quorumStateName), 40, "the term is %d, a checkpoint has term %d: the file is older than the rest of the directory", q.term, meta.Term))
		}
	}
	return v, v.log(fsys, dir, found, q, check, img)
}

func (v *Verified) problem(err error) { v.Problems = append(v.Problems, err) }

func (v *Verified) quorumState(fsys vfs.FS, dir string, found contents) (*quorumRecord, error) {
	path := filepath.Join(dir, quorumStateName)
	if !found.state {
		v.problem(fmt.Errorf("%w: %s is missing: restore it, votes cannot be guessed", ErrDamaged, path))
		return nil, nil
	}
	b, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return nil, err
	}
	v.Files, v.Bytes = v.Files+1, v.Bytes+int64(len(b))
	q, err := decodeQuorumState(b, path)
	if err != nil {
		v.problem(fmt.Errorf("%w; restore the file from a copy", err))
		return nil, nil
	}
	if at := strayByte(b); at >= 0 {
		v.Stray = append(v.Stray, damaged(path, at, "the byte is %#02x, it was written as 0; nothing reads it", b[at]))
	}
	v.ClusterID, v.NodeID = q.clusterID, q.nodeID
	return q, nil
}

// checkpoints reads all of them and returns the newest that is sound.
func (v *Verified) checkpoints(fsys vfs.FS, dir string) (meta *raft.SnapshotMeta, img *metadata.Image, err error) {
	s := checkpointStore{fs: fsys, dir: dir}
	names, err := s.names()
	if err != nil {
		return nil, nil, err
	}
	for i, name := range names {
		if st, err := fsys.Stat(filepath.Join(dir, name)); err == nil {
			v.Files, v.Bytes = v.Files+1, v.Bytes+st.Size
		}
		m, im, err := s.read(name)
		if err == nil && im.Offset() > int64(m.Index) {
			err = damaged(filepath.Join(dir, name), 0, "the image includes entry %d, the checkpoint ends at %d", im.Offset(), m.Index)
		}
		switch {
		case err != nil && i == 0 && len(names) > 1:
			v.Spare = filepath.Join(dir, name)
			v.problem(err)
		case err != nil:
			v.problem(err)
		case meta == nil:
			meta, img = m, im
		}
	}
	if meta == nil {
		v.Spare = "" // nothing to go back to
		img = metadata.Empty()
		if len(names) > 0 {
			img = nil
		}
	}
	return meta, img, nil
}

// log reads every entry and applies those that the checkpoint lacks.
func (v *Verified) log(fsys vfs.FS, dir string, found contents, q *quorumRecord, check logVerifier, img *metadata.Image) error {
	slices.Sort(found.segments)
	mode := openMode{covered: check.covered}
	if q != nil {
		mode.strict, mode.reached = q.clean, q.reached
	}
	next, sound := uint64(0), img != nil
	var tail logTail
	visit := func(path string, at int64, l *raft.Log) error {
		v.Entries++
		if err := check.visit(path, at, l); err != nil {
			return err
		}
		if !sound || l.Type != raft.LogCommand || int64(l.Index) <= img.Offset() || l.Index <= check.covered ||
			len(l.Extensions) == 8 && binary.BigEndian.Uint64(l.Extensions) != l.Term {
			return nil
		}
		records, err := metadata.Decode(l.Data)
		if err == nil {
			var applied *metadata.Image
			if applied, _, err = img.Apply(records, int64(l.Index)); err == nil {
				img = applied
				return nil
			}
		}
		return fmt.Errorf("%w: %s at byte %d: entry %d cannot be applied: %w", ErrDamaged, path, at, l.Index, err)
	}
	for n, first := range found.segments {
		path := filepath.Join(dir, segmentName(first))
		b, err := vfs.ReadFile(fsys, path)
		if err != nil {
			return err
		}
		v.Files, v.Bytes = v.Files+1, v.Bytes+int64(len(b))
		tornFrom := uint64(math.MaxUint64)
		if n == len(found.segments)-1 {
			tornFrom = mode.tornFrom()
		}
		entries, end, err := v.segment(b, path, tornFrom, visit)
		if errors.Is(err, errTornStart) {
			break
		}
		if err != nil {
			v.problem(fmt.Errorf("%w; restore the directory from a copy", err))
			sound = false
		}
		// Files that a checkpoint covers may be what a crash brought back.
		if next != 0 && first != next && first > check.covered+1 {
			v.problem(damaged(path, 0, "the file begins with entry %d, the one before ends with entry %d: a file is missing; restore the directory from a copy", first, next-1))
			sound = false
		}
		if next == 0 && first > check.covered+1 {
			v.problem(damaged(path, 0, "the log begins with entry %d, entries %d to %d are missing; restore the directory from a copy", first, check.covered+1, first-1))
			sound = false
		}
		next = first + entries
		tail = logTail{next - 1, first, uint64(end)}
	}
	switch {
	case len(found.segments) == 0 && check.covered == 0:
		v.problem(damaged(filepath.Join(dir, segmentName(1)), 0, "the log is missing; restore the directory from a copy"))
		sound = false
	case q != nil && q.clean && sound && q.tail != tail && next > 0:
		v.problem(damaged(filepath.Join(dir, segmentName(tail.segment)), int64(tail.size),
			"the log ends with entry %d, but at the last clean stop it ended with entry %d at byte %d of %s; restore the directory from a copy",
			tail.lastIndex, q.tail.lastIndex, q.tail.size, segmentName(q.tail.segment)))
		sound = false
	case q != nil && q.clean && sound && next == 0 && q.tail.lastIndex > check.covered:
		v.problem(damaged(filepath.Join(dir, segmentName(q.tail.segment)), 0, "the log is missing, at the last clean stop it ended with entry %d; restore the directory from a copy", q.tail.lastIndex))
		sound = false
	}
	if last := max(tail.lastIndex, check.covered); sound {
		if err := mode.lost(filepath.Join(dir, segmentName(max(tail.segment, 1))), int64(tail.size), last); err != nil {
			v.problem(fmt.Errorf("%w; restore the directory from a copy", err))
			return nil
		}
		v.Image = img
	}
	return nil
}

// segment reads one file of the log.
func (v *Verified) segment(b []byte, path string, tornFrom uint64, visit entryVisitor) (entries uint64, end int64, err error) {
	first, err := parseSegmentHeader(b, path, tornFrom)
	if err != nil {
		return 0, 0, err
	}
	end = int64(len(b))
	err = scanFrames(b, path, first, func(at int64, l *raft.Log) error {
		entries++
		return visit(path, at, l)
	}, func(at int64) bool {
		mayBeTorn := first+entries >= tornFrom
		if mayBeTorn {
			end = at
		}
		return mayBeTorn
	})
	return entries, end, err
}
