package segment

import (
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// appendTimed is a batch whose time the broker set.
func appendTimed(ms int64, n int) record.Batch {
	b := record.NewBuilder()
	b.LogAppendTime, b.AppendTimeMs = true, ms
	for range n {
		b.Add(1, nil, make([]byte, 500))
	}
	return b.Build()
}

func TestBatchTime(t *testing.T) {
	io := NewPwritevIO()
	defer io.Close()
	d := openDir(t, vfs.OS{}, t.TempDir()+"/data")
	l, _ := openLog(t, d, smallConfig())
	if _, _, ok, err := l.BatchTime(0, 1<<62); ok || err != nil {
		t.Errorf("an empty log has a time: %v", err)
	}
	for i := range int64(20) { // three records each, over several segments
		appendAll(t, io, l, 0, batchOf(t0+i*100, 3, 500))
	}
	appendAll(t, io, l, 0, appendTimed(t0+9000, 3))
	if l.SegmentCount() < 3 {
		t.Fatalf("%d segments", l.SegmentCount())
	}
	for offset := range int64(60) {
		if ms, appended, ok, err := l.BatchTime(offset, 1<<62); err != nil || !ok || appended || ms != t0+offset/3*100+2 {
			t.Errorf("offset %d: %d, %v, %v, %v", offset, ms-t0, appended, ok, err)
		}
	}
	if ms, appended, ok, err := l.BatchTime(61, 1<<62); err != nil || !ok || !appended || ms != t0+9000 {
		t.Errorf("got %d, %v, %v, %v", ms-t0, appended, ok, err)
	}
	for _, none := range [][2]int64{{63, 1 << 62}, {70, 1 << 62}, {61, 60}} {
		if _, _, ok, err := l.BatchTime(none[0], none[1]); ok || err != nil {
			t.Errorf("offset %d below %d has a time: %v", none[0], none[1], err)
		}
	}
	if err := l.AdvanceStart(30); err != nil {
		t.Fatal(err)
	}
	if ms, _, ok, err := l.BatchTime(3, 1<<62); err != nil || !ok || ms != t0+1002 {
		t.Errorf("below the log start: %d, %v, %v", ms-t0, ok, err)
	}
}
