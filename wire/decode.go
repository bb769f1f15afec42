package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Decode checks and reads a request's body. The result may alias body: byte
// fields do, strings do not.
func Decode(key, version int16, body []byte) (kmsg.Request, error) {
	req := kmsg.RequestForKey(key)
	if req == nil {
		return nil, unknownKey(key)
	}
	if err := DecodeInto(req, version, body); err != nil {
		return nil, err
	}
	return req, nil
}

// DecodeInto is Decode into a request that the caller has, whose old contents
// are lost.
func DecodeInto(req kmsg.Request, version int16, body []byte) error {
	if err := Check(req.Key(), version, body); err != nil {
		return err
	}
	req.SetVersion(version)
	if err := req.ReadFrom(body); err != nil {
		// Only if the table and kmsg disagree, which a test excludes.
		return fmt.Errorf("%w: %s version %d: %w", ErrMalformed, Name(req.Key()), version, err)
	}
	return nil
}
