package badinput

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

func TestRow13UnknownKey(t *testing.T) {
	r := newRig(t)
	// 4 to 7 are gone since Kafka 4.0; 52 and 62 are for controllers.
	for _, key := range []int16{-1, 4, 5, 6, 7, 52, 62, 95, 1000, 32767, -32768} {
		r.closes("unknown key", frame(key, 0, false, make([]byte, 20)...))
	}
}

func TestRow14ApiVersionsOfUnknownVersion(t *testing.T) {
	r := newRig(t)
	for _, version := range []int16{6, 99, 32767} {
		c := r.dial()
		if err := c.Send(frame(18, version, true, 2, 'x', 2, '1', 0)); err != nil {
			t.Fatal(err)
		}
		b, err := c.Receive()
		if err != nil {
			t.Fatalf("v%d: %v", version, err)
		}
		req := kmsg.NewPtrApiVersionsRequest()
		req.SetVersion(version)
		resp, err := peer.Decode(req, 1, b)
		if err != nil {
			t.Fatalf("v%d: %v", version, err)
		}
		got := resp.(*kmsg.ApiVersionsResponse)
		r.code("ApiVersions", got.ErrorCode, 35)
		if got.GetVersion() != 0 || len(got.ApiKeys) != 1 || got.ApiKeys[0].ApiKey != 18 || got.ApiKeys[0].MinVersion != 0 || got.ApiKeys[0].MaxVersion < 4 {
			t.Errorf("v%d: in the form of version %d, %+v", version, got.GetVersion(), got.ApiKeys)
		}
		// The connection goes on: clients ask again with a version that is known.
		again := kmsg.NewPtrApiVersionsRequest()
		again.ClientSoftwareName, again.ClientSoftwareVersion = "x", "1"
		r.code("ApiVersions v3", r.do(c, 3, again).(*kmsg.ApiVersionsResponse).ErrorCode, 0)
	}
}

func TestRow15UnsupportedVersion(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		key, version int16
		flexible     bool
	}{{3, 14, true}, {3, 99, true}, {0, 2, false}, {0, 14, true}, {1, 3, false}, {1, 19, true}, {2, 0, false}, {19, 1, false}, {19, 8, true}, {75, 1, true}, {22, 6, true}} {
		r.closes("unsupported version", frame(c.key, c.version, c.flexible, make([]byte, 40)...))
	}
}

func TestRow16NegativeVersion(t *testing.T) {
	r := newRig(t)
	for _, key := range []int16{0, 1, 3, 19} {
		r.closes("version -1", frame(key, -1, false, make([]byte, 40)...))
		r.closes("version -32768", frame(key, -32768, false, make([]byte, 40)...))
	}
}

// Any client id is taken; none reaches the log or the metrics as it is.
func TestRow17ClientIDs(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{strings.Repeat("x", 32767), "two\nlines level=ERROR msg=forged", "nul\x00", "\xff\xfe\xfd", `quote" {label="x"}`, "\x1b[31mred", ""} {
		c := r.dial()
		c.ClientID = id
		req := kmsg.NewPtrMetadataRequest()
		req.SetVersion(9)
		req.Topics = []kmsg.MetadataRequestTopic{}
		if _, err := c.Do(req); err != nil && !errors.Is(err, peer.ErrClosed) {
			t.Errorf("client id %.20q: %v", id, err)
		}
		// The same id on a request that is logged because it is refused.
		bad := length(append(header(3, 99, 1, id, true), make([]byte, 20)...))
		r.closes("client id and a bad version", bad)
	}
	null := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32([]byte{0, 3, 0, 1}, 1), 0xffff)
	c := r.dial()
	if err := c.Send(length(append(null, 0, 0, 0, 0))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Receive(); err != nil {
		t.Errorf("null client id: %v", err)
	}
	if r.b.External() {
		return
	}
	for line := range strings.Lines(r.b.Stderr()) {
		if strings.HasPrefix(line, "lines level=ERROR") || strings.ContainsAny(line, "\x00\x1b") || strings.Contains(line, "\xff") || len(line) > 8192 {
			t.Errorf("the log has a raw client id: %.200q", line)
		}
	}
}

func TestRow18TaggedFields(t *testing.T) {
	r := newRig(t)
	// Metadata v9: an empty topic list, two flags, then the tags.
	body := func(tags ...byte) []byte { return frame(3, 9, true, append([]byte{1, 0, 0, 0}, tags...)...) }
	r.closes("2^31 tags", body(0x80, 0x80, 0x80, 0x80, 0x08))
	r.closes("2^32-1 tags", body(0xff, 0xff, 0xff, 0xff, 0x0f))
	r.closes("a tag longer than the rest", body(1, 9, 100, 1, 2))
	r.closes("a tag of 2^31 bytes", body(1, 9, 0x80, 0x80, 0x80, 0x80, 0x08))
	r.closes("tags end early", body(2, 9, 1, 1))
	if !kafka { // Kafka keeps unknown tags without looking at their order
		r.closes("the same tag twice", body(2, 9, 1, 1, 9, 1, 2))
		r.closes("falling tags", body(2, 9, 1, 1, 8, 1, 2))
	}
	many := []byte{0x91, 0x4e} // 10,001
	for i := range 10001 {
		many = binary.AppendUvarint(many, uint64(i+9))
		many = append(many, 0)
	}
	r.closes("10,001 tags", body(many...))
	head := header(3, 9, 1, "x", false)
	r.closes("2^31 tags in the header", length(append(head, 0x80, 0x80, 0x80, 0x80, 0x08)))
	// Unknown tags that are well formed are skipped.
	c := r.dial()
	if err := c.Send(body(2, 9, 1, 1, 200, 1, 2, 'h', 'i')); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Receive(); err != nil {
		t.Errorf("unknown tags: %v", err)
	}
}

func TestRow19LongVarints(t *testing.T) {
	r := newRig(t)
	r.closes("varint of 6 bytes as a count", frame(3, 9, true, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 0, 0, 0, 0))
	r.closes("varint of 10 bytes", frame(3, 9, true, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0, 0, 0, 0))
	r.closes("varint without end", frame(3, 9, true, 0xff, 0xff, 0xff))
	r.closes("varint of 6 bytes as the count of tags", frame(3, 9, true, 1, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00))
}

func TestRow20CorrelationIDs(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	for _, id := range []int32{-1, 0, -1 << 31, 1<<31 - 1, 7, 7} {
		if err := c.Send(length(append(header(3, 1, id, "x", false), 0, 0, 0, 0))); err != nil {
			t.Fatal(err)
		}
		b, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if got := int32(binary.BigEndian.Uint32(b)); got != id {
			t.Errorf("correlation id %d came back as %d", id, got)
		}
	}
}
