package position

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestParseTime(t *testing.T) {
	cases := map[string]int64{
		"0":                             0,
		"1767225600000":                 1767225600000,
		"now":                           noon.UnixMilli(),
		"15m":                           noon.Add(-15 * time.Minute).UnixMilli(),
		"-15m":                          noon.Add(-15 * time.Minute).UnixMilli(),
		"2h30m":                         noon.Add(-150 * time.Minute).UnixMilli(),
		"7d":                            noon.Add(-7 * 24 * time.Hour).UnixMilli(),
		"PT15M":                         noon.Add(-15 * time.Minute).UnixMilli(),
		"P7D":                           noon.Add(-7 * 24 * time.Hour).UnixMilli(),
		"P1DT12H0M1.5S":                 noon.Add(-36*time.Hour - 1500*time.Millisecond).UnixMilli(),
		"1d12h":                         noon.Add(-36 * time.Hour).UnixMilli(),
		"2026-01-31":                    time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC).UnixMilli(),
		"2026-01-31 09:30":              time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC).UnixMilli(),
		"2026-01-31T09:30:15.25":        time.Date(2026, 1, 31, 9, 30, 15, 250e6, time.UTC).UnixMilli(),
		"2026-01-31T09:30:15+02:00":     time.Date(2026, 1, 31, 7, 30, 15, 0, time.UTC).UnixMilli(),
		" 2026-01-31T09:30:15.001Z ":    time.Date(2026, 1, 31, 9, 30, 15, 1e6, time.UTC).UnixMilli(),
		"2026-01-31 09:30:15.999999999": time.Date(2026, 1, 31, 9, 30, 15, 999e6, time.UTC).UnixMilli(),
	}
	for in, want := range cases {
		got, err := ParseTime(in, noon)
		if err != nil || got != want {
			t.Errorf("ParseTime(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1", "yesterday", "7days", "d", "1.5d", "--5m", "99999999d", "2026-13-01", "P", "PT", "P5", "P5M", "P1DT"} {
		if got, err := ParseTime(in, noon); err == nil {
			t.Errorf("ParseTime(%q) = %d; want an error", in, got)
		}
	}
}

func TestParseTimeWithoutZoneIsLocal(t *testing.T) {
	east := time.FixedZone("east", 2*60*60)
	got, err := ParseTime("2026-01-31 09:00", noon.In(east))
	if want := time.Date(2026, 1, 31, 7, 0, 0, 0, time.UTC).UnixMilli(); err != nil || got != want {
		t.Fatalf("got %d, %v; want %d", got, err, want)
	}
}

func TestParseOffsets(t *testing.T) {
	cases := []struct {
		in   []string
		want Range
	}{
		{nil, Range{UntilMs: -1}},
		{[]string{"beginning"}, Range{UntilMs: -1}},
		{[]string{"latest"}, Range{Start: Start{Kind: End}, UntilMs: -1}},
		{[]string{"0"}, Range{Start: Start{Kind: Exact}, UntilMs: -1}},
		{[]string{"1500"}, Range{Start: Start{Kind: Exact, Offset: 1500}, UntilMs: -1}},
		{[]string{"-10"}, Range{Start: Start{Kind: FromEnd, Offset: 10}, UntilMs: -1}},
		{[]string{"s@1000", "e@2000"}, Range{Start: Start{Kind: AtTime, TimeMs: 1000}, UntilMs: 2000}},
		{[]string{"e@2000"}, Range{UntilMs: 2000}},
	}
	for _, c := range cases {
		got, err := ParseOffsets(c.in, noon)
		if err != nil || got != c.want {
			t.Errorf("ParseOffsets(%q) = %+v, %v; want %+v", c.in, got, err, c.want)
		}
	}
	wrong := [][]string{{"first"}, {"1", "2"}, {"e@1", "e@2"}, {"s@2", "e@2"}, {"s@x"}, {"-0"}, {"9223372036854775808"}, {"-9223372036854775808"}, {""}}
	for _, in := range wrong {
		if got, err := ParseOffsets(in, noon); err == nil {
			t.Errorf("ParseOffsets(%q) = %+v; want an error", in, got)
		}
	}
}

func TestParsePartitionOffset(t *testing.T) {
	for in, want := range map[string][2]int64{"0:1500": {0, 1500}, "7:end": {7, -1}, "3:-1": {3, -1}, "2:0": {2, 0}} {
		p, o, err := ParsePartitionOffset(in)
		if err != nil || int64(p) != want[0] || o != want[1] {
			t.Errorf("ParsePartitionOffset(%q) = %d, %d, %v; want %v", in, p, o, err, want)
		}
	}
	for _, in := range []string{"", "5", ":5", "a:5", "-1:5", "0:", "0:x", "0:-2", "4294967296:0"} {
		if _, _, err := ParsePartitionOffset(in); err == nil || !strings.Contains(err.Error(), in) {
			t.Errorf("ParsePartitionOffset(%q): error %v; want one that quotes it", in, err)
		}
	}
}
