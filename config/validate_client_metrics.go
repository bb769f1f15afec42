package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The bounds of interval.ms in milliseconds (KIP-714).
const (
	minPushIntervalMs = 100
	maxPushIntervalMs = 3600000
)

var clientSelectors = []string{"client_instance_id", "client_id", "client_software_name", "client_software_version", "client_source_address", "client_source_port"}

// ValidateClientMetrics checks a subscription to client metrics (KIP-714).
// Errors are *InvalidError with Kafka's messages.
func ValidateClientMetrics(overrides map[string]string) error {
	for _, name := range sortedNames(overrides) {
		d, known := clientMetricsTable.byName[name]
		if !known {
			return &InvalidError{Key: name, Value: overrides[name], BadRequest: true, Message: "Unknown client metrics configuration: " + name}
		}
		v, err := d.validate(overrides[name])
		if err != nil {
			return err
		}
		switch name {
		case "interval.ms":
			if n := v.(int64); n < minPushIntervalMs || n > maxPushIntervalMs {
				return &InvalidError{Key: name, Value: overrides[name], BadRequest: true,
					Message: fmt.Sprintf("Invalid value %d for %s, interval must be between %d and %d (1 hour)", n, name, minPushIntervalMs, maxPushIntervalMs)}
			}
		case "match":
			for _, pattern := range v.([]string) {
				selector, expression, _ := strings.Cut(pattern, "=")
				_, rerr := regexp.Compile(trim(expression))
				if expression == "" || strings.Contains(expression, "=") || !slices.Contains(clientSelectors, trim(selector)) || rerr != nil {
					return &InvalidError{Key: name, Value: overrides[name], Message: "Illegal client matching pattern: " + pattern}
				}
			}
		}
	}
	return nil
}
