package tail

import (
	"testing"

	"ringmain/cmd/ringmain/internal/position"
)

func TestStartOffset(t *testing.T) {
	const start, end = 100, 200
	times := map[int32]int64{0: 150}
	cases := []struct {
		at       position.Start
		explicit bool
		want     int64
		warned   bool
		failed   bool
	}{
		{at: position.Start{Kind: position.Beginning}, want: start},
		{at: position.Start{Kind: position.End}, want: end},
		{at: position.Start{Kind: position.FromEnd, Offset: 10}, want: 190},
		{at: position.Start{Kind: position.FromEnd, Offset: 1000}, want: start},
		{at: position.Start{Kind: position.AtTime}, want: 150},
		{at: position.Start{Kind: position.Exact, Offset: start}, want: start},
		{at: position.Start{Kind: position.Exact, Offset: end}, want: end},
		{at: position.Start{Kind: position.Exact, Offset: 99}, want: start, warned: true},
		{at: position.Start{Kind: position.Exact, Offset: 201}, want: end, warned: true},
		{at: position.Start{Kind: position.Exact, Offset: 99}, explicit: true, failed: true},
		{at: position.Start{Kind: position.Exact, Offset: 201}, explicit: true, failed: true},
	}
	for _, c := range cases {
		o := Options{Topic: "t", Range: position.Range{Start: c.at}}
		if c.explicit {
			o.Partitions = []int32{0}
		}
		warned := false
		got, err := startOffset(o, 0, start, end, times, func(string) { warned = true })
		if (err != nil) != c.failed || got != c.want || warned != c.warned {
			t.Errorf("%+v: %d, %v, warned %v", c, got, err, warned)
		}
	}
}

func TestPlanTotal(t *testing.T) {
	p := plan{spans: map[int32]span{0: {next: 5, stop: 15}, 1: {next: 3, stop: 3}, 2: {next: 9, stop: 4}}}
	if got := p.total(); got != 10 {
		t.Errorf("got %d; want 10", got)
	}
	p.spans[3] = span{next: 0, stop: -1}
	if got := p.total(); got != 0 {
		t.Errorf("got %d; want 0 for a read without an end", got)
	}
}
