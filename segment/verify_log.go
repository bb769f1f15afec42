package segment

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"ringmain/record"
)

// scanned is what a whole reading of a .log file has found.
type scanned struct {
	file    *File
	base    int64
	size    int64
	end     int64 // offset after the last sound batch
	soundTo int64 // position after it
	bad     []badPiece
	batches []scannedBatch
	records int64
	stats   stats // as an index header would say them
	hasIDs  bool  // a batch of an idempotent producer
	before  int64 // end before the last sound batch
}

// badPiece is bytes between sound batches.
type badPiece struct {
	from, to   int64 // positions
	first, end int64 // offsets that may have been there; end is -1 at the end of the file
	why        string
}

type scannedBatch struct {
	pos   int64
	base  int64
	maxTs int64 // largest timestamp of the batches before it
	epoch int32
}

// at finds the batch that begins at a position.
func (s *scanned) at(pos int64) (scannedBatch, bool) {
	i := sort.Search(len(s.batches), func(i int) bool { return s.batches[i].pos >= pos })
	if i == len(s.batches) || s.batches[i].pos != pos {
		return scannedBatch{}, false
	}
	return s.batches[i], true
}

// scan reads a .log file to its end: frames, checksums, offsets, and the records
// inside of each batch. An error is one of the disk.
func (v *Verifier) scan(f *File, size int64) (*scanned, error) {
	s := &scanned{file: f, base: f.base, size: size, end: f.base, stats: stats{maxTs: noIndexTimestamp, firstTs: noIndexTimestamp}}
	w := newWalk(f, size)
	defer w.done()
	var head [record.HeaderSize]byte
	var body []byte
	for pos := int64(0); pos < size; {
		h, err := w.header(pos)
		if errors.Is(err, errEnd) {
			err = corrupt(f.Path(), pos, "%d bytes are less than a batch header", size-pos)
		}
		if err == nil {
			copy(head[:], h)
			h = record.Batch(head[:])
			err = s.sound(w, pos, h, &body)
		}
		next := pos + int64(record.Batch(head[:]).Size())
		if err != nil {
			var d *DamageError
			if !errors.As(err, &d) {
				return nil, err
			}
			if next, err = s.afterBad(w, pos, d.Reason); err != nil {
				return nil, err
			}
		}
		v.progress(next - pos)
		pos = next
	}
	return s, nil
}

func (v *Verifier) progress(n int64) {
	if v.Progress != nil {
		v.Progress(n)
	}
}

// sound checks the batch at pos and takes it up.
func (s *scanned) sound(w *walk, pos int64, h record.Batch, body *[]byte) error {
	path := w.file.Path()
	if n := len(s.batches); n > 0 && h.BaseOffset() < s.end && h.BaseOffset() >= s.before && s.batches[n-1].base > s.before && w.checksum(pos, h) == nil {
		s.retract(pos, h.BaseOffset())
	}
	if h.BaseOffset() < s.end || h.LastOffset()-s.base > 1<<31-1 {
		return corrupt(path, pos, "offsets %d to %d where at least %d is expected", h.BaseOffset(), h.LastOffset(), s.end)
	}
	if err := w.checksum(pos, h); err != nil {
		return err
	}
	if cap(*body) < h.Size() {
		*body = make([]byte, h.Size())
	}
	b := record.Batch((*body)[:h.Size()])
	if _, err := w.file.ReadAt(b, pos); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if why := recordsOf(b); why != "" {
		return corrupt(path, pos, "%s", why)
	}
	s.take(pos, h)
	return nil
}

// recordsOf reads the records inside of a batch and says what is wrong with
// them, "" if nothing.
func recordsOf(b record.Batch) (why string) {
	n, last := int32(0), b.BaseOffset()-1
	err := record.Each(b, func(rec record.Record) (bool, error) {
		if rec.Offset <= last || rec.Offset > b.LastOffset() {
			why = fmt.Sprintf("record %d has offset %d, in a batch of %d to %d after %d", n, rec.Offset, b.BaseOffset(), b.LastOffset(), last)
			return false, nil
		}
		n, last = n+1, rec.Offset
		return true, nil
	})
	switch {
	case err != nil:
		return fmt.Sprintf("its records cannot be read: record %d: %v", n, err)
	case why == "" && n != b.Count():
		return fmt.Sprintf("it says %d records and holds %d", b.Count(), n)
	}
	return why
}

// retract takes the last batch back: it left a gap, and the one at pos fits only
// without it. Offsets lie outside the checksum.
func (s *scanned) retract(pos, next int64) {
	b := s.batches[len(s.batches)-1]
	s.batches = s.batches[:len(s.batches)-1]
	s.bad = append(s.bad, badPiece{from: b.pos, to: pos, first: s.before, end: next,
		why: fmt.Sprintf("the batch says offset %d, the one behind it %d", b.base, next)})
	s.end, s.soundTo, s.stats.maxTs = s.before, b.pos, b.maxTs
}

// take adds a sound batch.
func (s *scanned) take(pos int64, h record.Batch) {
	s.batches = append(s.batches, scannedBatch{pos, h.BaseOffset(), s.stats.maxTs, h.LeaderEpoch()})
	if len(s.batches) == 1 {
		s.stats.firstTs = indexTimestamp(h)
	}
	s.stats.maxTs = max(s.stats.maxTs, indexTimestamp(h))
	s.records += int64(h.Count())
	s.hasIDs = s.hasIDs || h.ProducerID() >= 0
	s.before, s.end, s.soundTo = s.end, h.LastOffset()+1, pos+int64(h.Size())
}

// afterBad takes bytes up that are no sound batch, and says where they end. If
// the batch's own length leads to the next one it is believed: a search could
// take for a batch what is a record's value.
func (s *scanned) afterBad(w *walk, pos int64, why string) (next int64, err error) {
	piece := badPiece{from: pos, to: s.size, first: s.end, end: -1, why: why}
	if n := len(s.bad); n > 0 && s.bad[n-1].to == pos {
		piece = s.bad[n-1]
		s.bad, piece.to, piece.end = s.bad[:n-1], s.size, -1
	}
	from := pos + 1
	if h, err := w.header(pos); err == nil {
		after := pos + int64(h.Size())
		if h, err := w.header(after); err == nil && h.BaseOffset() >= s.end && h.BaseOffset()-s.base < 1<<31 {
			head := record.Batch(append([]byte(nil), h...))
			if w.checksum(after, head) == nil {
				from = after
			}
		}
	}
	at, found, err := w.resync(from, s.end)
	if err != nil {
		return 0, err
	}
	if found {
		h, err := w.header(at)
		if err != nil {
			return 0, err
		}
		piece.to, piece.end = at, h.BaseOffset()
	}
	s.bad = append(s.bad, piece)
	return piece.to, nil
}
