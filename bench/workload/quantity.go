package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units of sizes. The decimal ones are what throughput is counted in, the binary
// ones what buffers are.
var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

// ParseBytes reads a number of bytes: "1500", "64KiB", "1.5MB".
func ParseBytes(text string) (int64, error) {
	n, unit, err := parseQuantity(text)
	if err != nil {
		return 0, err
	}
	if unit == 0 {
		unit = 1
	}
	total := n * unit
	if total != math.Trunc(total) || total > 1<<53 {
		return 0, fmt.Errorf("%q is not a whole number of bytes", text)
	}
	return int64(total), nil
}

// parseQuantity splits a number from its unit in bytes, 0 if it has none.
func parseQuantity(text string) (n, unit float64, err error) {
	number := strings.TrimSpace(text)
	for _, u := range units {
		if cut, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(cut), u.bytes
			break
		}
	}
	n, err = strconv.ParseFloat(strings.ReplaceAll(number, "_", ""), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, 0, fmt.Errorf("%q is not a number, nor one with a unit (KiB, MiB, GiB, kB, MB, GB)", text)
	}
	if n < 0 {
		return 0, 0, fmt.Errorf("%q is negative", text)
	}
	return n, unit, nil
}

// FormatBytes is the shortest text that ParseBytes reads as n.
func FormatBytes(n int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Rate is how much is sent: records a second, bytes of values a second, or as
// much as the broker takes if both are 0.
type Rate struct {
	Records float64
	Bytes   float64
}

// ParseRate reads "max", "50000" (records), "100MB" or "64KiB" (bytes). "/s"
// may follow.
func ParseRate(text string) (Rate, error) {
	t := strings.TrimSuffix(strings.TrimSpace(text), "/s")
	if t == "max" {
		return Rate{}, nil
	}
	n, unit, err := parseQuantity(t)
	switch {
	case err != nil:
		return Rate{}, fmt.Errorf("rate: %w; a rate is a number of records or of bytes (100MB) a second, or max", err)
	case n == 0:
		return Rate{}, fmt.Errorf("rate %q: a load needs a rate above 0; max is the one without bound", text)
	case unit > 0:
		return Rate{Bytes: n * unit}, nil
	}
	return Rate{Records: n}, nil
}

// Max reports whether the load is closed loop: each answer makes room for the
// next request, and nothing has a time at which it was meant to be sent.
func (r Rate) Max() bool { return r.Records == 0 && r.Bytes == 0 }

// RecordsPerSecond is the rate in records, for records of the given mean size;
// 0 for max.
func (r Rate) RecordsPerSecond(mean float64) float64 {
	if r.Bytes > 0 {
		return r.Bytes / mean
	}
	return r.Records
}

// String is the text that ParseRate reads.
func (r Rate) String() string {
	switch {
	case r.Max():
		return "max"
	case r.Records > 0:
		return strconv.FormatFloat(r.Records, 'f', -1, 64)
	}
	for _, u := range []struct {
		name  string
		bytes float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if n := r.Bytes / u.bytes; n >= 1 {
			return strconv.FormatFloat(n, 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatFloat(r.Bytes, 'f', -1, 64) + "B"
}

// MarshalText and UnmarshalText make the text form the one in files.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// size is a number of bytes in a file: a number, or a text with a unit.
type size int64

func (n size) MarshalText() ([]byte, error) { return []byte(FormatBytes(int64(n))), nil }

func (n *size) UnmarshalText(text []byte) error {
	v, err := ParseBytes(string(text))
	*n = size(v)
	return err
}

// span is a duration in a file: "500ms", "20s".
type span time.Duration

func (d span) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *span) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write 500ms, 20s, 5m", text)
	}
	*d = span(v)
	return nil
}
