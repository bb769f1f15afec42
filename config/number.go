package config

import (
	"strconv"
	"strings"
)

// trim cuts white space off both ends as Kafka does: the space and the control
// characters before it. Unicode's other spaces are part of the value.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
}

// parseDouble reads a number as Java does: it may end with f or d, and has no
// underscores.
func parseDouble(text string) (float64, error) {
	if strings.Contains(text, "_") {
		return 0, strconv.ErrSyntax
	}
	// In a hexadecimal number f and d are digits, but not behind its exponent.
	if digits := strings.ToLower(text); !strings.Contains(digits, "x") || strings.Contains(digits, "p") {
		if n := len(text) - 1; n > 0 && strings.Contains("fd", digits[n:]) {
			text = text[:n]
		}
	}
	return strconv.ParseFloat(text, 64)
}
