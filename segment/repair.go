package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// Repair does what the findings say. Nothing is deleted: what leaves a file is in
// another one beside it first, durably. It ends at the first error, and may be
// begun again with a new Verifier.
func (v *Verifier) Repair() error {
	for _, fix := range v.fixes {
		if err := fix(); err != nil {
			return fmt.Errorf("repair %s: %w", v.path, err)
		}
	}
	v.fixes = nil
	return nil
}

// Repairs is how many things Repair would do.
func (v *Verifier) Repairs() int { return len(v.fixes) }

// setAside renames a file so that nobody takes it for what it was.
func (v *Verifier) setAside(path string) error {
	to := path + damagedSuffix
	for n := 2; ; n++ {
		ok, err := vfs.Exists(v.fs, to)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		to = fmt.Sprintf("%s.%d%s", path, n, damagedSuffix)
	}
	if err := v.fs.Rename(path, to); err != nil {
		return err
	}
	return v.fs.SyncDir(filepath.Dir(path))
}

func (v *Verifier) setAsideIfThere(path string) error {
	if err := v.setAside(path); err != nil && !isNotExist(err) {
		return err
	}
	return nil
}

// writeCheckpoint writes the entries that count.
func (v *Verifier) writeCheckpoint(name string, kind uint16, points map[pointKey]point) error {
	b := encodeCheckpointHead(kind)
	for k, p := range points {
		b = appendPoint(b, k, p)
	}
	return vfs.WriteFile(v.fs, filepath.Join(v.path, name), b, true)
}

func (v *Verifier) putStart(k pointKey, offset int64) error {
	v.starts[k] = point{offset: offset, epoch: model.NoEpoch}
	return errors.Join(v.writeCheckpoint(startsName, 2, v.starts), v.forgetNewest(k))
}

// forgetNewest takes the note of the newest segment back, which a repair has settled.
func (v *Verifier) forgetNewest(k pointKey) error {
	if _, noted := v.newest[k]; !noted {
		return nil
	}
	delete(v.newest, k)
	return v.writeCheckpoint(newestName, 4, v.newest)
}

// takeOut moves what is no batch out of a segment: each piece into a file of its
// own, then the sound batches into a new file that takes the segment's name.
func (x *examined) takeOut(s *scanned) error {
	fsys, path := x.v.fs, s.file.Path()
	if err := s.file.acquireFlag(os.O_RDWR); err != nil {
		return err
	}
	defer s.file.Release()
	for _, b := range s.bad {
		if _, err := copyAside(fsys, s.file, b.from, b.to); err != nil {
			return err
		}
	}
	if err := fsys.SyncDir(x.home.path); err != nil {
		return err
	}
	if err := x.snapshotsBehind(s); err != nil {
		return err
	}
	if b := s.bad[0]; len(s.bad) == 1 && b.to == s.size {
		if err := s.file.f.Truncate(b.from); err != nil {
			return err
		}
		s.size = b.from
		s.bad = nil
		return errors.Join(s.file.syncData(), x.makeIndex(s))
	}
	out, err := fsys.OpenFile(path+tmpSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	to, from := int64(0), int64(0)
	for _, b := range append(s.bad, badPiece{from: s.size, to: s.size}) {
		if err == nil {
			err = copyBytes(out, to, s.file, from, b.from)
		}
		to, from = to+b.from-from, b.to
	}
	if err == nil {
		err = out.SyncData()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = fsys.Rename(path+tmpSuffix, path)
	}
	if err != nil {
		return err
	}
	if err := fsys.SyncDir(x.home.path); err != nil {
		return err
	}
	s.closeUp()
	return x.makeIndex(s)
}

// snapshotsBehind sets producer snapshots aside that name a place behind what is
// taken out: it is another one then.
func (x *examined) snapshotsBehind(s *scanned) error {
	for name := range x.names {
		if _, ok := parseOffsetName(name, snapshotSuffix); !ok {
			continue
		}
		b, err := vfs.ReadFile(x.v.fs, x.path(name))
		if isNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		if h, _, err := decodeSnapshot(b); err == nil && h.segBase == s.base && h.pos > s.bad[0].from {
			if err := x.v.setAside(x.path(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// closeUp moves the batches to where they are without the bad pieces.
func (s *scanned) closeUp() {
	gone, n := int64(0), 0
	for i := range s.batches {
		for n < len(s.bad) && s.bad[n].from < s.batches[i].pos {
			gone += s.bad[n].to - s.bad[n].from
			n++
		}
		s.batches[i].pos -= gone
	}
	for _, b := range s.bad {
		s.size -= b.to - b.from
	}
	s.soundTo, s.bad = s.size, nil
}

// copyBytes copies bytes [from, end) of a file to position at of another.
func copyBytes(out vfs.File, at int64, in io.ReaderAt, from, end int64) error {
	buf := warmPool.Get().(*[warmChunk]byte)
	defer warmPool.Put(buf)
	for from < end {
		n, err := in.ReadAt(buf[:min(warmChunk, end-from)], from)
		if n == 0 && err != nil {
			return err
		}
		if _, err := out.WriteAt(buf[:n], at); err != nil {
			return err
		}
		from, at = from+int64(n), at+int64(n)
	}
	return nil
}

// makeIndex sets a segment's index aside and writes it anew.
func (x *examined) makeIndex(s *scanned) error {
	path := x.path(offsetName(s.base, indexSuffix))
	if err := x.v.setAsideIfThere(path); err != nil {
		return err
	}
	if len(s.batches) == 0 {
		return nil
	}
	made := &segment{base: s.base, maxTs: noIndexTimestamp, firstTs: noIndexTimestamp}
	interval := int64(DefaultConfig().IndexIntervalBytes)
	for i, b := range s.batches {
		// A batch's own time is the largest one behind it, if it raised it.
		ts := s.stats.maxTs
		if i+1 < len(s.batches) {
			ts = s.batches[i+1].maxTs
		}
		if i == 0 {
			ts = s.stats.firstTs
		}
		made.index(uint32(b.base-s.base), b.pos, ts, b.sum, interval)
	}
	st := stats{size: s.size, next: s.end, maxTs: s.stats.maxTs, firstTs: s.stats.firstTs, lastEntry: made.lastEntry, entries: made.entries, sums: made.sums}
	out := encodeIndexHeader(x.key(), s.base, st)
	for es := made.tail; len(es) > 0; {
		n := min(len(es), indexBlockMax)
		block := make([]byte, indexBlockSize)
		encodeIndexBlock(block, s.base, es[:n])
		out, es = append(out, block...), es[n:]
	}
	return vfs.WriteFile(x.v.fs, path, out, true)
}

// setPoint says that the log is whole up to an offset, at which a new segment
// begins: what is missing below it stays unused.
func (x *examined) setPoint(offset int64) error {
	for _, s := range x.segs {
		if ok, err := vfs.Exists(x.v.fs, s.file.Path()); err != nil {
			return err
		} else if !ok {
			continue // set aside
		}
		f, err := x.v.fs.OpenFile(s.file.Path(), os.O_RDWR)
		if err != nil {
			return err
		}
		if err := errors.Join(f.SyncData(), f.Close()); err != nil {
			return err
		}
	}
	if err := x.v.fs.SyncDir(x.home.path); err != nil {
		return err
	}
	k := x.key()
	p := point{offset: offset, segBase: offset, epoch: model.NoEpoch}
	ids := false
	for _, s := range x.segs {
		ids = ids || s.hasIDs
		for _, b := range s.batches {
			p.epoch = max(p.epoch, b.epoch)
		}
	}
	if x.lost || !ids {
		p.flags = pointNoProducers // what they wrote last may be what is lost
	}
	x.v.points[k] = p
	return errors.Join(x.v.writeCheckpoint(pointsName, 1, x.v.points), x.v.forgetNewest(k))
}

// writeEpoch puts a leader epoch into the batch at a position.
func (x *examined) writeEpoch(s *scanned, pos int64, epoch int32) error {
	f, err := x.v.fs.OpenFile(s.file.Path(), os.O_RDWR)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(epoch)), pos+12)
	return errors.Join(err, f.SyncData(), f.Close())
}
