package segment

import (
	"encoding/binary"
	"slices"
	"sort"

	"ringmain/model"
	"ringmain/record"
)

const (
	epochsMagic   = "RMLE"
	epochsVersion = 1
)

// epochStart says at which offset a leader epoch begins (KIP-101).
type epochStart struct {
	Epoch int32
	Start int64
}

// epochHistory is ascending in both fields. Slices of it are shared with
// readers: changes make a new slice or append behind what was shared.
type epochHistory []epochStart

// with adds an epoch; older or known ones change nothing.
func (h epochHistory) with(epoch int32, start int64) epochHistory {
	if epoch < 0 || len(h) > 0 && epoch <= h[len(h)-1].Epoch {
		return h
	}
	if len(h) > 0 && h[len(h)-1].Start >= start { // the epoch before wrote nothing
		h = slices.Clone(h[:sort.Search(len(h), func(i int) bool { return h[i].Start >= start })])
	}
	return append(h, epochStart{epoch, start})
}

// led is with for the batch of a leader. An epoch below the newest one (the metadata is
// older than the log, or a batch's epoch was damaged as the history was read from it)
// ends what is known of the batches before: fell.
func (h epochHistory) led(epoch int32, start int64) (now epochHistory, fell bool) {
	if epoch < h.latest() {
		return epochHistory{{epoch, start}}, true
	}
	return h.with(epoch, start), false
}

// contradicts tells whether the history says that a batch of this epoch and base offset
// cannot be, and what it should be. It says nothing of offsets before its first entry.
func (h epochHistory) contradicts(epoch int32, base int64) (want int32, wrong bool) {
	want = h.at(base)
	return want, want != model.NoEpoch && want != epoch
}

// refuse is the damage that the history finds in a batch at a position of a file, or nil:
// epochs lie outside of checksums.
func (h epochHistory) refuse(f *File, pos int64, b record.Batch) error {
	if want, wrong := h.contradicts(b.LeaderEpoch(), b.BaseOffset()); wrong {
		return corruptBatch(f.Path(), pos, b.BaseOffset(), "the batch says leader epoch %d, the history %d", b.LeaderEpoch(), want)
	}
	return nil
}

// epochReader makes a history from batches in their order. Their epochs lie outside of
// their checksums, so one batch alone is not believed that says a higher epoch than the one
// behind it, or a lower one than those on both sides.
type epochReader struct {
	h      epochHistory
	before epochHistory // h as it was before its newest epoch
	alone  bool         // of which there is one batch
	fallen epochStart   // the batch before this one, if its epoch was lower than others'
	fell   bool
}

// add takes a batch up. lied: the batch before it is the one whose epoch is wrong.
func (r *epochReader) add(epoch int32, base int64) (lied bool) {
	lied = r.fell
	if epoch < r.h.latest() {
		lied = r.alone && epoch >= r.before.latest()
		switch {
		case lied:
			r.h = r.before
		case r.fell: // two are not alone: a leader had older metadata
			r.h = epochHistory{r.fallen}
		default:
			r.fallen, r.fell, r.alone = epochStart{epoch, base}, true, false
			return false
		}
	}
	r.fell, r.alone = false, epoch > r.h.latest()
	if r.alone {
		r.before, r.h = r.h, slices.Clone(r.h).with(epoch, base)
	}
	return lied
}

// trimmed drops what lies wholly below start; the epoch that holds start
// begins there from now on.
func (h epochHistory) trimmed(start int64) epochHistory {
	i := sort.Search(len(h), func(i int) bool { return h[i].Start > start }) - 1
	if i < 0 || i == 0 && h[0].Start == start {
		return h
	}
	h = slices.Clone(h[i:])
	h[0].Start = start
	return h
}

// from makes the first epoch begin at start, where no batch of an older one is
// left: compaction may have taken those in between.
func (h epochHistory) from(start int64) epochHistory {
	if len(h) == 0 || h[0].Start <= start {
		return h
	}
	h = slices.Clone(h)
	h[0].Start = start
	return h
}

// truncated drops epochs that begin at or after end.
func (h epochHistory) truncated(end int64) epochHistory {
	i := sort.Search(len(h), func(i int) bool { return h[i].Start >= end })
	return slices.Clone(h[:i])
}

// within is truncated for a log from start to end: an epoch that begins at the
// end stays if nothing is left before it (the log was emptied).
func (h epochHistory) within(start, end int64) epochHistory {
	if start >= end {
		end++
	}
	return h.truncated(end)
}

func (h epochHistory) latest() int32 {
	if len(h) == 0 {
		return model.NoEpoch
	}
	return h[len(h)-1].Epoch
}

// at is the epoch of the record at offset.
func (h epochHistory) at(offset int64) int32 {
	i := sort.Search(len(h), func(i int) bool { return h[i].Start > offset }) - 1
	if i < 0 {
		return model.NoEpoch
	}
	return h[i].Epoch
}

// end is Kafka's answer to OffsetForLeaderEpoch: the largest epoch <= the
// requested one and the offset where the next begins; logEnd for the newest.
// A request above all known epochs, or with none known, gives -1 and -1. One
// below all known gives the requested epoch and the first known start.
func (h epochHistory) end(epoch int32, logEnd int64) (int32, int64) {
	if epoch == model.NoEpoch || len(h) == 0 || epoch > h.latest() {
		return model.NoEpoch, -1
	}
	if epoch == h.latest() {
		return epoch, logEnd
	}
	i := sort.Search(len(h), func(i int) bool { return h[i].Epoch > epoch })
	if i == 0 {
		return epoch, h[0].Start
	}
	return h[i-1].Epoch, h[i].Start
}

func (h epochHistory) encode(topic model.TopicID) []byte {
	b := append([]byte(nil), topic[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(h)))
	for _, e := range h {
		b = binary.LittleEndian.AppendUint32(b, uint32(e.Epoch))
		b = binary.LittleEndian.AppendUint64(b, uint64(e.Start))
	}
	return sealEnvelope(epochsMagic, epochsVersion, b)
}

func decodeEpochs(b []byte) (topic model.TopicID, h epochHistory, err error) {
	p, err := openEnvelope(b, epochsMagic, epochsVersion)
	if err != nil {
		return topic, nil, err
	}
	if len(p) < 20 || len(p) != 20+12*int(binary.LittleEndian.Uint32(p[16:])) {
		return topic, nil, errDamaged
	}
	topic = model.TopicID(p[:16])
	for p = p[20:]; len(p) > 0; p = p[12:] {
		e := epochStart{int32(binary.LittleEndian.Uint32(p)), int64(binary.LittleEndian.Uint64(p[4:]))}
		if n := len(h); n > 0 && (e.Epoch <= h[n-1].Epoch || e.Start < h[n-1].Start) {
			return topic, nil, errDamaged
		}
		h = append(h, e)
	}
	return topic, h, nil
}
