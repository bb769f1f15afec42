package segment

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/record"
)

// makeCleanedFixture writes a compacted log as a clean stop leaves it, and one
// whose cleaning was killed when its note was written and nothing replaced.
func makeCleanedFixture(t *testing.T, root string) {
	d := openDir(t, vfs.OS{}, root+"/settled")
	cfg := smallConfig()
	cfg.CompactPolicy, cfg.DeletePolicy, cfg.SegmentBytes, cfg.DeleteRetentionMs = true, false, 2000, 1000
	l, _ := openLog(t, d, cfg)
	io := NewPwritevIO()
	defer io.Close()
	for i := range 30 {
		b := record.NewBuilder()
		b.ProducerID, b.ProducerEpoch, b.BaseSequence = int64(i/10), 0, int32(2*(i%10))
		if i%5 == 4 {
			b.Codec = record.Zstd
		}
		value := fmt.Appendf(nil, "%d %s", i, strings.Repeat("v", 100))
		if i%7 == 6 {
			value = nil
		}
		appendAll(t, io, l, int32(i/12), b.Add(t0+int64(i), []byte{byte('a' + i%4)}, value).Add(t0+int64(i), []byte{byte('k' + i%3)}, []byte("2")).Build())
	}
	syncLog(t, io, l)
	o := CleanOptions{Config: cfg, Stable: l.EndOffset(), NowMs: t0 + 1000, MapBytes: 1 << 16, MapLoad: 0.9, Pace: func(int) error { return nil }}
	o.Replace = func(r *Replacement) error {
		if _, err := os.Stat(root + "/killed"); os.IsNotExist(err) {
			if err := copyTree(root+"/settled", root+"/killed"); err != nil {
				t.Fatal(err)
			}
		}
		return l.Replace(r)
	}
	if got, err := l.Clean(o); err != nil || got.Segments < 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.MarkClean(); err != nil {
		t.Fatal(err)
	}
	d.Close()
}

// Compacted logs of every version open for ever, and a cleaning that it was
// killed in is ended; see TestFixturesOpen.
func TestCleanedFixturesOpen(t *testing.T) {
	if *writeFixture != "" {
		makeCleanedFixture(t, *writeFixture+"-cleaned")
		t.Skip("fixture written")
	}
	for _, from := range []string{"testdata/cleaned-v1", "testdata/cleaned-v2"} {
		t.Run(from, func(t *testing.T) { openCleanedFixture(t, from) })
	}
}

func openCleanedFixture(t *testing.T, from string) {
	logs := map[string]string{}
	for _, state := range []string{"settled", "killed"} {
		root := t.TempDir() + "/data"
		if err := copyTree(from+"/"+state, root); err != nil {
			t.Fatal(err)
		}
		d := openDir(t, vfs.OS{}, root)
		cfg := smallConfig()
		cfg.CompactPolicy, cfg.DeletePolicy = true, false
		l, rep := openLog(t, d, cfg)
		if rep.CutBytes > 0 || rep.Damaged() || rep.MetadataRebuilt || l.EndOffset() != 60 || len(l.Producers()) != 3 || l.LatestEpoch() != 2 {
			t.Errorf("%s: %+v, log end %d, %d producers, epoch %d", state, rep, l.EndOffset(), len(l.Producers()), l.LatestEpoch())
		}
		batches := readAll(t, l, 0, 700)
		last := map[string]int64{}
		for _, b := range batches {
			r, err := record.NewReader(b)
			if err != nil {
				t.Fatal(err)
			}
			for range b.Count() {
				rec, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				last[string(rec.Key)] = rec.Offset
			}
			r.Close()
		}
		if want := map[string]int64{"a": 56, "b": 58, "c": 52, "d": 54, "k": 55, "l": 57, "m": 59}; fmt.Sprint(last) != fmt.Sprint(want) {
			t.Errorf("%s: last offsets %v, want %v", state, last, want)
		}
		es, err := os.ReadDir(root + "/orders-3")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			if strings.HasSuffix(e.Name(), cleanedSuffix) || strings.HasSuffix(e.Name(), swapSuffix) {
				t.Errorf("%s: %s is left", state, e.Name())
			}
		}
		b, err := os.ReadFile(offsetPath(root+"/orders-3", 0, logSuffix))
		if err != nil {
			t.Fatal(err)
		}
		logs[state] = string(b)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.MarkClean(); err != nil {
			t.Fatal(err)
		}
		d.Close()
		v, err := OpenVerifier(vfs.OS{}, root)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.VerifyPartition(testTP, testTopic); err != nil {
			t.Fatal(err)
		}
		for _, f := range v.Findings {
			t.Errorf("%s: verify finds %+v", state, f)
		}
		v.Close()
	}
	if logs["settled"] != logs["killed"] {
		t.Error("the cleaning that was killed did not end as the other did")
	}
}
