package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"path/filepath"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// gaps reports offsets that no batch has between segments, before the first and behind the
// last one, where nothing else that was found explains them. A repair writes an empty batch
// in their place, so that the log says itself that nothing is there.
func (x *examined) gaps() {
	segs, rp := x.segs, x.reached()
	for len(segs) > 1 && segs[len(segs)-1].size == 0 && segs[len(segs)-1].base >= rp {
		segs = segs[:len(segs)-1] // a roll makes a file before the end of the one before it is written
	}
	if len(segs) == 0 {
		return
	}
	k, first := x.key(), segs[0].base
	start := x.v.starts[k].offset // what lies below is on its way out
	if start < first {
		x.gap(Finding{File: segs[0].file.Path(), Position: -1, From: start, To: first,
			Reason: fmt.Sprintf("the log begins at offset %d, and its start is noted as %d: the first segments are missing, or the note is", first, start),
			Repair: fmt.Sprintf("begin the log at offset %d", first)},
			func() error { return x.v.putStart(k, first) })
	}
	for i, s := range segs {
		from, to := max(s.end, start), rp
		if i+1 < len(segs) {
			to = segs[i+1].base
		}
		if from >= to {
			continue
		}
		x.gap(Finding{File: s.file.Path(), Position: s.size, From: from, To: to,
			Reason: fmt.Sprintf("the segment ends before offset %d, the log goes on at %d", from, to),
			Repair: "put an empty batch in their place; the offsets stay unused"},
			func() error {
				if s == x.segs[len(x.segs)-1] { // its index is written when it is closed, which it is now
					if err := x.makeIndex(s); err != nil {
						return err
					}
				}
				return x.standIn(from, to)
			})
	}
}

// gap takes lost offsets up, silently where another finding has named them, and what mends
// them.
func (x *examined) gap(f Finding, fix func() error) {
	named := f.From
	for _, other := range x.v.Findings[x.first:] { // in the order of their offsets, as far as it matters
		if other.From <= named && named < other.To {
			named = other.To
		}
	}
	if named < f.To {
		x.v.find(f)
	}
	x.v.fixes = append(x.v.fixes, fix)
}

// standIn makes segments of nothing but an empty batch each, which say that the offsets
// from from up to to have no records. Only a gap of more than 31 bits needs several.
func (x *examined) standIn(from, to int64) error {
	for from < to {
		end := min(to, from+math.MaxInt32)
		f := newFile(x.home, from, logSuffix)
		if err := vfs.WriteFile(x.v.fs, f.Path(), emptyBatch(from, end, x.epochAt(from)), true); err != nil {
			return err
		}
		if err := f.acquireFlag(0); err != nil {
			return err
		}
		s, err := (&Verifier{fs: x.v.fs}).scan(f, record.HeaderSize)
		f.Release()
		f.tryClose()
		if err = errors.Join(err, x.makeIndex(s)); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// epochAt is the leader epoch of a batch that is put in at an offset.
func (x *examined) epochAt(offset int64) (epoch int32) {
	if b, err := vfs.ReadFile(x.v.fs, filepath.Join(x.home.path, epochsName)); err == nil {
		if topic, h, err := decodeEpochs(b); err == nil && topic == x.topic {
			return max(h.at(offset), 0)
		}
	}
	for _, s := range x.segs {
		for _, b := range s.batches {
			if b.base < offset {
				epoch = b.epoch
			}
		}
	}
	return epoch
}

// emptyBatch is a batch without records that holds the offsets from base up to end.
func emptyBatch(base, end int64, epoch int32) record.Batch {
	b := make(record.Batch, record.HeaderSize)
	put := binary.BigEndian
	put.PutUint32(b[8:], record.HeaderSize-record.Overhead)
	b[16] = record.Magic
	put.PutUint32(b[23:], uint32(end-base-1))    // last offset delta
	for _, none := range []int{27, 35, 43, 51} { // timestamps, producer with epoch and sequence
		put.PutUint64(b[none:], ^uint64(0))
	}
	put.PutUint32(b[57:], 0) // records
	put.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	b.Stamp(base, epoch)
	return b
}
