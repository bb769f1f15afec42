package segment

import (
	"runtime"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// What a partition costs that was written once by an idempotent producer and
// is idle, and one that was never written.
func TestIdlePartitionIsSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own memory counts")
	}
	const partitions = 300
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	d := openDir(t, vfs.OS{}, t.TempDir()+"/data")
	defer d.Close()
	io := testIO()
	defer io.Close()
	logs := make([]*Log, partitions)
	before := heap()
	for i := range logs {
		l, _, err := d.OpenLog(model.TopicPartition{Topic: "idle", Partition: int32(i)}, testTopic, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		logs[i] = l
	}
	created := heap()
	for i, l := range logs {
		if _, err := l.Stage(produced(int64(i), 0, 0, t0, 1), 0, t0, t0); err != nil {
			t.Fatal(err)
		}
	}
	if errs := Flush(io, logs); errs != nil {
		t.Fatal(errs)
	}
	written := heap()
	t.Logf("bytes per partition: %d created, %d written", (created-before)/partitions, (written-before)/partitions)
	if n := (created - before) / partitions; n > 2048 {
		t.Errorf("a partition that was never written costs %d bytes, want at most 2048", n)
	}
	if n := (written - before) / partitions; n > 4096 {
		t.Errorf("an idle partition costs %d bytes, want at most 4096", n)
	}
	runtime.KeepAlive(logs)
}
