package segment

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// Data written by any earlier version must open for ever. The fixtures were
// written once and are never written again; a new format gets a new folder
// beside them, made with -write-fixture=FOLDER.
var writeFixture = flag.String("write-fixture", "", "write the log directory of the fixture test to this new folder and stop")

// fixtureBatches is what the fixtures hold.
func fixtureBatches() []record.Batch {
	var out []record.Batch
	for i := range 24 {
		b := record.NewBuilder()
		if i%2 == 0 {
			b.ProducerID, b.ProducerEpoch, b.BaseSequence = 42, 1, int32(i/2*3)
		}
		if i%5 == 4 {
			b.Codec = record.Zstd
		}
		for k := range 3 {
			b.Add(t0+int64(i)*1000+int64(k), []byte{byte(i), byte(k)}, bytes.Repeat([]byte{byte(i)}, 150))
		}
		out = append(out, b.Build())
	}
	return out
}

func makeFixture(t *testing.T, root string, clean bool) {
	d := openDir(t, vfs.OS{}, root)
	cfg := smallConfig()
	l, _ := openLog(t, d, cfg)
	io := testIO()
	defer io.Close()
	for i, b := range fixtureBatches() {
		appendAll(t, io, l, int32(1+i/10), b)
		if i == 18 {
			syncLog(t, io, l)
			if err := d.Checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.AdvanceStart(4); err != nil {
		t.Fatal(err)
	}
	if !clean {
		return // as killed; the process ends
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.MarkClean(); err != nil {
		t.Fatal(err)
	}
	d.Close()
}

func TestFixturesOpen(t *testing.T) {
	if *writeFixture != "" {
		makeFixture(t, *writeFixture+"/clean", true)
		makeFixture(t, *writeFixture+"/killed", false)
		t.Skip("fixture written")
	}
	folders, err := filepath.Glob("testdata/format-*/*")
	if err != nil || len(folders) < 4 {
		t.Fatalf("fixtures: %v, %v", folders, err)
	}
	for _, from := range folders {
		t.Run(from, func(t *testing.T) {
			root := t.TempDir() + "/data"
			if err := copyTree(from, root); err != nil {
				t.Fatal(err)
			}
			d := openDir(t, vfs.OS{}, root)
			defer d.Close()
			clean := strings.HasSuffix(from, "clean")
			if d.WasClean() != clean {
				t.Errorf("clean: %v", d.WasClean())
			}
			l, rep := openLog(t, d, smallConfig())
			if clean && (rep.HeaderBytes > 0 || rep.CheckedBytes > 0) || rep.CutBytes > 0 || rep.Damaged() || rep.IndexRebuilt || rep.EpochsRebuilt || rep.MetadataRebuilt {
				t.Errorf("something was found wrong: %+v", rep)
			}
			if !clean && (rep.CheckedBytes == 0 || rep.CheckedBytes > 5000) {
				t.Errorf("%d bytes were checked, want what lies behind batch 18", rep.CheckedBytes)
			}
			want := fixtureBatches()
			for i, b := range want {
				b.Stamp(int64(3*i), int32(1+i/10))
			}
			got := readAll(t, l, 4, 1000)
			if l.StartOffset() != 4 || l.EndOffset() != 72 || len(got) != 23 {
				t.Fatalf("offsets %d to %d, %d batches", l.StartOffset(), l.EndOffset(), len(got))
			}
			for i, b := range got {
				if !bytes.Equal(b, want[i+1]) {
					t.Errorf("batch %d differs", i+1)
				}
			}
			for i := 1; i < 24; i++ {
				if f, ok, err := l.OffsetForTimestamp(t0+int64(i)*1000+1, 72); err != nil || !ok || f.Offset != int64(3*i+1) || f.LeaderEpoch != int32(1+i/10) {
					t.Errorf("time of record %d: %+v, %v, %v", 3*i+1, f, ok, err)
				}
			}
			for e, end := range map[int32]int64{1: 30, 2: 60, 3: 72} {
				if epoch, o := l.EpochEnd(e); epoch != e || o != end {
					t.Errorf("end of epoch %d: %d, %d", e, epoch, o)
				}
			}
			for _, i := range []int{14, 16, 18, 20, 22} {
				if dup, err := l.CheckProducer(want[i], t0); err != nil || dup == nil || dup.BaseOffset != int64(3*i) {
					t.Errorf("batch %d again: %+v, %v", i, dup, err)
				}
			}
			io := testIO()
			defer io.Close()
			if base := appendAll(t, io, l, 4, batchOf(t0, 1, 1)); base != 72 {
				t.Errorf("append at %d", base)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The dump reads every file of the fixtures, and says where damage lies.
func TestDumpFile(t *testing.T) {
	for suffix, want := range map[string][]string{
		"00000000000000000000.log":      {"offsets 0-2 records 3 epoch 1 codec none", "producer 42 epoch 1 sequences 0-2", "offset 1 timestamp 1700000000001 key \"\\x00\\x01\"", "codec zstd"},
		"00000000000000000000.index":    {"index of base offset 0 for a log of", "partition 3, checksums 0x", "position"},
		"00000000000000000072.snapshot": {"partition 3 below offset 72", "producer 42 epoch 1", "sequences 33-35 offsets 66-68"},
		epochsName:                      {"epoch 2 starts at offset 30"},
		metadataName:                    {testTopic.String() + ", partition 3"},
		pointsName:                      {"partition 3 offset 72", "mark 0x"},
		startsName:                      {"partition 3 offset 4"},
		identityName:                    {"cluster " + testIdent.ClusterID + ", node 1"},
	} {
		path := "testdata/format-v2/clean/" + suffix
		if _, err := os.Stat(path); err != nil {
			path = "testdata/format-v2/clean/orders-3/" + suffix
		}
		var out strings.Builder
		if err := DumpFile(&out, path, DumpOptions{Records: true}); err != nil {
			t.Errorf("%s: %v", suffix, err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: no %q in\n%s", suffix, text, out.String())
			}
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-2] ^= 0x40
		bad := t.TempDir() + "/" + suffix
		os.WriteFile(bad, b, 0o644)
		if err := DumpFile(&out, bad, DumpOptions{}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s with a flipped bit: %v", suffix, err)
		}
	}
	var out strings.Builder
	if err := DumpFile(&out, "testdata/format-v1/clean/orders-3/00000000000000000000.log", DumpOptions{FromOffset: 7, MaxBatches: 2}); err != nil ||
		strings.Count(out.String(), "position ") != 2 || !strings.Contains(out.String(), "offsets 6-8") {
		t.Errorf("two batches from offset 7: %v\n%s", err, out.String())
	}
}
