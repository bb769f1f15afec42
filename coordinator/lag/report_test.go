package lag

import (
	"context"
	"math"
	"testing"
	"time"
)

func (w *Watcher) mustReport(t *testing.T) *Report {
	t.Helper()
	r, err := w.Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReportCountsRecords(t *testing.T) {
	f := newFake()
	f.log("orders", 0, Bounds{Start: 0, End: 100})
	f.log("orders", 1, Bounds{Start: 50, End: 80})
	f.log("audit", 0, Bounds{Start: 0, End: 5})
	f.commit("b", "orders", 1, 20) // below the log's start: as Kafka's tools count it
	f.commit("b", "orders", 0, 90)
	f.commit("b", "audit", 0, 9) // above the log's end
	f.commit("a", "orders", 0, 100)
	f.commit("a", "gone", 0, 3) // no log of ours
	r := f.watcher().mustReport(t)
	b := r.Group("b")
	if len(r.Entries) != 4 || len(b) != 3 || b[0].Topic != "audit" || b[0].Records != 0 || b[1].Records != 10 || b[2].Records != 60 {
		t.Fatalf("got %+v", r.Entries)
	}
	if records, _ := Sum(b); records != 70 {
		t.Errorf("the sum is %d", records)
	}
	if len(r.Group("a")) != 1 || len(r.Group("aa")) != 0 || len(r.Group("c")) != 0 {
		t.Error("groups are mixed up")
	}
	var topics []string
	Runs(r.Entries, SameTopic, func(run []Entry) { topics = append(topics, run[0].Group+"/"+run[0].Topic) })
	if len(topics) != 3 || topics[2] != "b/orders" {
		t.Errorf("got %q", topics)
	}
}

func TestReportTellsWhatItCouldGet(t *testing.T) {
	f := newFake()
	f.log("t", 0, Bounds{End: 5})
	f.commit("g", "t", 0, 1)
	f.err = errLoading
	r, err := f.watcher().Report(context.Background())
	if err == nil || len(r.Entries) != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestSecondsByTheBrokersTimestamps(t *testing.T) {
	f := newFake()
	f.log("t", 0, Bounds{End: 100, AppendTime: true})
	f.commit("g", "t", 0, 40)
	f.times[place{"t", 0}] = map[int64]stamp{40: {f.nowMs - 12_500, true, true}}
	w := f.watcher()
	w.check(context.Background())
	if got := w.mustReport(t).Entries[0].Seconds; got != 12.5 {
		t.Errorf("got %v seconds", got)
	}
	looks := f.looks
	f.pass(10 * time.Second)
	if got := w.mustReport(t).Entries[0].Seconds; got != 22.5 || f.looks != looks {
		t.Errorf("got %v seconds after %d looks more", got, f.looks-looks)
	}
	f.commit("g", "t", 0, 100)
	if got := w.mustReport(t).Entries[0].Seconds; got != 0 {
		t.Errorf("got %v seconds with nothing left to read", got)
	}
}

// A producer that says what it likes does not change what was seen.
func TestSecondsBySamples(t *testing.T) {
	f := newFake()
	f.commit("g", "t", 0, 0)
	f.times[place{"t", 0}] = map[int64]stamp{0: {ms: 1, ok: true}, 1000: {ms: f.nowMs + 1e9, ok: true}}
	f.log("t", 0, Bounds{})
	w := f.watcher()
	for i := range 21 { // 100 records a second
		f.log("t", 0, Bounds{End: int64(i) * 500})
		w.check(context.Background())
		f.pass(5 * time.Second)
	}
	for offset, want := range map[int64]float64{0: 105, 2000: 85, 9999: 5, 5250: 52.5} {
		f.commit("g", "t", 0, offset)
		if got := w.mustReport(t).Entries[0].Seconds; math.Abs(got-want) > 0.1 {
			t.Errorf("at offset %d: got %v seconds, want %v", offset, got, want)
		}
	}
}

// What was there before the broker looked for the first time goes by its timestamp,
// and came before that look, whatever it says.
func TestSecondsOfWhatWasThereBefore(t *testing.T) {
	f := newFake()
	f.log("t", 0, Bounds{End: 100})
	f.commit("g", "t", 0, 10)
	f.times[place{"t", 0}] = map[int64]stamp{10: {ms: f.nowMs - 60_000, ok: true}, 20: {ms: f.nowMs + 1e6, ok: true}}
	w := f.watcher()
	if got := w.mustReport(t).Entries[0].Seconds; got != 60 {
		t.Errorf("got %v seconds without a sample", got)
	}
	w.check(context.Background())
	f.pass(30 * time.Second)
	for offset, want := range map[int64]float64{10: 90, 20: 30, 30: 30} {
		f.commit("g", "t", 0, offset)
		if got := w.mustReport(t).Entries[0].Seconds; got != want {
			t.Errorf("at offset %d: got %v seconds, want %v", offset, got, want)
		}
	}
}

func TestPartitionsThatNobodyReadsAreForgotten(t *testing.T) {
	f := newFake()
	f.log("t", 0, Bounds{End: 10})
	f.commit("g", "t", 0, 1)
	w := f.watcher()
	w.check(context.Background())
	if len(w.partitions) != 1 {
		t.Fatalf("%d partitions", len(w.partitions))
	}
	f.err = errLoading // who reads is not known: nothing is forgotten
	f.commits = nil
	w.check(context.Background())
	if len(w.partitions) != 1 {
		t.Fatalf("%d partitions after a look that failed", len(w.partitions))
	}
	f.err = nil
	w.check(context.Background())
	if len(w.partitions) != 0 {
		t.Errorf("%d partitions are left", len(w.partitions))
	}
}

func TestSamplesAreBounded(t *testing.T) {
	var s samples
	const rate = 10 // offsets a millisecond
	for ms := int64(0); ms <= 1_000_000; ms += 5 {
		s.add(ms, ms*rate, 0)
		if len(s.list) > maxSamples {
			t.Fatalf("%d samples at %d", len(s.list), ms)
		}
	}
	if s.list[0].ms != 0 {
		t.Errorf("the first sample is of %d", s.list[0].ms)
	}
	for _, offset := range []int64{0, 1, 12_345, 5_000_000, 9_999_999} {
		ms, known := s.arrived(offset)
		if !known || math.Abs(float64(ms-offset/rate)) > 10 {
			t.Errorf("offset %d arrived at %d, known %v", offset, ms, known)
		}
	}
	s.add(1_000_005, 10_000_050, 9_999_000) // everybody has read on
	if len(s.list) > maxSamples/2 || s.list[0].end > 9_999_000 {
		t.Errorf("%d samples are left, the first of %d", len(s.list), s.list[0].end)
	}
}

// A log that grew by fits and starts over a week, with a group at its beginning.
func TestSamplesOfLongAgo(t *testing.T) {
	var s samples
	const step, week = 5_000, 7 * 24 * 3600_000
	end := func(ms int64) int64 { // nothing in every second hour
		hour := int64(3600_000)
		return ms/(2*hour)*hour + min(ms%(2*hour), hour)
	}
	for ms := int64(0); ms <= week; ms += step {
		s.add(ms, end(ms), 0)
	}
	for came := int64(0); came < week; came += 1800_000 {
		if end(came) == end(came+1) {
			continue
		}
		ms, known := s.arrived(end(came))
		if off := max(ms-came, came-ms); !known || off > (week-came)/4+step {
			t.Errorf("what came %d s ago counts as of %d s ago, known %v", (week-came)/1000, (week-ms)/1000, known)
		}
	}
}

func TestSamplesOfALogThatStandsStill(t *testing.T) {
	var s samples
	for ms := int64(0); ms < 1000; ms += 10 {
		s.add(ms, 50, 50)
	}
	s.add(1000, 60, 50)
	if len(s.list) != 2 {
		t.Errorf("%d samples: %v", len(s.list), s.list)
	}
	if ms, known := s.arrived(50); !known || ms < 990 || ms > 1000 {
		t.Errorf("arrived at %d, known %v", ms, known)
	}
	s.add(1010, 5, 0) // the topic was made anew
	if _, known := s.arrived(3); known || len(s.list) != 1 {
		t.Errorf("samples of another log are left: %v", s.list)
	}
}
