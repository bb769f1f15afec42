package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/metadata"
)

// loadDir copies a real directory into memory.
func loadDir(t testing.TB, from string) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/meta"); err != nil {
		t.Fatal(err)
	}
	names, err := vfs.OS{}.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		b, err := vfs.ReadFile(vfs.OS{}, filepath.Join(from, e.Name))
		if err != nil {
			t.Fatal(err)
		}
		putFile(t, mem, e.Name, b)
	}
	return mem
}

func putFile(t testing.TB, fsys vfs.FS, name string, b []byte) {
	t.Helper()
	if err := vfs.WriteFile(fsys, filepath.Join("/meta", name), b, true); err != nil {
		t.Fatal(err)
	}
}

// files reads all files of ours.
func files(t testing.TB, fsys vfs.FS) map[string][]byte {
	t.Helper()
	found, err := readContents(fsys, "/meta")
	if err != nil {
		t.Fatal(err)
	}
	names := append([]string{quorumStateName}, found.checkpoints...)
	for _, first := range found.segments {
		names = append(names, segmentName(first))
	}
	all := map[string][]byte{}
	for _, name := range names {
		b, err := vfs.ReadFile(fsys, filepath.Join("/meta", name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = b
	}
	return all
}

// restore makes a directory of these files.
func restore(t testing.TB, all map[string][]byte) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/meta"); err != nil {
		t.Fatal(err)
	}
	for name, b := range all {
		putFile(t, mem, name, bytes.Clone(b))
	}
	return mem
}

// used returns the files of a node that ran for a while: with checkpoints, and
// a log that goes on after them. stopped cleanly or killed.
func used(t testing.TB, clean bool) map[string][]byte {
	t.Helper()
	mem := vfs.NewMem()
	cfg := testConfig(mem)
	cfg.ClusterID = "6OrsXMpnRmWEyxB5y4yEVw"
	cfg.limits = limits{checkpointEntries: 4, checkpointBytes: 1 << 30}
	c := open(t, cfg)
	for n := range 9 {
		mustCreate(t, c, fmt.Sprint("t", n))
		waitForCheckpoint(c)
	}
	mustCreate(t, c, "last")
	killed := mem.KillClone()
	closeClean(t, c)
	if clean {
		return files(t, mem)
	}
	return files(t, killed)
}

// waitForCheckpoint returns when no checkpoint is being written.
func waitForCheckpoint(c *Controller) {
	for c.checkpointing.Load() {
		runtime.Gosched()
	}
}

const fixtureDir = "testdata/format-1"

// The directory in testdata was written by an earlier commit. It must open for
// ever, with all that it holds.
func TestFixtureDirectoryStaysReadable(t *testing.T) {
	if _, err := os.Stat(fixtureDir); errors.Is(err, os.ErrNotExist) && os.Getenv("RINGMAIN_WRITE_FIXTURES") != "" {
		if err := os.MkdirAll(fixtureDir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, b := range used(t, true) {
			if err := os.WriteFile(filepath.Join(fixtureDir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	cfg := testConfig(loadDir(t, fixtureDir))
	c := open(t, cfg)
	img := c.Image()
	if c.ClusterID() != "6OrsXMpnRmWEyxB5y4yEVw" || img.ClusterID() != c.ClusterID() || img.FeaturesEpoch() != 2 {
		t.Errorf("cluster %q, features epoch %d", c.ClusterID(), img.FeaturesEpoch())
	}
	want := []string{"last"}
	for n := range 9 {
		want = append(want, fmt.Sprint("t", n))
	}
	if !slices.Equal(img.TopicNames(), want) {
		t.Errorf("topics %v, want %v", img.TopicNames(), want)
	}
	mustCreate(t, c, "new")
}

// flips opens the directory with one bit of one byte turned, for every byte.
func flips(t *testing.T, all map[string][]byte, check func(t *testing.T, name string, at int, c *Controller, err error)) {
	for name, b := range all {
		for at := range b {
			bad := maps.Clone(all)
			bad[name] = bytes.Clone(b)
			bad[name][at] ^= 1 << (at % 8)
			cfg := testConfig(restore(t, bad))
			before := files(t, cfg.FS)
			c, err := Open(cfg, nil)
			check(t, name, at, c, err)
			if err != nil && !maps.EqualFunc(before, files(t, cfg.FS), bytes.Equal) {
				t.Fatalf("%s byte %d: files were changed", name, at)
			}
			if c != nil {
				c.Close()
			}
		}
	}
}

// mustRefuse checks that the error names the file, and the byte if it can.
func mustRefuse(t *testing.T, name string, at int, c *Controller, err error) {
	t.Helper()
	switch {
	case err == nil:
		t.Fatalf("%s byte %d: opened", name, at)
	case !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrIdentity):
		t.Fatalf("%s byte %d: an error of no kind: %v", name, at, err)
	case !strings.Contains(err.Error(), name):
		t.Fatalf("%s byte %d: the file is not named: %v", name, at, err)
	case errors.Is(err, ErrDamaged) && !strings.Contains(err.Error(), "byte"):
		t.Fatalf("%s byte %d: the place is not named: %v", name, at, err)
	}
}

func TestEveryFlippedBitIsRefusedAfterACleanStop(t *testing.T) {
	all := used(t, true)
	older := ""
	for name := range all {
		if strings.HasSuffix(name, checkpointSuffix) && (older == "" || name < older) {
			older = name // not used, so not read, as long as the newer one is sound
		}
	}
	flips(t, all, func(t *testing.T, name string, at int, c *Controller, err error) {
		if name == older && err == nil || name == quorumStateName && padding(at) && err == nil {
			return
		}
		mustRefuse(t, name, at, c, err)
	})
}

// Without the mark of a clean stop, what was acknowledged last could be taken
// for a torn write. It is not: a torn write misses sectors.
func TestEveryFlippedBitIsRefusedAfterAKill(t *testing.T) {
	all := used(t, false)
	for name := range all {
		if !strings.HasSuffix(name, segmentSuffix) {
			continue
		}
		one := map[string][]byte{name: all[name]}
		flips(t, merged(all, one), func(t *testing.T, flipped string, at int, c *Controller, err error) {
			if flipped == name {
				mustRefuse(t, flipped, at, c, err)
			}
		})
	}
}

func merged(a, b map[string][]byte) map[string][]byte {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// padding says which bytes of quorum-state lie outside its two slots and the mark.
func padding(at int) bool {
	return at%slotDistance >= slotSize && (at < reachedAt || at >= reachedAt+reachedSize)
}

// newestSegment is the name of the last file of the log.
func newestSegment(all map[string][]byte) (name string) {
	for n := range all {
		if strings.HasSuffix(n, segmentSuffix) {
			name = max(name, n)
		}
	}
	return name
}

// A log that was cut at any byte of its last entry, before anybody was told of it, loses
// that entry and no other, and works.
func TestLogCutInItsLastEntry(t *testing.T) {
	all := used(t, false)
	q, err := decodeQuorumState(all[quorumStateName], quorumStateName)
	if err != nil {
		t.Fatal(err)
	}
	copy(all[quorumStateName][reachedAt:], encodeReached(q.reached-1))
	name := newestSegment(all)
	b := all[name]
	start := bytes.LastIndex(b, []byte{0x52, 0x4d, 0x46, 0x52})
	for size := start; size < len(b); size++ {
		for _, zeroed := range []bool{false, true} {
			cut := maps.Clone(all)
			cut[name] = bytes.Clone(b[:size])
			if zeroed { // as a file system shows a write of which only the size is there
				cut[name] = append(cut[name], make([]byte, len(b)-size)...)
				if size > start && start/sectorBytes == (len(b)-1)/sectorBytes {
					continue // a sector is written or it is not
				}
			}
			cfg := testConfig(restore(t, cut))
			c, err := Open(cfg, nil)
			if zeroed && err != nil && size > start {
				continue // not at the border of a sector: that is damage
			}
			if err != nil {
				t.Fatalf("cut to %d of %d bytes, zeroed %v: %v", size, len(b), zeroed, err)
			}
			if err := c.Start(context.Background()); err != nil {
				t.Fatal(err)
			}
			if c.Image().Topic("last") != nil || c.Image().Topic("t8") == nil {
				t.Fatalf("cut to %d of %d bytes: topics %v", size, len(b), c.Image().TopicNames())
			}
			mustCreate(t, c, "last")
			closeClean(t, c)
			c = open(t, cfg)
			if c.Image().Topic("last") == nil {
				t.Fatalf("cut to %d of %d bytes: what was written afterwards is gone", size, len(b))
			}
			closeClean(t, c)
		}
	}
}

// A hole in acknowledged entries is damage, even where it looks like a sector
// that was never written: entries of later writes follow.
func TestZeroedSectorInsideTheLogIsRefused(t *testing.T) {
	all := used(t, false)
	for name, b := range all {
		if !strings.HasSuffix(name, segmentSuffix) {
			continue
		}
		for at := 0; at+sectorBytes < len(b)-sectorBytes; at += sectorBytes {
			bad := maps.Clone(all)
			bad[name] = bytes.Clone(b)
			clear(bad[name][at : at+sectorBytes])
			c, err := Open(testConfig(restore(t, bad)), nil)
			mustRefuse(t, name, at, c, err)
		}
	}
}

func TestCutFilesAreRefusedAfterACleanStop(t *testing.T) {
	all := used(t, true)
	for name, b := range all {
		if strings.HasSuffix(name, checkpointSuffix) && name != newestCheckpoint(all) {
			continue
		}
		for size := range b {
			cut := maps.Clone(all)
			cut[name] = b[:size]
			c, err := Open(testConfig(restore(t, cut)), nil)
			mustRefuse(t, name, size, c, err)
		}
		missing := maps.Clone(all)
		delete(missing, name)
		if c, err := Open(testConfig(restore(t, missing)), nil); err == nil {
			if name != newestCheckpoint(all) { // the older one and the log have the same
				t.Errorf("without %s: opened", name)
			}
			c.Close()
		} else if !errors.Is(err, ErrDamaged) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func newestCheckpoint(all map[string][]byte) string {
	newest := ""
	for name := range all {
		if strings.HasSuffix(name, checkpointSuffix) {
			newest = max(newest, name)
		}
	}
	return newest
}

// The error for a damaged checkpoint says how to go on, and that works.
func TestDamagedCheckpointCanBeMovedAway(t *testing.T) {
	all := used(t, true)
	newest := newestCheckpoint(all)
	bad := maps.Clone(all)
	bad[newest] = bytes.Clone(all[newest])
	bad[newest][len(bad[newest])/2] ^= 4
	_, err := Open(testConfig(restore(t, bad)), nil)
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "move the damaged file away") {
		t.Fatalf("damaged checkpoint: %v", err)
	}
	delete(bad, newest)
	c := open(t, testConfig(restore(t, bad)))
	whole := open(t, testConfig(restore(t, all)))
	if d := metadata.Diff(whole.Image(), c.Image()); !d.Empty() || c.Image().NextProducerID() != whole.Image().NextProducerID() {
		t.Errorf("the image differs: %+v", d)
	}
}

func TestNewerFilesAreRefused(t *testing.T) {
	all := used(t, true)
	for name, b := range all {
		if strings.HasSuffix(name, checkpointSuffix) && name != newestCheckpoint(all) {
			continue
		}
		newer := maps.Clone(all)
		b = bytes.Clone(b)
		b[11] = 2 // all three files have their version there
		switch {
		case name == quorumStateName:
			copy(b[:slotSize], remade(b[:slotSize]))
		case strings.HasSuffix(name, segmentSuffix):
			copy(b, resealed(b[:segmentHeaderSize]))
		}
		newer[name] = b
		_, err := Open(testConfig(restore(t, newer)), nil)
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s of version 2: %v", name, err)
		}
	}
}
