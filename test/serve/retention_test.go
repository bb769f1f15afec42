package serve

import (
	"crypto/rand"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/test/harness"
)

// When segments roll, what retention keeps and when files go are settings that change
// while the broker runs.
func TestSegmentAndRetentionSettingsChangeAtRunTime(t *testing.T) {
	t.Parallel()
	b := harness.StartOwn(t, harness.Options{Overrides: []string{"log.retention.check.interval.ms=20"}})
	create(t, b.Addr(), "t", 1)
	adm := kadm.NewClient(client(t, b.Addr()))
	set := func(name, value string) {
		t.Helper()
		rs, err := adm.AlterTopicConfigs(within(t), []kadm.AlterConfig{{Name: name, Value: &value}}, "t")
		if err != nil || rs[0].Err != nil {
			t.Fatalf("%s=%s: %v", name, value, err)
		}
	}
	files := func() int {
		found, err := filepath.Glob(filepath.Join(b.DataDir(), "t-0", "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	start := func() int64 {
		t.Helper()
		l, err := adm.ListStartOffsets(within(t), "t")
		if err != nil {
			t.Fatal(err)
		}
		return l["t"][0].Offset
	}
	write := func(bytes int) {
		t.Helper()
		value := make([]byte, bytes)
		rand.Read(value) // clients compress
		if err := produceOnce(t, b.Addr(), value); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, n int) {
		t.Helper()
		if got := files(); got != n {
			t.Fatalf("%s: %d segment files, want %d", what, got, n)
		}
	}
	for range 3 {
		write(600_000)
	}
	want("with segments of 1 GiB", 1)
	set("segment.bytes", "1048576")
	write(600_000)
	want("segment.bytes=1048576", 2)
	write(600_000)
	want("segment.bytes=1048576, once more", 3)
	set("segment.bytes", "1073741824")
	write(600_000)
	want("segments of 1 GiB again", 3)
	set("segment.ms", "1")
	eventually(t, "segment.ms=1 rolls", func() bool { write(10); return files() > 3 })
	set("segment.ms", "604800000")

	// Files stay for file.delete.delay.ms (a minute) after their records have gone.
	before := files()
	set("retention.bytes", "1000")
	eventually(t, "retention.bytes=1000 takes segments out of the log", func() bool { return start() == 4 }) // the rest without its first segment would be less
	want("within file.delete.delay.ms", before)
	set("retention.bytes", "-1")
	kept := start()
	set("file.delete.delay.ms", "0")
	write(10)
	set("retention.ms", "1")
	eventually(t, "retention.ms=1 empties the log", func() bool { return start() == ends(t, b.Addr(), "t")[0].Offset && start() > kept })
	eventually(t, "file.delete.delay.ms=0 removes files at once", func() bool { return files() < before })
	set("retention.ms", "604800000")
	now := start()
	write(10)
	if got := start(); got != now {
		t.Errorf("with retention of a week a new record went: the log starts at %d, want %d", got, now)
	}
}
