package segment

import (
	"errors"

	"ringmain/record"
)

// BatchTime gives the largest timestamp (ms since 1970) of the batch that holds offset,
// or of the first behind it that has records and begins below limit, and whether the
// broker set it (LogAppendTime: then it is every record's). ok is false if there is
// none. Below the log start it is the first batch. The checksum is not compared: for
// measuring, not for deciding. It waits for the disk. Any goroutine.
func (l *Log) BatchTime(offset, limit int64) (ms int64, appended, ok bool, err error) {
	for {
		ms, appended, ok, err = l.batchTime(offset, limit)
		if err != nil && l.closed.Load() {
			return 0, false, false, ErrClosed
		}
		if !errors.Is(err, errGone) {
			return ms, appended, ok, err
		}
	}
}

func (l *Log) batchTime(offset, limit int64) (ms int64, appended, ok bool, err error) {
	offset = max(offset, l.start.Load())
	limit = min(limit, l.end.Load())
	for _, seg := range l.segmentList() {
		if l.segmentEnd(seg) <= offset {
			continue
		}
		if seg.base >= limit {
			break
		}
		pos, found, err := l.locate(seg, l.publishedSize(seg), offset)
		if err != nil {
			return 0, false, false, err
		}
		if !found {
			continue
		}
		err = l.batches(seg, pos, limit, func(_ *walk, _ int64, h record.Batch) (bool, error) {
			if h.Control() || h.Count() == 0 {
				return true, nil
			}
			ms, appended, ok = h.MaxTimestamp(), h.LogAppendTime(), true
			return false, nil
		})
		if ok || err != nil {
			return ms, appended, ok, err
		}
	}
	return 0, false, false, nil
}
