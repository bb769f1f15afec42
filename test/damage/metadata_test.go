package damage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmain/test/harness"
)

const raftFile = "__cluster_metadata/00000000000000000001.raft"

// The metadata log is cut after a kill, within an entry and between two. Its entries were
// acknowledged: the start is refused, and no topic disappears.
func TestMetadataCutAfterAKillIsRefused(t *testing.T) {
	killed := filled(t, true)
	whole, err := os.ReadFile(filepath.Join(killed, raftFile))
	if err != nil {
		t.Fatal(err)
	}
	sizes := []int{64, 100, len(whole) / 2, len(whole) - 60, len(whole) - 1}
	for at := strings.Index(string(whole), "RMFR"); at >= 0; { // where an entry begins, so that the log looks whole
		if len(sizes)%3 == 0 {
			sizes = append(sizes, at)
		} else {
			sizes = append(sizes, at+20)
		}
		next := strings.Index(string(whole[at+4:]), "RMFR")
		if next < 0 {
			sizes = append(sizes, at)
			break
		}
		at += 4 + next
	}
	for _, size := range sizes {
		dir := filepath.Join(t.TempDir(), "data")
		copyTree(t, killed, dir)
		if err := os.Truncate(filepath.Join(dir, raftFile), int64(size)); err != nil {
			t.Fatal(err)
		}
		if v := command(t, "verify", "--data-dir", dir, "--output", "json"); v.code != 1 || !v.names(raftFile) {
			t.Errorf("cut to %d of %d bytes: verify: %v", size, len(whole), v)
		}
		refuse(t, dir, raftFile)
	}
}

// An entry that a kill cut short while it was written, and of which nobody was told, stops
// nothing.
func TestTornMetadataEntryIsCut(t *testing.T) {
	dir := filled(t, true)
	f, err := os.OpenFile(filepath.Join(dir, raftFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("RMFR\x00\x00\x00\x30 the rest is missing"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if v := command(t, "verify", "--data-dir", dir, "--output", "json"); v.code != 0 {
		t.Errorf("verify: %v", v)
	}
	b := harness.StartOwn(t, harness.Options{DataDir: dir, Overrides: overrides})
	for _, p := range parts {
		if s := readAll(t, b.Addr(), p); len(s.got) != endOffset {
			t.Errorf("%v has %d of %d records", p, len(s.got), endOffset)
		}
	}
}

// Bytes of quorum-state that nothing reads are flipped: verify names the place, and that it
// is harmless, and the start goes on.
func TestUnusedBytesOfTheVoteFlipped(t *testing.T) {
	dir := filled(t, false)
	for _, at := range []int{600, 2060 + 30, 4000, -1} {
		flipAt(at)(t, filepath.Join(dir, "__cluster_metadata/quorum-state"))
		v := command(t, "verify", "--data-dir", dir, "--output", "json")
		if v.code != 0 || len(v.Findings) != 1 || !v.Findings[0].Harmless || !v.names("quorum-state") {
			t.Errorf("byte %d: %v", at, v)
		}
		if b, err := harness.Launch(harness.Options{DataDir: dir, Overrides: overrides}); err != nil {
			t.Errorf("byte %d: %v", at, err)
		} else if err := b.Stop(); err != nil {
			t.Error(err)
		}
		flipAt(at)(t, filepath.Join(dir, "__cluster_metadata/quorum-state"))
	}
}
