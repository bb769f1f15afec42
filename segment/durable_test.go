package segment

import "testing"

// A partition is deleted while a sync of it is in flight that passes into another segment.
// Its recovery point goes with it, and does not come back when the sync ends.
func TestDeletedPartitionHasNoRecoveryPoint(t *testing.T) {
	_, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for len(l.segs) < 3 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 500))
	}
	syncLog(t, io, l)
	if _, ok := d.points.get(l.key()); !ok {
		t.Fatal("a sync has passed into another segment, and no recovery point says so")
	}
	for len(l.segs) < 5 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 500))
	}
	_, upTo := l.BeginSync(nil)
	if err := l.Delete(); err != nil {
		t.Fatal(err)
	}
	l.EndSync(upTo, false, nil)
	if p, ok := d.points.get(l.key()); ok {
		t.Errorf("the deleted partition has a recovery point: %+v", p)
	}
}

// While the checkpoint is being written, the point of a sync waits for the next one.
func TestPassedPointWaitsForNoCheckpoint(t *testing.T) {
	_, d, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for len(l.segs) < 3 {
		appendAll(t, io, l, 0, batchOf(t0, 1, 500))
	}
	d.saving.Lock()
	syncLog(t, io, l)
	if p, ok := d.points.get(l.key()); ok {
		t.Errorf("written beside the checkpoint: %+v", p)
	}
	d.saving.Unlock()
	appendAll(t, io, l, 0, batchOf(t0, 1, 10))
	syncLog(t, io, l)
	if p, _ := d.points.get(l.key()); p.offset != l.EndOffset() {
		t.Errorf("the recovery point is %+v, the log ends at %d", p, l.EndOffset())
	}
}
