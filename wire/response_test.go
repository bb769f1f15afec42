package wire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// body takes a response frame apart.
func responseBody(t *testing.T, frame []byte, correlation int32, flexibleHeader bool) []byte {
	t.Helper()
	if n := binary.BigEndian.Uint32(frame); int(n) != len(frame)-4 {
		t.Fatalf("length %d in a frame of %d bytes", n, len(frame))
	}
	if c := int32(binary.BigEndian.Uint32(frame[4:])); c != correlation {
		t.Fatalf("correlation id %d, want %d", c, correlation)
	}
	if !flexibleHeader {
		return frame[8:]
	}
	if frame[8] != 0 {
		t.Fatalf("header has tags: %x", frame[:12])
	}
	return frame[9:]
}

func TestAppendResponse(t *testing.T) {
	eachVersion(t, func(t *testing.T, r *rand.Rand, key, version int16) {
		resp := kmsg.ResponseForKey(key)
		fill(r, reflect.ValueOf(resp).Elem())
		resp.SetVersion(version)
		frame := AppendResponse([]byte("before"), -5, resp)
		body := responseBody(t, frame[6:], -5, Flexible(key, version) && key != 18)
		if !bytes.Equal(body, resp.AppendTo(nil)) {
			t.Errorf("body is %x", body)
		}
	})
}
