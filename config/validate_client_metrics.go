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
	values := map[string]any{}
	for _, name := range sortedNames(overrides) {
		if _, known := clientMetricsTable.byName[name]; !known {
			return &InvalidError{Key: name, Value: overrides[name], BadRequest: true, Message: "Unknown client metrics configuration: " + name}
		}
	}
	for _, name := range sortedNames(overrides) {
		v, err := clientMetricsTable.byName[name].validate(overrides[name])
		if err != nil {
			return err
		}
		values[name] = v
	}
	if n, ok := values["interval.ms"].(int64); ok && (n < minPushIntervalMs || n > maxPushIntervalMs) {
		return &InvalidError{Key: "interval.ms", Value: overrides["interval.ms"], BadRequest: true,
			Message: fmt.Sprintf("Invalid value %d for interval.ms, interval must be between %d and %d (1 hour)", n, minPushIntervalMs, maxPushIntervalMs)}
	}
	patterns, _ := values["match"].([]string)
	for _, pattern := range patterns {
		selector, expression, _ := strings.Cut(pattern, "=")
		_, err := regexp.Compile(trim(expression))
		if expression == "" || strings.Contains(expression, "=") || !slices.Contains(clientSelectors, trim(selector)) || err != nil {
			return &InvalidError{Key: "match", Value: overrides["match"], Message: "Illegal client matching pattern: " + pattern}
		}
	}
	return nil
}
