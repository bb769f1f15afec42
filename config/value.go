package config

import (
	"math"
	"strconv"
	"strings"
)

// parse turns text into a value of the key's type: bool, int64, float64,
// string or []string. The error says what is wrong in Kafka's words, because
// tools show them.
func (d *Def) parse(text string) (any, error) {
	trimmed := trim(text)
	switch d.Type {
	case Boolean:
		switch {
		case strings.EqualFold(trimmed, "true"):
			return true, nil
		case strings.EqualFold(trimmed, "false"):
			return false, nil
		}
		return nil, d.invalid(trimmed, "Expected value to be either true or false")
	case Int, Short, Long:
		bits := 32
		switch d.Type {
		case Short:
			bits = 16
		case Long:
			bits = 64
		}
		n, err := strconv.ParseInt(trimmed, 10, bits)
		if err != nil {
			return nil, d.invalid(trimmed, "Not a number of type "+d.Type.String())
		}
		return n, nil
	case Double:
		f, err := parseDouble(trimmed)
		// Kafka lets NaN through, and then every comparison with it is false.
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, d.invalid(trimmed, "Not a number of type DOUBLE")
		}
		return f, nil
	case List:
		if d.Check.kind == replicas {
			return splitReplicas(trimmed), nil
		}
		items, ok := splitList(trimmed)
		if !ok {
			return nil, &InvalidError{Key: d.Name, Value: text,
				Message: "Configuration '" + d.Name + "' values must not be empty."}
		}
		return items, nil
	default:
		return trimmed, nil
	}
}

// validate parses and checks text against the key's range.
func (d *Def) validate(text string) (any, error) {
	v, err := d.parse(text)
	if err != nil {
		return nil, err
	}
	if shown, problem := d.Check.problem(d.Name, v); problem != "" {
		return nil, d.invalid(shown, problem)
	}
	return v, nil
}

func (d *Def) invalid(shown, problem string) *InvalidError {
	if d.Sensitive() {
		shown = "[hidden]"
	}
	return &InvalidError{Key: d.Name, Value: shown,
		Message: "Invalid value " + shown + " for configuration " + d.Name + ": " + problem}
}

// normal gives text in the form DescribeConfigs shows, which is how Kafka
// prints the parsed value. Text that does not parse comes back unchanged.
func (d *Def) normal(text string) string {
	v, err := d.parse(text)
	if err != nil {
		return text
	}
	return format(v)
}

func format(v any) string {
	switch x := v.(type) {
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return formatDouble(x)
	case []string:
		return strings.Join(x, ",")
	case string:
		return x
	}
	return ""
}

// formatDouble prints a number as Java does: always with a decimal point, and
// with an exponent below a thousandth and from ten million on.
func formatDouble(f float64) string {
	abs := math.Abs(f)
	if f == 0 || (abs >= 1e-3 && abs < 1e7) {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	s := strconv.FormatFloat(f, 'E', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(n)
}

// splitList cuts a comma separated list and drops repeated items; ok is false
// when an item is empty. An empty text is an empty list.
func splitList(text string) (items []string, ok bool) {
	text = trim(text)
	if text == "" {
		return []string{}, true
	}
	seen := map[string]bool{}
	for _, item := range strings.Split(text, ",") {
		item = trim(item)
		if item == "" {
			return nil, false
		}
		if !seen[item] {
			seen[item] = true
			items = append(items, item)
		}
	}
	return items, true
}

// repeats tells whether a list names an item twice.
func repeats(text string) bool {
	items, ok := splitList(text)
	return ok && len(items) > 0 && len(items) < strings.Count(text, ",")+1
}

// checkRepeats refuses a list that names an item twice, as Kafka does for brokers.
// In a topic's list, and in a file, the second one is dropped.
func (d *Def) checkRepeats(text string) error {
	if d.Type == List && repeats(text) {
		return &InvalidError{Key: d.Name, Value: text, Message: "Configuration '" + d.Name + "' values must not be duplicated."}
	}
	return nil
}

// splitReplicas cuts a list of throttled replicas, in which items may be empty and
// repeated.
func splitReplicas(text string) []string {
	if text == "" {
		return []string{}
	}
	return splitItems(text)
}

// splitItems cuts a text at its commas, and the white space off each piece.
func splitItems(text string) []string {
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = trim(items[i])
	}
	return items
}
