package wire

import (
	"encoding/binary"
	"fmt"
)

// Header is a request's header (versions 1 and 2).
type Header struct {
	Key         int16
	Version     int16
	Correlation int32
	ClientID    string
	HasClientID bool // it was not null
	Size        int  // bytes of the header in the frame: the body begins there
}

const keyApiVersions = 18

// ParseHeader reads the header of a frame, which comes without its length
// prefix. The version may be one that is not served: for ApiVersions that is
// answered, so its header is read in any version. ErrUnknownKey for a key that
// is not in the table; the fields up to Correlation are then still set.
func ParseHeader(frame []byte) (Header, error) { return ParseHeaderOf(frame, "") }

// ParseHeaderOf is ParseHeader for a connection whose last request came with
// the client id given: if it is the same again, which it nearly always is,
// nothing is allocated.
func ParseHeaderOf(frame []byte, lastClientID string) (Header, error) {
	if len(frame) < 10 { // key, version, correlation id, length of client id
		return Header{}, malformed("frame of %d bytes is shorter than a header", len(frame))
	}
	h := Header{
		Key:         int16(binary.BigEndian.Uint16(frame)),
		Version:     int16(binary.BigEndian.Uint16(frame[2:])),
		Correlation: int32(binary.BigEndian.Uint32(frame[4:])),
	}
	s := shapeOf(h.Key)
	if s == nil {
		return h, unknownKey(h.Key)
	}
	if h.Version < 0 {
		return h, unsupported(s, h.Version)
	}
	c := cursor{b: frame, p: 8}
	// The client id stays a classic string in flexible headers too.
	switch n := c.int16(); {
	case n == -1:
	case n < 0:
		c.fail(badLength)
	default:
		id := c.take(int(n))
		h.HasClientID = true
		if h.ClientID = lastClientID; string(id) != lastClientID {
			h.ClientID = string(id)
		}
	}
	if h.Version >= s.flexible {
		c.tagged()
	}
	if c.what != "" {
		return h, malformed("header of %s version %d: %s", s.name, h.Version, c.what)
	}
	h.Size = c.p
	return h, nil
}

func unknownKey(key int16) error { return fmt.Errorf("%w: %d", ErrUnknownKey, key) }

func unsupported(s *shape, version int16) error {
	return fmt.Errorf("%w: %s version %d, served are %d to %d", ErrUnsupportedVersion, s.name, version, s.min, s.max)
}
