package wire

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func appendHeader(key, version int16, correlation int32, clientID *string, tags []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	if clientID == nil {
		b = append(b, 0xff, 0xff)
	} else {
		b = binary.BigEndian.AppendUint16(b, uint16(len(*clientID)))
		b = append(b, *clientID...)
	}
	return append(b, tags...)
}

// The client's own formatter writes what ParseHeader reads, in every version.
func TestParseHeaderOfRealRequests(t *testing.T) {
	ids := []string{"", "client", strings.Repeat("x", 32767), "new\nline\x00\xff\xfe"}
	eachVersion(t, func(t *testing.T, r *rand.Rand, key, version int16) {
		for i := range ids {
			f := kmsg.NewRequestFormatter(kmsg.FormatterClientID(ids[i]))
			req := randomRequest(r, key, version)
			frame := f.AppendRequest(nil, req, -1234567+int32(i))[4:]
			h, err := ParseHeader(frame)
			if err != nil {
				t.Fatal(err)
			}
			want := Header{Key: key, Version: version, Correlation: -1234567 + int32(i), ClientID: ids[i], HasClientID: true}
			want.Size = len(frame) - len(req.AppendTo(nil))
			if h != want {
				t.Fatalf("got %+v, want %+v", h, want)
			}
			if err := Check(key, version, frame[h.Size:]); err != nil {
				t.Fatal(err)
			}
		}
		for _, tags := range []string{"\x00", "\x02\x05\x01a\x06\x00"} {
			if !Flexible(key, version) {
				tags = ""
			}
			frame := appendHeader(key, version, 7, nil, []byte(tags))
			h, err := ParseHeader(append(frame, "body"...))
			if err != nil || h.HasClientID || h.Size != len(frame) {
				t.Fatalf("null client id: %+v, %v", h, err)
			}
		}
	})
}

func TestParseHeaderOfUnservedVersions(t *testing.T) {
	id := "c"
	h, err := ParseHeader(appendHeader(18, 99, 5, &id, []byte{0}))
	if err != nil || h.Version != 99 || h.Correlation != 5 || h.Size != 12 {
		t.Errorf("ApiVersions 99: %+v, %v", h, err)
	}
	if h, err := ParseHeader(appendHeader(18, -1, 5, &id, nil)); !errors.Is(err, ErrUnsupportedVersion) || h.Correlation != 5 {
		t.Errorf("version -1: %+v, %v", h, err)
	}
	if h, err := ParseHeader(appendHeader(4711, 0, 5, &id, nil)); !errors.Is(err, ErrUnknownKey) || h.Key != 4711 {
		t.Errorf("key 4711: %+v, %v", h, err)
	}
	for _, key := range []int16{-1, -32768, 4, 32767} {
		if _, err := ParseHeader(appendHeader(key, 0, 5, &id, nil)); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("key %d: %v", key, err)
		}
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	id := "client"
	flexible := appendHeader(3, 9, 1, &id, nil)
	for name, frame := range map[string][]byte{
		"nothing":                   nil,
		"seven bytes":               make([]byte, 7),
		"nine bytes":                appendHeader(3, 1, 1, nil, nil)[:9],
		"client id of length -2":    append(appendHeader(3, 1, 1, nil, nil)[:8], 0xff, 0xfe),
		"client id is cut":          appendHeader(3, 1, 1, &id, nil)[:14],
		"no tag section":            flexible,
		"tag count of six bytes":    append(flexible[:16:16], 0x80, 0x80, 0x80, 0x80, 0x80, 1),
		"tag count 2^31":            append(flexible[:16:16], 0x80, 0x80, 0x80, 0x80, 0x08),
		"tag longer than the frame": append(flexible[:16:16], 1, 0, 100, 'x'),
		"tag twice":                 append(flexible[:16:16], 2, 0, 0, 0, 0),
		"tags out of order":         append(flexible[:16:16], 2, 1, 0, 0, 0),
	} {
		if h, err := ParseHeader(frame); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
}

func TestParseHeaderOfSameClientAllocatesNothing(t *testing.T) {
	id := "a client's name"
	frame := appendHeader(1, 16, 1, &id, []byte{0})
	last := ""
	allocs := testing.AllocsPerRun(100, func() {
		h, err := ParseHeaderOf(frame, last)
		if err != nil || h.ClientID != id {
			t.Fatal(h, err)
		}
		last = h.ClientID
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
