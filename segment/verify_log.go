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
	before  int64 // offset after the one before it
	soundTo int64 // position after it
	bad     []badPiece
	batches []scannedBatch
	records int64
	stats   stats // as an index header would say them
	hasIDs  bool  // a batch of an idempotent producer
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
	sum   uint32 // its checksum
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
		h := record.Batch(head[:])
		doubt, bad, err := w.check(pos, s.end, h)
		if err == nil && bad == nil {
			doubt = pos
			bad, err = s.readable(w, pos, h, &body)
		}
		if err != nil {
			return nil, err
		}
		next := pos + int64(h.Size())
		if bad == nil {
			s.take(pos, h)
		} else if next, err = s.afterBad(w, pos, doubt, bad); err != nil {
			return nil, err
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

// readable reads the records of a sound batch, of which h is the header.
func (s *scanned) readable(w *walk, pos int64, h record.Batch, body *[]byte) (bad, err error) {
	if cap(*body) < h.Size() {
		*body = make([]byte, h.Size())
	}
	b := record.Batch((*body)[:h.Size()])
	if _, err := w.file.ReadAt(b, pos); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if why := recordsOf(b); why != "" {
		return corrupt(w.file.Path(), pos, "%s", why), nil
	}
	return nil, nil
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

// take adds a sound batch.
func (s *scanned) take(pos int64, h record.Batch) {
	s.batches = append(s.batches, scannedBatch{pos, h.BaseOffset(), s.stats.maxTs, h.LeaderEpoch(), h.CRC()})
	if len(s.batches) == 1 {
		s.stats.firstTs = indexTimestamp(h)
	}
	s.stats.maxTs = max(s.stats.maxTs, indexTimestamp(h))
	s.records += int64(h.Count())
	s.hasIDs = s.hasIDs || h.ProducerID() >= 0
	s.before, s.end, s.soundTo = s.end, h.LastOffset()+1, pos+int64(h.Size())
}

// afterBad takes bytes up that are no sound batch, from pos on and to the end of the one at
// doubt, and says where they end.
func (s *scanned) afterBad(w *walk, pos, doubt int64, bad error) (next int64, err error) {
	piece := badPiece{from: pos, to: s.size, first: s.end, end: -1, why: bad.Error()}
	if d := (*DamageError)(nil); errors.As(bad, &d) {
		piece.why = d.Reason
	}
	if n := len(s.bad); n > 0 && s.bad[n-1].to == pos {
		piece.from, piece.why = s.bad[n-1].from, s.bad[n-1].why
		s.bad = s.bad[:n-1]
	}
	at, found, err := w.behind(doubt, s.end, s.size)
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
