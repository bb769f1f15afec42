package position

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// layouts are tried in order. Those without a zone mean local time, as a person
// at a terminal does.
var layouts = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04",
	"2006-01-02 15:04",
	"2006-01-02",
}

// ParseTime reads a point in time and returns it in milliseconds since the
// Unix epoch (the unit of record timestamps). Accepted: milliseconds as a
// number, a date or date and time (RFC 3339 or without a zone: local time),
// "now", and a duration, which means that long before now: "15m", "2h30m",
// "7d", or in ISO 8601 as Kafka's tools take it, "P1DT2H30M".
func ParseTime(s string, now time.Time) (int64, error) {
	text := strings.TrimSpace(s)
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		if ms < 0 {
			return 0, fmt.Errorf("time %q is negative; give milliseconds since 1970, a date, or a duration such as 15m", s)
		}
		return ms, nil
	}
	if text == "now" {
		return now.UnixMilli(), nil
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t.UnixMilli(), nil
		}
	}
	if d, ok := parseAge(strings.TrimPrefix(text, "-")); ok {
		return now.Add(-d).UnixMilli(), nil
	}
	return 0, fmt.Errorf("time %q is not understood; give milliseconds since 1970, a date and time such as 2026-01-31T09:00:00Z, or a duration before now such as 15m or 7d", s)
}

// parseAge is time.ParseDuration plus days, which retention is usually
// thought in.
func parseAge(s string) (time.Duration, bool) {
	if rest, ok := strings.CutPrefix(s, "P"); ok {
		// The days stand before the T, what is left is Go's with other letters.
		days, clock, timed := strings.Cut(rest, "T")
		if days != "" && !strings.HasSuffix(days, "D") || timed && clock == "" {
			return 0, false
		}
		s = strings.ToLower(days + clock)
	}
	var days time.Duration
	if number, rest, found := strings.Cut(s, "d"); found {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return 0, false
		}
		days = time.Duration(n) * 24 * time.Hour
		if rest == "" {
			return days, true
		}
		s = rest
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, false
	}
	return days + d, true
}
