package replay

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// errorName is the protocol's name for an error code.
func errorName(code int16) string {
	if e, ok := kerr.ErrorForCode(code).(*kerr.Error); ok {
		return e.Message
	}
	return fmt.Sprintf("ERROR_%d", code)
}
