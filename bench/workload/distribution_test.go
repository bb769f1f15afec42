package workload

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestSizesKeepTheirMeanAndTheirBounds(t *testing.T) {
	for _, c := range []struct {
		text      string
		mean      float64
		low, high int
	}{
		{"1KiB", 1024, 1024, 1024},
		{"0", 0, 0, 0},
		{"uniform:100:300", 200, 100, 300},
		{"normal:1000:100", 1000, 600, 1400},
		{"normal:1000:400:200:1800", 1000, 200, 1800},
		{"list:100=9,10KiB=1", 1114, 100, 10240},
		{"list:7", 7, 7, 7},
	} {
		d, err := ParseSizeDist(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if math.Abs(d.Mean()-c.mean) > 0.01 || d.Min() != c.low || d.Max() != c.high {
			t.Errorf("%s: mean %v, from %d to %d", c.text, d.Mean(), d.Min(), d.Max())
		}
		const draws = 100_000
		sum, low, high, r := 0, math.MaxInt, 0, source()
		for range draws {
			n := d.Next(r)
			sum, low, high = sum+n, min(low, n), max(high, n)
		}
		if got := float64(sum) / draws; math.Abs(got-c.mean) > 0.02*c.mean || low < c.low || high > c.high {
			t.Errorf("%s: drew from %d to %d with mean %v", c.text, low, high, got)
		}
		if again, err := ParseSizeDist(d.String()); err != nil || again.String() != d.String() {
			t.Errorf("%s: %q comes back as %v (%v)", c.text, d.String(), again, err)
		}
	}
	for _, text := range []string{"", "-1", "1.5", "uniform:1", "uniform:2:1", "normal:5:1:10:20", "list:", "list:1=0", "list:1=x", "zipf:3:4", "1XB"} {
		if d, err := ParseSizeDist(text); err == nil {
			t.Errorf("%q was read as %v", text, d)
		}
	}
}

func TestZipfFollowsItsLaw(t *testing.T) {
	for _, skew := range []float64{0.5, 0.99, 1, 1.5} {
		const n, draws = 1000, 400_000
		z, r := newZipf(n, skew), source()
		counts := make([]float64, n+1)
		for range draws {
			k := z.next(r)
			if k < 1 || k > n {
				t.Fatalf("skew %v: drew %d", skew, k)
			}
			counts[k]++
		}
		var norm float64
		for k := 1; k <= n; k++ {
			norm += math.Pow(float64(k), -skew)
		}
		for _, k := range []int{1, 2, 3, 10, 100} {
			want := draws * math.Pow(float64(k), -skew) / norm
			// Five standard deviations of a Poisson count.
			if math.Abs(counts[k]-want) > 5*math.Sqrt(want) {
				t.Errorf("skew %v: %d came %v times, want about %.0f", skew, k, counts[k], want)
			}
		}
	}
	if z := newZipf(1, 0.99); z.next(source()) != 1 {
		t.Error("of one key another was drawn")
	}
}

func TestKeysAreDifferentAndOfTheirLength(t *testing.T) {
	d, err := ParseKeyDist("uniform:100_000")
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{5, 8, 16, 40} {
		d.Bytes = length
		seen := map[string]bool{}
		for n := range int64(10_000) {
			key := d.Append(nil, n)
			if len(key) != length {
				t.Fatalf("key %d has %d bytes, want %d", n, len(key), length)
			}
			seen[string(key)] = true
		}
		// Short keys are the beginning of a scattered number, so some meet.
		if length >= 16 && len(seen) != 10_000 {
			t.Errorf("of 10000 keys of %d bytes %d are different", length, len(seen))
		}
	}
	if key := (KeyDist{Form: NoKeys}).Source(source()).Next(nil); key != nil {
		t.Errorf("there is a key %q where there are none", key)
	}
	a, b := d.Source(source()), d.Source(source())
	for range 100 {
		if x, y := a.Next(nil), b.Next(nil); !bytes.Equal(x, y) {
			t.Fatalf("the same source drew %s and %s", x, y)
		}
	}
	for _, text := range []string{"", "some", "uniform", "uniform:0", "zipf:10:0", "zipf:10:x", "none:1"} {
		if d, err := ParseKeyDist(text); err == nil {
			t.Errorf("%q was read as %v", text, d)
		}
	}
}

func TestValuesCompressAsAsked(t *testing.T) {
	zenc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer zenc.Close()
	for _, share := range []float64{0, 0.25, 0.5, 0.9, 1} {
		for _, size := range []int{100, 1024, 10_000} {
			s := Defaults(Produce)
			s.Compressibility = share
			p := s.NewPayload(7)
			batch := make([]byte, 64_000/size*size)
			for at := 0; at < len(batch); at += size {
				p.Fill(batch[at : at+size])
			}
			z := float64(len(zenc.EncodeAll(batch, nil))) / float64(len(batch))
			dst := make([]byte, lz4.CompressBlockBound(len(batch)))
			n, err := lz4.CompressBlock(batch, dst, nil)
			if err != nil {
				t.Fatal(err)
			}
			l := float64(n) / float64(len(batch))
			if n == 0 {
				l = 1 // lz4 found nothing to gain
			}
			if want := 1 - share; math.Abs(z-want) > 0.07 || math.Abs(l-want) > 0.10 {
				t.Errorf("compressibility %v, records of %d: zstd leaves %.3f, lz4 %.3f, want %.2f", share, size, z, l, want)
			}
		}
	}
}

func TestRatesAreReadInRecordsAndInBytes(t *testing.T) {
	for _, c := range []struct {
		text    string
		records float64 // with records of 1000 bytes
		again   string
	}{
		{"max", 0, "max"}, {"50000", 50_000, "50000"}, {"1_000_000/s", 1e6, "1000000"}, {"100MB", 100_000, "100MB"},
		{"64KiB", 65.536, "65.536kB"}, {"0.5", 0.5, "0.5"}, {"98304000B", 98_304, "98.304MB"},
	} {
		r, err := ParseRate(c.text)
		if err != nil || r.RecordsPerSecond(1000) != c.records || r.String() != c.again || r.Max() != (c.records == 0) {
			t.Errorf("%s: %+v, %v, %q, %v", c.text, r, r.RecordsPerSecond(1000), r.String(), err)
		}
	}
	for _, text := range []string{"", "0", "-1", "fast", "NaN", "Inf"} {
		if r, err := ParseRate(text); err == nil {
			t.Errorf("%q was read as %v", text, r)
		}
	}
}
