package latency

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// spread records operations of 1 to n milliseconds, sent one millisecond late.
func spread(n int) *Snapshot {
	r := NewRecorder()
	for i := range n {
		took := time.Duration(i+1) * time.Millisecond
		r.Record(0, time.Millisecond, took+time.Millisecond)
	}
	s := &Snapshot{}
	r.Drain(s)
	return s
}

func TestASnapshotComesBackFromItsText(t *testing.T) {
	s := spread(1000)
	c, err := s.Encode(true)
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.Encode(false)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(c, u)
	if err != nil {
		t.Fatal(err)
	}
	if again.Corrected() != s.Corrected() || again.Uncorrected() != s.Uncorrected() {
		t.Errorf("%+v became %+v", s.Corrected(), again.Corrected())
	}
	if _, err := Decode("nonsense", ""); err == nil {
		t.Error("nonsense was decoded")
	}
	if empty, err := Decode("", ""); err != nil || empty.Count() != 0 {
		t.Errorf("an empty text: %v, %v", empty, err)
	}
	if text, err := (&Snapshot{}).Encode(true); err != nil || text != "" {
		t.Errorf("an empty snapshot: %q, %v", text, err)
	}
}

func TestACurveRisesToTheMaximum(t *testing.T) {
	for _, n := range []int{1, 2, 3, 100, 5000} {
		s := spread(n)
		points := s.Curve()
		last := Point{Percentile: -1}
		for _, p := range points {
			if p.Percentile <= last.Percentile || p.Corrected < last.Corrected || p.Uncorrected < last.Uncorrected {
				t.Errorf("%d operations: %+v after %+v", n, p, last)
			}
			last = p
		}
		if last.Percentile != 100 || last.Corrected != s.Corrected().Max || last.Uncorrected != s.Uncorrected().Max {
			t.Errorf("%d operations: the curve ends at %+v", n, last)
		}
	}
	if (&Snapshot{}).Curve() != nil {
		t.Error("nothing has a curve")
	}
}

func TestALogIsReadByTheLibrary(t *testing.T) {
	start := time.UnixMilli(1_700_000_000_250)
	var out bytes.Buffer
	l, err := NewLog(&out, start, "a workload\nand its broker")
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range []*Snapshot{spread(10), {}, spread(20)} {
		from := start.Add(time.Duration(i) * time.Second)
		if err := l.Interval(from, from.Add(time.Second), s); err != nil {
			t.Fatal(err)
		}
	}
	text := out.String()
	for _, want := range []string{"#a workload\n#and its broker\n", "#[Histogram log format version 1.3]", "#[StartTime: 1700000000.250 (seconds"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	// 1 ms late and 20 ms long.
	if !strings.Contains(text, "Tag=corrected,2.000,1.000,21.") {
		t.Errorf("the last interval is not where it should be in\n%s", text)
	}
	reader := hdrhistogram.NewHistogramLogReader(&out)
	var counts []int64
	var tags []string
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		counts, tags = append(counts, h.TotalCount()), append(tags, h.Tag())
	}
	if want := []int64{10, 10, 0, 0, 20, 20}; len(counts) != len(want) || counts[0] != 10 || counts[2] != 0 || counts[5] != 20 {
		t.Errorf("read %v, want %v", counts, want)
	}
	if len(tags) != 6 || tags[0] != TagCorrected || tags[1] != TagUncorrected {
		t.Errorf("tags %v", tags)
	}
}
