package segment

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// examined is the account of one partition while it is verified.
type examined struct {
	v     *Verifier
	tp    model.TopicPartition
	topic model.TopicID
	home  *home
	names map[string]bool
	segs  []*scanned
	moved bool  // a repair changes a .log file
	tail  bool  // and its end
	lost  bool  // records below the recovery point, or at the end, are gone
	first int   // of the verifier's findings, the first of this partition
	gone  int64 // after a kill, the offset below which the newest segment had records, if it is missing; else 0
}

// VerifyPartition reads everything in a partition's directory. topic is whose it
// is by the metadata, zero if that is not known.
func (v *Verifier) VerifyPartition(tp model.TopicPartition, topic model.TopicID) error {
	defer v.hold(len(v.Findings), len(v.fixes))
	x := &examined{v: v, tp: tp, topic: topic, names: map[string]bool{}, first: len(v.Findings)}
	x.home = &home{fs: v.fs, budget: NewFileBudget(16), root: v.path, path: filepath.Join(v.path, tp.String())}
	v.Totals.Partitions++
	es, err := v.fs.ReadDir(x.home.path)
	if err != nil {
		return fmt.Errorf("read partition directory: %w", err)
	}
	var bases, indexes, snapshots []int64
	for _, e := range es {
		x.names[e.Name] = true
		if strings.HasSuffix(e.Name, swapSuffix) {
			// Which of the other files count is decided when the next start ends it.
			v.find(Finding{File: x.path(e.Name), Position: -1, From: -1, To: -1, Harmless: true,
				Reason: "segments were being replaced by a cleaned one; the next start ends that, and the partition can be verified after it"})
			return nil
		}
		if n, ok := parseOffsetName(e.Name, logSuffix); ok {
			bases = append(bases, n)
		} else if n, ok := parseOffsetName(e.Name, indexSuffix); ok {
			indexes = append(indexes, n)
		} else if n, ok := parseOffsetName(e.Name, snapshotSuffix); ok {
			snapshots = append(snapshots, n)
		}
	}
	if err := x.owner(len(bases) > 0); errors.Is(err, ErrTopicID) {
		return nil // its checkpoints and numbers are another partition's
	} else if err != nil {
		return err
	}
	defer func() {
		for _, s := range x.segs {
			s.file.tryClose()
		}
	}()
	for start := v.starts[x.key()].offset; len(bases) > 1 && bases[1] <= start; {
		bases = bases[1:] // it is only waiting to be removed, and no start checks it
	}
	for _, base := range bases {
		f := newFile(x.home, base, logSuffix)
		st, err := v.fs.Stat(f.Path())
		if err != nil {
			return err
		}
		if err := f.acquireFlag(0); err != nil { // read only
			return err
		}
		s, err := v.scan(f, st.Size)
		f.Release()
		if err != nil {
			return err
		}
		v.Totals.Segments++
		v.Totals.Batches += int64(len(s.batches))
		v.Totals.Records += s.records
		v.Totals.Bytes += s.size
		x.segs = append(x.segs, s)
	}
	if err := x.misplaced(); err != nil {
		return err
	}
	if err := x.indexesOf(); err != nil {
		return err
	}
	x.newest()
	x.missing(indexes)
	x.logs()
	x.point()
	if err := x.snapshots(snapshots); err != nil {
		return err
	}
	if err := x.epochs(); err != nil {
		return err
	}
	x.gaps()
	return nil
}

func (x *examined) path(name string) string { return filepath.Join(x.home.path, name) }

// owner checks partition.metadata, and settles whose directory it is.
func (x *examined) owner(hasRecords bool) error {
	file := x.path(metadataName)
	id, partition, err := readMetadata(x.v.fs, x.home.path)
	switch {
	case errors.Is(err, ErrNewer):
		return err
	case err == nil && (partition != x.tp.Partition || !x.topic.IsZero() && id != x.topic):
		why := fmt.Sprintf("the directory is of topic id %s partition %d", id, partition)
		if !x.topic.IsZero() {
			why += fmt.Sprintf(", its name is that of topic id %s partition %d", x.topic, x.tp.Partition)
		}
		x.v.find(Finding{File: file, Position: -1, Reason: why + "; put the directories back under their own names"})
		return ErrTopicID
	case err == nil:
		x.topic = id
		return nil
	case isNotExist(err) && !hasRecords:
		return nil
	case !isNotExist(err) && !errors.Is(err, errDamaged):
		return err
	}
	if x.topic.IsZero() {
		if b, err := vfs.ReadFile(x.v.fs, x.path(epochsName)); err == nil {
			x.topic, _, _ = decodeEpochs(b)
		}
	}
	f := Finding{File: file, Position: -1, Reason: "the file is missing"}
	if !isNotExist(err) {
		f.Position, f.Reason = 0, "the file is damaged"
	}
	if x.topic.IsZero() {
		f.Reason += ", and nothing says whose directory it is"
		x.v.find(f)
		return nil
	}
	f.Repair = "write it anew for topic id " + x.topic.String()
	topic := x.topic
	x.v.fix(f, func() error {
		return errors.Join(x.v.setAsideIfThere(file), vfs.WriteFile(x.v.fs, file, encodeMetadata(topic, x.tp.Partition), true))
	})
	return nil
}

func (x *examined) key() pointKey { return pointKey{x.topic, x.tp.Partition} }

// next is the offset at which the segment after the i-th begins, or the one the
// recovery point says that the log had reached.
func (x *examined) next(i int) int64 {
	if i+1 < len(x.segs) {
		return x.segs[i+1].base
	}
	return max(x.segs[i].end, x.reached())
}

// reached is an offset that the log is known to have come to.
func (x *examined) reached() int64 { return max(x.v.points[x.key()].offset, x.gone) }

// newest looks for the newest segment, as a start does (recovery.newestLost).
func (x *examined) newest() {
	p, noted := x.v.newest[x.key()]
	end := int64(0)
	if n := len(x.segs); n > 0 {
		end = x.segs[n-1].end
	}
	if !noted || !x.v.killed || p.segBase < end || p.offset <= x.reached() ||
		slices.ContainsFunc(x.segs, func(s *scanned) bool { return s.base == p.segBase }) {
		return
	}
	x.gone, x.moved, x.tail, x.lost = p.offset, true, true, true
	k, start := x.key(), x.v.starts[x.key()].offset
	f := Finding{File: x.path(offsetName(p.segBase, logSuffix)), Position: -1, From: max(end, start), To: p.offset,
		Reason: fmt.Sprintf("the newest segment is missing; its records had offsets below %d", p.offset),
		Repair: fmt.Sprintf("go on at offset %d; the offsets between stay unused", p.offset)}
	if len(x.segs) > 0 {
		x.v.fix(f, nil) // point sets it there
		return
	}
	f.Repair = fmt.Sprintf("begin the log at offset %d", p.offset)
	x.v.fix(f, func() error { return x.v.putStart(k, p.offset) })
}

// missing finds segments of which only the index is there.
func (x *examined) missing(indexes []int64) {
	start := x.v.starts[x.key()].offset
	for _, base := range indexes {
		i := sortedSegment(x.segs, base)
		if base < start || i >= 0 && (x.segs[i].base == base || x.segs[i].end > base) {
			continue
		}
		to := x.reached()
		if i+1 < len(x.segs) {
			to = x.segs[i+1].base
		}
		if to <= base {
			continue
		}
		index, snapshot := x.path(offsetName(base, indexSuffix)), x.path(offsetName(base, snapshotSuffix))
		x.moved = true
		x.v.fix(Finding{File: x.path(offsetName(base, logSuffix)), Position: -1, From: base, To: to, Reason: "the segment is missing; only its index is there",
			Repair: "set the index aside; the offsets stay unused"},
			func() error { return errors.Join(x.v.setAsideIfThere(index), x.v.setAsideIfThere(snapshot)) })
	}
}

func sortedSegment(segs []*scanned, offset int64) int {
	i, found := slices.BinarySearchFunc(segs, offset, func(s *scanned, o int64) int {
		switch {
		case s.base < o:
			return -1
		case s.base > o:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	return i
}

// logs reports what is wrong in the .log files, and what would be cut.
func (x *examined) logs() {
	for i := range len(x.segs) - 1 {
		s, n := x.segs[i], x.segs[i+1]
		if s.end > n.base {
			x.strange(s, fmt.Sprintf("the segment has offsets up to %d, the next one begins at %d", s.end-1, n.base), n.base)
		}
	}
	rp, known := x.v.points[x.key()]
	for i, s := range x.segs {
		if len(s.bad) == 0 {
			continue
		}
		x.moved = true
		last := s.bad[len(s.bad)-1]
		// A torn write at the end of the log, behind all that was synced.
		torn := i == len(x.segs)-1 && len(s.bad) == 1 && last.end < 0 && !x.v.clean && (!known || s.end >= rp.offset)
		x.tail = x.tail || i == len(x.segs)-1 && last.end < 0
		for n, b := range s.bad {
			f := Finding{File: s.file.Path(), Position: b.from, Bytes: b.to - b.from, From: b.first, To: b.end, Reason: b.why, Harmless: torn}
			if b.end < 0 {
				f.To = x.next(i)
			}
			if f.To <= f.From {
				f.From, f.To = -1, -1
			}
			f.Repair = fmt.Sprintf("move %d bytes to %s, and producer snapshots taken behind them aside", f.Bytes, filepath.Base(asidePath(f.File, b.from)))
			if f.To > f.From {
				x.lost = x.lost || i == len(x.segs)-1 && b.end < 0
				f.Repair += "; the offsets stay unused"
			}
			fix := func() error { return x.takeOut(s) }
			if n > 0 {
				fix = nil
			}
			x.v.fix(f, fix)
		}
	}
}

// strange is a .log file that is not this partition's, or not this segment.
func (x *examined) strange(s *scanned, why string, to int64) {
	x.moved = true
	last := s == x.segs[len(x.segs)-1]
	x.tail, x.lost = x.tail || last, x.lost || last
	log, index := s.file.Path(), x.path(offsetName(s.base, indexSuffix))
	x.v.fix(Finding{File: log, Position: 0, Bytes: s.size, From: s.base, To: max(to, s.base), Reason: why,
		Repair: "set the file and its index aside as *" + damagedSuffix + "; the offsets stay unused"},
		func() error { return errors.Join(x.v.setAsideIfThere(log), x.v.setAsideIfThere(index)) })
	s.bad, s.end, s.batches = nil, s.base, nil
}

// point compares the recovery point with the log, and has it set behind
// everything when a repair changes the log.
func (x *examined) point() {
	k := x.key()
	rp, known := x.v.points[k]
	end := int64(0)
	if n := len(x.segs); n > 0 {
		end = x.segs[n-1].end
	}
	start := x.v.starts[k].offset
	file := filepath.Join(x.v.path, pointsName)
	switch {
	case !known && x.gone == 0:
	case len(x.segs) == 0 && x.gone > 0: // said above
		return
	case len(x.segs) == 0 && rp.offset > start:
		x.v.fix(Finding{File: x.home.path, Position: -1, From: start, To: rp.offset, Reason: "all segments are missing",
			Repair: fmt.Sprintf("begin the log at offset %d", rp.offset)}, func() error { return x.v.putStart(k, rp.offset) })
		return
	case x.rolled(): // to a segment that is not written yet
	case len(x.segs) > 0 && end < rp.offset && !x.tail:
		last := x.segs[len(x.segs)-1]
		x.moved, x.tail, x.lost = true, true, true
		x.v.fix(Finding{File: last.file.Path(), Position: last.size, From: max(end, start), To: rp.offset,
			Reason: fmt.Sprintf("the log ends at offset %d, and had reached %d on the disk", end, rp.offset),
			Repair: fmt.Sprintf("go on at offset %d; the offsets between stay unused", rp.offset)}, nil)
	case len(x.segs) > 0 && !x.moved:
		i := slices.IndexFunc(x.segs, func(s *scanned) bool { return s.base == rp.segBase })
		if i >= 0 {
			s := x.segs[i]
			b, ok := s.at(rp.pos)
			if ok && b.base >= rp.offset || rp.pos == s.soundTo && rp.offset >= s.end {
				break
			}
		}
		if rp.offset <= x.segs[0].base {
			break // retention has passed it, or come to it
		}
		x.moved = true
		x.v.fix(Finding{File: file, Position: -1, Reason: fmt.Sprintf("the recovery point of %s is offset %d at byte %d of segment %d, where no batch of this offset begins", x.tp, rp.offset, rp.pos, rp.segBase),
			Repair: "set it to the end of the log"}, nil)
	}
	if !x.moved || len(x.segs) == 0 {
		return
	}
	x.v.fixes = append(x.v.fixes, func() error { return x.setPoint(max(x.reached(), end)) })
}

// rolled tells that the next record begins a segment that has no file yet.
func (x *examined) rolled() bool {
	rp, known := x.v.points[x.key()]
	return known && len(x.segs) > 0 && rp.pos == 0 && rp.offset == rp.segBase && rp.segBase > x.segs[len(x.segs)-1].base
}

// snapshots checks the producers' state.
func (x *examined) snapshots(offsets []int64) error {
	end := x.reached()
	if n := len(x.segs); n > 0 {
		end = max(end, x.segs[n-1].end)
	}
	for _, o := range offsets {
		file := x.path(offsetName(o, snapshotSuffix))
		b, err := vfs.ReadFile(x.v.fs, file)
		if err != nil {
			return err
		}
		why := ""
		h, _, err := decodeSnapshot(b)
		switch {
		case errors.Is(err, ErrNewer):
			return fmt.Errorf("%s: %w", file, err)
		case err != nil:
			why = err.Error()
		case h.key.topic != x.topic:
			why = fmt.Sprintf("it is of topic id %s", h.key.topic)
		case !h.isOf(x.key()):
			why = fmt.Sprintf("it is of partition %d", h.key.partition)
		case h.offset != o:
			why = fmt.Sprintf("it is of offset %d", h.offset)
		case o > end:
			why = fmt.Sprintf("it is of offset %d, the log ends at %d", o, end)
		default:
			i := slices.IndexFunc(x.segs, func(s *scanned) bool { return s.base == h.segBase })
			if i < 0 || h.pos == 0 || len(x.segs[i].bad) > 0 {
				continue
			}
			if at, ok := x.segs[i].at(h.pos); ok && at.base >= o || h.pos == x.segs[i].soundTo && o >= x.segs[i].end {
				continue
			}
			if x.segs[i].records == 0 || x.tail { // a cleaned or repaired one: its positions mean nothing
				continue
			}
			why = fmt.Sprintf("it is of byte %d of segment %d, where no batch of offset %d begins; it may be another partition's", h.pos, h.segBase, o)
		}
		// None is synced: what a crash of the system has torn is ignored when it is its turn.
		harmless := o > end && err == nil && !x.v.clean || err != nil && !x.v.clean && !x.v.killed
		x.v.fix(Finding{File: file, Position: 0, Bytes: int64(len(b)), Reason: why, Harmless: harmless,
			Repair: "set the file aside; the producers are read from an older one and the log"}, func() error { return x.v.setAsideIfThere(file) })
	}
	return nil
}

// epochs compares the epoch history with the batches.
func (x *examined) epochs() error {
	var want epochHistory
	for _, s := range x.segs {
		for _, b := range s.batches {
			if latest := want.latest(); b.epoch < latest {
				return x.epochsOfBatches(fmt.Sprintf("the batch at offset %d has leader epoch %d, one before it has %d", b.base, b.epoch, latest), s, b)
			}
			want = want.with(b.epoch, b.base)
		}
	}
	if len(want) == 0 {
		return nil
	}
	file := x.path(epochsName)
	start := max(x.v.starts[x.key()].offset, x.segs[0].base)
	rp, known := x.v.points[x.key()]
	b, err := vfs.ReadFile(x.v.fs, file)
	f := Finding{File: file, Position: -1}
	switch {
	case isNotExist(err):
		f.Reason = "the file is missing"
	case err != nil:
		return err
	default:
		topic, have, err := decodeEpochs(b)
		end := x.segs[len(x.segs)-1].end
		switch {
		case errors.Is(err, ErrNewer):
			return fmt.Errorf("%s: %w", file, err)
		case err != nil:
			f.Position, f.Reason = 0, err.Error()
		case topic != x.topic:
			f.Reason = fmt.Sprintf("it is of topic id %s", topic)
		default:
			var first scannedBatch
			var of *scanned
			against := 0
			for _, s := range x.segs {
				for _, b := range s.batches {
					if b.base < start || b.base >= end || have.at(b.base) == b.epoch {
						continue
					}
					if against++; against == 1 {
						first, of = b, s
					}
				}
			}
			// One batch alone against a sound history that is not too old is damaged; where
			// there are several it is the history of another time or partition.
			older := known && rp.epoch > have.latest() || !x.v.clean && first.epoch > have.latest()
			if _, wrong := have.contradicts(first.epoch, first.base); against == 1 && wrong && !older {
				return x.epochsOfBatches("its neighbours fit", of, first)
			}
			if against > 0 {
				f.Reason = fmt.Sprintf("it says that offset %d has leader epoch %d, the batch in %s at byte %d has %d",
					first.base, have.at(first.base), filepath.Base(of.file.Path()), first.pos, first.epoch)
			}
		}
	}
	if f.Reason == "" {
		return nil
	}
	f.Harmless = !x.v.clean && !strings.HasPrefix(f.Reason, "checksum")
	f.Repair = "set it aside and write it anew from the batches"
	topic := x.topic
	x.v.fix(f, func() error {
		return errors.Join(x.v.setAsideIfThere(file), vfs.WriteFile(x.v.fs, file, want.trimmed(start).encode(topic), true))
	})
	return nil
}

// epochsOfBatches is for batches whose epochs do not rise. The epoch lies outside
// the checksum; what it was, the history says, if it is sound.
func (x *examined) epochsOfBatches(why string, at *scanned, fallen scannedBatch) error {
	b, err := vfs.ReadFile(x.v.fs, x.path(epochsName))
	if err != nil && !isNotExist(err) {
		return err
	}
	topic, have, err := decodeEpochs(b)
	if err != nil || topic != x.topic {
		x.v.find(Finding{File: at.file.Path(), Position: fallen.pos, Reason: why})
		return nil
	}
	for _, s := range x.segs {
		for i := range s.batches {
			b := &s.batches[i]
			if e := have.at(b.base); e != model.NoEpoch && e != b.epoch {
				x.v.fix(Finding{File: s.file.Path(), Position: b.pos + 12, Reason: fmt.Sprintf("the batch at offset %d has leader epoch %d, the history says %d; %s", b.base, b.epoch, e, why),
					Repair: fmt.Sprintf("write leader epoch %d into it", e)}, func() error { return x.writeEpoch(s, b.pos, e) })
				b.epoch = e
			}
		}
	}
	return nil
}
