package wire

import (
	"errors"
	"fmt"
)

// What can be wrong with a frame. All of these close the connection, as in
// Kafka; only an unsupported version of ApiVersions is answered, by the
// broker, in version 0.
var (
	ErrMalformed          = errors.New("malformed request")
	ErrUnknownKey         = errors.New("api key is not served")
	ErrUnsupportedVersion = errors.New("api version is not served")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}
