package metadata

import (
	"bytes"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func snapshotBytes(t testing.TB, img *Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSnapshot(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sampleImage has a bit of everything.
func sampleImage(t testing.TB) *Image {
	img, _, err := Empty().Apply([]Record{ // what a fixture has may not depend on what new clusters begin with
		ClusterRecord{ClusterID: "6OrsXMpnRmWEyxB5y4yEVw"},
		FeatureRecord{Name: FeatureMetadataVersion, Level: 33}, FeatureRecord{Name: FeatureKRaftVersion, Level: 1},
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
	img, _ = mustApply(t, img, topicRecords("orders.v1", topicID(3), 3)...)
	for _, name := range []string{"broker", "broker-bare", "partition-bare", "change", "raise-epochs", "config", "config-empty", "producer-ids"} {
		if r := samples()[name]; name != "partition-bare" {
			img, _ = mustApply(t, img, r)
		}
	}
	return img
}

func TestFixtureOfSnapshotStaysReadable(t *testing.T) {
	want := snapshotBytes(t, sampleImage(t))
	path := filepath.Join("testdata", "snapshot-1.hex")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && *update {
		text = []byte(hex.EncodeToString(want) + "\n")
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	img, err := ReadSnapshot(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshotBytes(t, img), want) {
		t.Error("the fixture restores another image")
	}
	if !bytes.Equal(b, want) {
		t.Error("the encoding changed without a new version")
	}
}

func TestDamagedSnapshotsAreRefused(t *testing.T) {
	b := snapshotBytes(t, sampleImage(t))
	for n := range b {
		if img, err := ReadSnapshot(bytes.NewReader(b[:n])); !errors.Is(err, ErrCorrupt) || img != nil {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(b), err)
		}
		bad := bytes.Clone(b)
		bad[n] ^= 1 << (n % 8)
		if img, err := ReadSnapshot(bytes.NewReader(bad)); err == nil || img != nil {
			t.Fatalf("byte %d flipped: read without an error", n)
		} else if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
			t.Fatalf("byte %d flipped: %v", n, err)
		}
	}
	newer := bytes.Clone(b)
	newer[11] = 2
	if _, err := ReadSnapshot(bytes.NewReader(newer)); !errors.Is(err, ErrNewer) {
		t.Errorf("newer version: %v", err)
	}
	// A block that is missing as a whole is noticed at the end.
	two := snapshotHeaderSize + 8 + int(uint32(b[snapshotHeaderSize+3])|uint32(b[snapshotHeaderSize+2])<<8)
	cut := append(bytes.Clone(b[:snapshotHeaderSize]), b[two:]...)
	if _, err := ReadSnapshot(bytes.NewReader(cut)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a block left out: %v", err)
	}
	if _, err := ReadSnapshot(iotest.ErrReader(os.ErrDeadlineExceeded)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a reader's error is lost: %v", err)
	}
}

func TestSnapshotStopsAtTheFirstWriteError(t *testing.T) {
	img := sampleImage(t)
	full := errors.New("disk full")
	for n := range len(snapshotBytes(t, img)) {
		if err := WriteSnapshot(&shortWriter{left: n, err: full}, img); !errors.Is(err, full) {
			t.Fatalf("room for %d bytes: %v", n, err)
		}
	}
}

type shortWriter struct {
	left int
	err  error
}

func (w *shortWriter) Write(b []byte) (int, error) {
	if len(b) > w.left {
		return w.left, w.err
	}
	w.left -= len(b)
	return len(b), nil
}

// FuzzReadSnapshot mends the checksums of what the fuzzer made, so that it gets
// behind them.
func FuzzReadSnapshot(f *testing.F) {
	f.Add(snapshotBytes(f, sampleImage(f)))
	f.Add(snapshotBytes(f, Empty()))
	f.Fuzz(func(t *testing.T, b []byte) {
		mendChecksums(b)
		img, err := ReadSnapshot(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		again, err := ReadSnapshot(bytes.NewReader(snapshotBytes(t, img)))
		if err != nil || !Diff(img, again).Empty() {
			t.Fatalf("restored image does not restore: %v", err)
		}
		if img.Offset() < 1<<62 {
			r := rand.New(rand.NewPCG(1, 1))
			for range 5 {
				img.Apply(someRecords(r, img), img.Offset()+1)
			}
		}
	})
}

func mendChecksums(b []byte) {
	if len(b) < snapshotHeaderSize {
		return
	}
	put := func(at int, v uint32) {
		b[at], b[at+1], b[at+2], b[at+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
	}
	put(28, crc32.Checksum(b[:28], castagnoli))
	chain := uint32(0)
	for at := snapshotHeaderSize; at+8 <= len(b); {
		size := int(b[at])<<24 | int(b[at+1])<<16 | int(b[at+2])<<8 | int(b[at+3])
		if size == 0 {
			put(at+4, chain)
			return
		}
		if at+8+size > len(b) {
			return
		}
		put(at+4, crc32.Checksum(b[at+8:at+8+size], castagnoli))
		chain = crc32.Update(chain, castagnoli, b[at+4:at+8])
		at += 8 + size
	}
}
