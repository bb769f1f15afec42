package config

import "errors"

// ErrInvalid is the kind of every InvalidError.
var ErrInvalid = errors.New("invalid configuration")

// InvalidError says why a configuration that a client asked for was not taken.
type InvalidError struct {
	// Key and Value are what was refused; empty when it is about several keys.
	Key, Value string
	// Message is the sentence for the client.
	Message string
	// BadRequest marks what Kafka answers with INVALID_REQUEST (42); all else
	// is INVALID_CONFIG (40).
	BadRequest bool
}

func (e *InvalidError) Error() string { return e.Message }

// Unwrap makes errors.Is(err, ErrInvalid) hold.
func (e *InvalidError) Unwrap() error { return ErrInvalid }

// UsageError stops the start with exit code 2: the configuration asks for
// something impossible, malformed or not built in.
type UsageError struct {
	Key, Value string
	// Problem says what is wrong and what to do.
	Problem string
}

func (e *UsageError) Error() string {
	if e.Key == "" {
		return e.Problem
	}
	return e.Key + "=" + e.Value + ": " + e.Problem
}
