package position

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind says what a Start counts from.
type Kind int8

// The places to start from.
const (
	Beginning Kind = iota // the log start offset
	End                   // the end at the time of asking: only what comes later
	Exact                 // Offset is an offset
	FromEnd               // the last Offset records of each partition
	AtTime                // the first record with a timestamp of TimeMs or later
)

// Start is where reading begins, in each partition alike.
type Start struct {
	Kind   Kind
	Offset int64 // Exact: the offset; FromEnd: how many
	TimeMs int64 // AtTime: milliseconds since the Unix epoch
}

// Range is what one or more offset arguments ask for.
type Range struct {
	Start   Start
	UntilMs int64 // milliseconds since the Unix epoch, not included; -1: no end
}

// ParseOffsets reads the values of a repeatable offset flag in kcat's forms:
// "beginning" (or "earliest"), "end" (or "latest"), an offset, "-N" for the
// last N, "s@TIME" and "e@TIME" (see ParseTime). No value means beginning. At
// most one value may say where to start, and at most one where to end.
func ParseOffsets(values []string, now time.Time) (Range, error) {
	r := Range{UntilMs: -1}
	started := false
	for _, v := range values {
		if rest, ok := strings.CutPrefix(v, "e@"); ok {
			if r.UntilMs >= 0 {
				return Range{}, fmt.Errorf("offset %q is a second end; give one", v)
			}
			ms, err := ParseTime(rest, now)
			if err != nil {
				return Range{}, err
			}
			r.UntilMs = ms
			continue
		}
		if started {
			return Range{}, fmt.Errorf("offset %q is a second start; give one", v)
		}
		start, err := parseStart(v, now)
		if err != nil {
			return Range{}, err
		}
		r.Start, started = start, true
	}
	if r.UntilMs >= 0 && r.Start.Kind == AtTime && r.Start.TimeMs >= r.UntilMs {
		return Range{}, fmt.Errorf("the time to start at (%d) is not before the time to end at (%d); both are in milliseconds since 1970", r.Start.TimeMs, r.UntilMs)
	}
	return r, nil
}

func parseStart(v string, now time.Time) (Start, error) {
	switch strings.ToLower(v) {
	case "beginning", "earliest", "start":
		return Start{Kind: Beginning}, nil
	case "end", "latest":
		return Start{Kind: End}, nil
	}
	if rest, ok := strings.CutPrefix(v, "s@"); ok {
		ms, err := ParseTime(rest, now)
		if err != nil {
			return Start{}, err
		}
		return Start{Kind: AtTime, TimeMs: ms}, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || v == "-0" {
		return Start{}, fmt.Errorf("offset %q is not understood; give beginning, end, an offset, -N for the last N, s@TIME or e@TIME", v)
	}
	if n < 0 {
		// The smallest number has no positive twin.
		if n == -n {
			return Start{}, fmt.Errorf("offset %q is out of range", v)
		}
		return Start{Kind: FromEnd, Offset: -n}, nil
	}
	return Start{Kind: Exact, Offset: n}, nil
}

// ParsePartitionOffset reads "PARTITION:OFFSET", as delete-records takes it.
// The offset -1, or "end", means the partition's high watermark.
func ParsePartitionOffset(s string) (partition int32, offset int64, err error) {
	left, right, found := strings.Cut(s, ":")
	if !found {
		return 0, 0, fmt.Errorf("%q is not PARTITION:OFFSET, for example 0:1500 or 0:end", s)
	}
	p, err := strconv.ParseInt(left, 10, 32)
	if err != nil || p < 0 {
		return 0, 0, fmt.Errorf("%q does not begin with a partition number", s)
	}
	if right == "end" {
		return int32(p), -1, nil
	}
	o, err := strconv.ParseInt(right, 10, 64)
	if err != nil || o < -1 {
		return 0, 0, fmt.Errorf("%q does not end in an offset (a number, or end for everything)", s)
	}
	return int32(p), o, nil
}
