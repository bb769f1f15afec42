package main

import (
	"fmt"
	"strconv"
)

// The small conversions below fill cells of tables; a dash is what nobody
// knows.

// orDash is s, or a dash when it is empty.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// known is n, or a dash when the broker did not say (0 or less).
func known[N int16 | int32 | int64](n N) string {
	if n <= 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// offsetCell is an offset, or a dash when it is negative.
func offsetCell(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// valueCell is a config value, or a dash for null.
func valueCell(s *string, sensitive bool) string {
	switch {
	case sensitive:
		return "(hidden)"
	case s == nil:
		return "-"
	}
	return *s
}

func pick(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
