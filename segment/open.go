package segment

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringmain/internal/vfs"
	"ringmain/model"
	"ringmain/record"
)

// OpenLog opens or creates the log of a partition. A partition that was never
// written has nothing on disk, and creating it touches nothing. ErrTopicID if
// the directory is of another topic: Discard it first, if the metadata says
// so. Different partitions may be opened at once by several goroutines.
func (d *Dir) OpenLog(tp model.TopicPartition, topicID model.TopicID, cfg Config) (*Log, RecoveryReport, error) {
	h := &home{fs: d.fs, budget: d.budget, root: d.path, path: filepath.Join(d.path, tp.String())}
	l := &Log{dir: d, tp: tp, topic: topicID, home: h, log: d.log, cfg: cfg.withFloor(), leader: model.NoEpoch}
	h.history = l.storedEpochs
	d.mu.Lock()
	if d.logs[tp] != nil {
		d.mu.Unlock()
		return nil, RecoveryReport{}, fmt.Errorf("open %s: the log is open already", tp)
	}
	d.logs[tp] = l
	d.mu.Unlock()
	begin := time.Now()
	var rep RecoveryReport
	err := l.readDisk(&rep)
	rep.Duration = time.Since(begin)
	if err != nil {
		d.mu.Lock()
		delete(d.logs, tp)
		d.mu.Unlock()
		return nil, rep, fmt.Errorf("open partition %s in %s: %w", tp, d.path, err)
	}
	return l, rep, nil
}

// onDisk is what a partition's directory holds.
type onDisk struct {
	exists    bool // the directory
	bases     []int64
	sizes     []int64
	written   []int64 // when each was written to last, ms since 1970
	snapshots []int64
	replacing bool // a cleaning was interrupted
	indexes   []int64
	unindexed []int64 // bases of segments whose replacement was ended, without an index
}

func (l *Log) list() (onDisk, error) {
	var o onDisk
	es, err := l.home.fs.ReadDir(l.home.path)
	if isNotExist(err) {
		return o, nil
	}
	if err != nil {
		return o, fmt.Errorf("read partition directory: %w", err)
	}
	o.exists = true
	for _, e := range es {
		path := filepath.Join(l.home.path, e.Name)
		if base, ok := parseOffsetName(e.Name, logSuffix); ok {
			st, err := l.home.fs.Stat(path)
			if isNotExist(err) {
				continue // an expired one that was just removed in the background
			}
			if err != nil {
				return o, fmt.Errorf("read partition directory: %w", err)
			}
			o.bases, o.sizes, o.written = append(o.bases, base), append(o.sizes, st.Size), append(o.written, st.ModTime.UnixMilli())
		} else if offset, ok := parseOffsetName(e.Name, snapshotSuffix); ok {
			o.snapshots = append(o.snapshots, offset)
		} else if strings.HasSuffix(e.Name, swapSuffix) || strings.HasSuffix(e.Name, cleanedSuffix) {
			o.replacing = true
		} else if base, ok := parseOffsetName(e.Name, indexSuffix); ok {
			o.indexes = append(o.indexes, base)
		} else if strings.HasSuffix(e.Name, tmpSuffix) { // a write that a kill cut short
			if err := l.home.fs.Remove(path); err != nil {
				return o, fmt.Errorf("remove unfinished file: %w", err)
			}
		}
	}
	return o, nil // ReadDir is sorted, and so are names of 20 digits
}

// readDisk finds the state of the log on disk.
func (l *Log) readDisk(rep *RecoveryReport) error {
	o, err := l.list()
	if err != nil {
		return err
	}
	if o.exists {
		if err := l.checkOwner(len(o.bases) > 0, rep); err != nil {
			return err
		}
	}
	if o.replacing {
		unindexed, err := l.finishReplacements()
		if err != nil {
			return err
		}
		if o, err = l.list(); err != nil {
			return err
		}
		o.unindexed = unindexed
	}
	if err := l.recover(o, rep); err != nil {
		return err
	}
	if rep.CutBytes > 0 || len(rep.SetAside) > 0 {
		if err := l.dir.settled(); err != nil {
			return err
		}
	}
	l.missing(o)
	l.indexReplacements()
	return nil
}

// checkOwner compares the topic id on disk with ours. A directory without a
// readable partition.metadata is taken for ours unless another file in it
// says otherwise: the metadata is written before any record, so only damage
// or a power cut before the first sync leaves one.
func (l *Log) checkOwner(hasRecords bool, rep *RecoveryReport) error {
	id, partition, err := readMetadata(l.home.fs, l.home.path)
	switch {
	case errors.Is(err, ErrNewer):
		return err
	case err == nil:
		if id != l.topic || partition != l.tp.Partition {
			return fmt.Errorf("%w: %s is of topic id %s partition %d, expected %s partition %d", ErrTopicID, l.home.path, id, partition, l.topic, l.tp.Partition)
		}
		return nil
	case !isNotExist(err) && !errors.Is(err, errDamaged):
		return fmt.Errorf("read partition metadata: %w", err)
	}
	if !hasRecords && isNotExist(err) {
		return nil // createFile writes it
	}
	if b, rerr := vfs.ReadFile(l.home.fs, filepath.Join(l.home.path, epochsName)); rerr == nil {
		if other, _, derr := decodeEpochs(b); derr == nil && other != l.topic {
			return fmt.Errorf("%w: %s has no readable %s, and its %s is of topic id %s", ErrTopicID, l.home.path, metadataName, epochsName, other)
		}
	}
	l.log.Warn("partition metadata is missing or damaged and is written again", "directory", l.home.path, "topic_id", l.topic.String(), "reason", err)
	rep.MetadataRebuilt = true
	return vfs.WriteFile(l.home.fs, filepath.Join(l.home.path, metadataName), encodeMetadata(l.topic, l.tp.Partition), false)
}

// replay reads headers of batches from (segment i, pos) up to the place (to,
// toPos), and calls fn for each. What is no batch is logged and gone round: it
// is for its readers to be refused. Headers of what lies in round are not read either: fn
// gets a nil one there, and for everything else that may have been batches. Checksums are
// compared of those batches that doubtful, which may be nil, asks for.
func (l *Log) replay(segs []*segment, i int, pos int64, to int, toPos int64, round []damagedPiece, rep *RecoveryReport, doubtful func(h record.Batch) bool, fn func(pos int64, h record.Batch)) error {
	reached := int64(-1) // offset after the last batch
	for ; i <= to && i < len(segs); i, pos = i+1, 0 {
		end := segs[i].size
		if i == to {
			end = min(end, toPos)
		}
		if pos >= end {
			continue
		}
		if err := segs[i].file.acquire(); err != nil {
			return err
		}
		w := newWalk(segs[i].file, end)
		err := func() error {
			expect, low, before := segs[i].base, segs[i].base, pos
			if reached >= 0 && reached < expect {
				fn(pos, nil)
			}
			for first := true; pos < end; first = false {
				if behind := endOf(round, segs[i], pos); behind > pos {
					fn(pos, nil)
					pos, before = behind, behind
					continue
				}
				h, err := w.header(pos)
				doubt := pos
				if first && pos > 0 && err == nil { // who gives a position knows the batch there
					expect = h.BaseOffset()
				}
				switch {
				case errors.Is(err, errEnd):
					err = corrupt(segs[i].file.Path(), pos, "%d bytes are less than a batch header", end-pos)
				case err == nil:
					if doubt, err = w.follows(before, pos, h, low, expect); err == nil {
						h, err = w.header(pos)
					}
					if err == nil && doubtful != nil && doubtful(h) {
						if err = w.checksum(pos, h); err == nil {
							h, err = w.header(pos)
						}
					}
				}
				if errors.Is(err, ErrCorrupt) {
					fn(pos, nil)
					if pos, err = l.goRound(w, pos, doubt, expect, err); err != nil {
						return err
					}
					before = pos
					continue
				}
				if err != nil {
					return err
				}
				fn(pos, h)
				rep.HeaderBytes += int64(h.Size())
				before, low, pos, expect = pos, expect, pos+int64(h.Size()), h.LastOffset()+1
				reached = expect
			}
			return nil
		}()
		w.done()
		segs[i].file.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// newestSnapshot loads the newest sound snapshot between the first offset that
// is still in the log and the given one. An older one is of no use: it lacks
// the batches in between, and would have a producer's next one refused.
// Damaged ones are removed.
func (l *Log) newestSnapshot(first, offset int64) (h snapshotHead, byID map[int64]*producer, ok bool) {
	for i := len(l.snapshots) - 1; i >= 0 && l.snapshots[i] >= first; i-- {
		o := l.snapshots[i]
		if o > offset {
			continue
		}
		path := offsetPath(l.home.path, o, snapshotSuffix)
		b, err := vfs.ReadFile(l.home.fs, path)
		if err == nil {
			h, byID, err = decodeSnapshot(b)
		}
		if err == nil && !h.isOf(l.key()) {
			err = fmt.Errorf("it is of topic id %s, partition %d", h.key.topic, h.key.partition)
		} else if err == nil && h.offset != o {
			err = errDamaged
		}
		if err == nil {
			return h, byID, true
		}
		l.log.Warn("producer snapshot is damaged and ignored", "file", path, "reason", err)
		l.removeSnapshot(o)
		l.snapshots = slices.Delete(slices.Clone(l.snapshots), i, i+1)
	}
	return h, nil, false
}
