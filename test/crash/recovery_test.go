package crash

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/test/harness"
)

// What recovery makes of the files does not depend on how often it was killed on its
// way: two copies of what a kill left, with tails torn off as a power cut would, are
// recovered in one go and in several, and have the same bytes.
func TestKilledRecoveryGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	rng := moments(t)
	overrides := []string{"log.roll.ms=300", "ringmain.journal.bytes=4194304"}
	b := harness.StartOwn(t, harness.Options{Overrides: overrides})
	const partitions = 16
	for round := range max(1, *rounds/3) {
		topic := fmt.Sprintf("recovered-%d", round)
		createTopic(t, b.Addr(), topic, partitions)
		l, stop := newLedger(partitions), make(chan struct{})
		var producers sync.WaitGroup
		for p := range int32(partitions) {
			producers.Go(func() { loadOnce(t, b.Addr(), topic, p, l, stop, kgo.AllISRAcks()) })
		}
		waitUntil(t, 60*time.Second, "the journal is in use", func() bool { return l.acknowledged() > 5000 && hasJournal(t, b.DataDir()) })
		b.Kill()
		close(stop)
		producers.Wait()

		for p := range partitions {
			tear(t, filepath.Join(b.DataDir(), fmt.Sprintf("%s-%d", topic, p)), int64(rng.IntN(3000)))
		}
		other := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(other, os.DirFS(b.DataDir())); err != nil {
			t.Fatal(err)
		}
		at := harness.StartOwn(t, harness.Options{DataDir: other, Overrides: overrides})
		at.Kill()
		for range 2 + rng.IntN(6) {
			if err := b.StartAndKill(time.Duration(rng.IntN(60_000)) * time.Microsecond); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Restart(); err != nil {
			t.Fatal(err)
		}
		b.Kill()
		once, often := logFiles(t, other), logFiles(t, b.DataDir())
		for _, name := range slices.Sorted(maps.Keys(once)) {
			if often[name] != once[name] {
				t.Errorf("%s: %s after one recovery, %s after one that was killed on its way", name, once[name], often[name])
			}
			delete(often, name)
		}
		if len(once) < partitions || len(often) > 0 {
			t.Errorf("%d files after one recovery; only after one that was killed: %v", len(once), often)
		}
		if err := b.Restart(); err != nil {
			t.Fatal(err)
		}
	}
}

// tear takes the last bytes off the newest segment of a partition.
func tear(t *testing.T, partition string, bytes int64) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(partition, "*.log"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("%s has no segments: %v", partition, err)
	}
	newest := segments[len(segments)-1]
	st, err := os.Stat(newest)
	if err == nil {
		err = os.Truncate(newest, max(0, st.Size()-bytes))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// logFiles describes every segment below a data directory.
func logFiles(t *testing.T, dataDir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dataDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".log" {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dataDir, path)
		files[name] = fmt.Sprintf("%d bytes %.8x", len(content), sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
