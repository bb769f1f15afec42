package line

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Envelope is a record as one JSON object. Keys, values and header values are
// strings when they are UTF-8; otherwise base64, and the name of the field is
// listed in "base64", so that nothing is lost or guessed.
type Envelope struct {
	Topic       string           `json:"topic"`
	Partition   int32            `json:"partition"`
	Offset      int64            `json:"offset"`
	TimestampMs int64            `json:"timestamp"`
	TimeType    string           `json:"timestamp_type"`
	Key         *string          `json:"key"`
	Value       *string          `json:"value"`
	Headers     []EnvelopeHeader `json:"headers,omitempty"`
	Base64      []string         `json:"base64,omitempty"`
}

// EnvelopeHeader is one header. Names repeat in Kafka, so headers are a list.
type EnvelopeHeader struct {
	Name   string  `json:"name"`
	Value  *string `json:"value"`
	Base64 bool    `json:"base64,omitempty"`
}

// NewEnvelope copies what is printed of r.
func NewEnvelope(r *kgo.Record) Envelope {
	e := Envelope{
		Topic:       r.Topic,
		Partition:   r.Partition,
		Offset:      r.Offset,
		TimestampMs: r.Timestamp.UnixMilli(),
		TimeType:    "create",
	}
	if r.Attrs.TimestampType() == 1 {
		e.TimeType = "logappend"
	}
	var raw bool
	if e.Key, raw = text(r.Key); raw {
		e.Base64 = append(e.Base64, "key")
	}
	if e.Value, raw = text(r.Value); raw {
		e.Base64 = append(e.Base64, "value")
	}
	for _, h := range r.Headers {
		v, raw := text(h.Value)
		e.Headers = append(e.Headers, EnvelopeHeader{Name: h.Key, Value: v, Base64: raw})
	}
	return e
}

// AppendEnvelope prints r as one line of JSON without a newline.
func AppendEnvelope(dst []byte, r *kgo.Record) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(NewEnvelope(r)); err != nil {
		return dst, fmt.Errorf("encode the record at offset %d as JSON: %w", r.Offset, err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// text returns nil for null, the bytes as they are if they are UTF-8, and
// base64 otherwise.
func text(b []byte) (s *string, raw bool) {
	if b == nil {
		return nil, false
	}
	v := string(b)
	if !utf8.ValidString(v) {
		v, raw = base64.StdEncoding.EncodeToString(b), true
	}
	return &v, raw
}
