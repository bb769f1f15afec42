package config

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

type checkKind int8

const (
	anyValue checkKind = iota
	numberRange
	wordSet
	notEmpty
	replicas
	resetPolicy
)

// Check is the set of values a key takes beyond its type. The zero Check takes
// all of them.
type Check struct {
	kind           checkKind
	hasMin, hasMax bool
	min, max       float64
	hasOr          bool // or is allowed as well
	or             int64
	words          []string
	fold           bool // words in any case
}

func atLeast(low float64) Check { return Check{kind: numberRange, hasMin: true, min: low} }

func between(low, high float64) Check {
	return Check{kind: numberRange, hasMin: true, min: low, hasMax: true, max: high}
}

func betweenOr(low, high float64, or int64) Check {
	c := between(low, high)
	c.hasOr, c.or = true, or
	return c
}

func oneOf(words ...string) Check     { return Check{kind: wordSet, words: words} }
func oneOfFold(words ...string) Check { return Check{kind: wordSet, words: words, fold: true} }
func nonEmpty() Check                 { return Check{kind: notEmpty} }
func replicaList() Check              { return Check{kind: replicas} }
func offsetReset() Check              { return Check{kind: resetPolicy} }

// String names the allowed values for people; empty means all.
func (c Check) String() string {
	switch c.kind {
	case numberRange:
		switch {
		case c.hasOr:
			return fmt.Sprintf("%s to %s, or %d", bound(c.min), bound(c.max), c.or)
		case c.hasMin && c.hasMax:
			return bound(c.min) + " to " + bound(c.max)
		}
		return bound(c.min) + " or more"
	case wordSet:
		return strings.Join(c.words, ", ")
	case notEmpty:
		return "not empty"
	case replicas:
		return "*, or partition:broker pairs"
	case resetPolicy:
		return "latest, earliest, by_duration:<ISO 8601 duration>"
	}
	return ""
}

// problem returns what is wrong with a parsed value and how to show it; an
// empty problem means nothing is.
func (c Check) problem(name string, v any) (shown, problem string) {
	switch c.kind {
	case numberRange:
		return format(v), c.rangeProblem(v)
	case wordSet:
		items, isList := v.([]string)
		if !isList {
			items = []string{format(v)}
		}
		for _, item := range items {
			if !c.has(item) {
				kind := "String must be one of: "
				if c.fold {
					kind = "String must be one of (case insensitive): "
				}
				return item, kind + strings.Join(c.words, ", ")
			}
		}
	case notEmpty:
		if s, ok := v.(string); ok && trim(s) == "" {
			return s, "String must be non-empty"
		}
	case replicas:
		if items, ok := v.([]string); ok && !replicasOK(items) {
			return "[" + strings.Join(items, ", ") + "]", name + " must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
		}
	case resetPolicy:
		if s, ok := v.(string); ok && !resetOK(s) {
			return s, "Invalid value `" + s + "` for configuration " + name + ". The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
		}
	}
	return "", ""
}

func (c Check) rangeProblem(v any) string {
	var low, high bool
	switch n := v.(type) {
	case int64:
		if c.hasOr && n == c.or {
			return ""
		}
		// Every bound of the tables is a whole number below 2^53 or a simple
		// fraction, so nothing is lost here.
		low, high = c.hasMin && float64(n) < c.min, c.hasMax && float64(n) > c.max
	case float64:
		low, high = c.hasMin && n < c.min, c.hasMax && n > c.max
	default:
		return ""
	}
	switch {
	case (low || high) && c.hasOr:
		return fmt.Sprintf("Value must be between %s and %s or equal to %d", bound(c.min), bound(c.max), c.or)
	case low:
		return "Value must be at least " + bound(c.min)
	case high:
		return "Value must be no more than " + bound(c.max)
	}
	return ""
}

func bound(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (c Check) has(word string) bool {
	for _, w := range c.words {
		if w == word || (c.fold && strings.EqualFold(w, word)) {
			return true
		}
	}
	return false
}

// As in Kafka a comma with nothing beside it does no harm.
var replicaPair = regexp.MustCompile(`^([0-9]+:[0-9]+)?$`)

func replicasOK(items []string) bool {
	if len(items) == 1 && items[0] == "*" {
		return true
	}
	for _, item := range items {
		if !replicaPair.MatchString(item) {
			return false
		}
	}
	return true
}

// dayTimeDuration is the part of ISO 8601 that Kafka takes for by_duration: days
// and times, whole or each part with a sign, and fractions of seconds.
var dayTimeDuration = regexp.MustCompile(`^(?i)([-+]?)P(?:([-+]?\d+)D)?(?:T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?$`)

func resetOK(s string) bool {
	if s == "latest" || s == "earliest" {
		return true
	}
	duration, found := strings.CutPrefix(s, "by_duration:")
	if !found {
		return false
	}
	parts := dayTimeDuration.FindStringSubmatch(duration)
	if parts == nil || strings.HasSuffix(strings.ToUpper(duration), "T") || parts[2]+parts[3]+parts[4]+parts[5] == "" {
		return false
	}
	nanos := nanoseconds(parts[2:])
	if parts[1] == "-" {
		nanos.Neg(nanos)
	}
	seconds := new(big.Int).Div(nanos, big.NewInt(1e9))
	return nanos.Sign() >= 0 && seconds.IsInt64()
}

// nanoseconds adds up days, hours, minutes, seconds and the digits of a fraction,
// which has the sign of its seconds. A part may be missing.
func nanoseconds(parts []string) *big.Int {
	total := new(big.Int)
	for i, unit := range []int64{86400e9, 3600e9, 60e9, 1e9} {
		if n, ok := new(big.Int).SetString(parts[i], 10); ok {
			total.Add(total, n.Mul(n, big.NewInt(unit)))
		}
	}
	digits := (parts[4] + "000000000")[:9]
	if strings.HasPrefix(parts[3], "-") {
		digits = "-" + digits
	}
	fraction, _ := new(big.Int).SetString(digits, 10)
	return total.Add(total, fraction)
}
