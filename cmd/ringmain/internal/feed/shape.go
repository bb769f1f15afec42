package feed

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Shape says how a line becomes a record.
type Shape struct {
	Topic        string
	Partition    int32  // -1: by key, or spread when there is none
	KeySeparator string // "": lines have no key
	Key          []byte // for lines that bring none; nil: null
	Headers      []kgo.RecordHeader
	TimestampMs  int64 // -1: the time of sending
	NullEmpty    bool  // empty keys and values become null
}

// Record makes a record of line, which it keeps.
func (s Shape) Record(line []byte) *kgo.Record {
	r := &kgo.Record{Topic: s.Topic, Key: s.Key, Value: line, Headers: s.Headers, Partition: s.Partition}
	if s.KeySeparator != "" {
		if key, value, found := bytes.Cut(line, []byte(s.KeySeparator)); found {
			r.Key, r.Value = key[:len(key):len(key)], value
		}
	}
	if s.NullEmpty {
		r.Key, r.Value = nullEmpty(r.Key), nullEmpty(r.Value)
	}
	if s.TimestampMs >= 0 {
		r.Timestamp = time.UnixMilli(s.TimestampMs)
	}
	return r
}

func nullEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// ParseHeader reads NAME=VALUE. Without a "=" the header has a null value, as
// with kcat.
func ParseHeader(s string) (kgo.RecordHeader, error) {
	name, value, found := strings.Cut(s, "=")
	if name == "" {
		return kgo.RecordHeader{}, fmt.Errorf("header %q has no name; write NAME=VALUE", s)
	}
	h := kgo.RecordHeader{Key: name}
	if found {
		h.Value = []byte(value)
	}
	return h, nil
}

// Partitioner spreads records as the Java clients do: by murmur2 of the key,
// and without a key batch by batch. Records with a partition go there.
func Partitioner(partition int32) kgo.Opt {
	if partition >= 0 {
		return kgo.RecordPartitioner(kgo.ManualPartitioner())
	}
	return kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))
}
