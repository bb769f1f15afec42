package record

import "fmt"

// Codec is a compression type, numbered as in a batch's attributes.
type Codec int8

const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// Known reports whether there is such a codec.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String is Kafka's name for the codec.
func (c Codec) String() string {
	if c.Known() {
		return codecNames[c]
	}
	return fmt.Sprintf("unknown codec %d", int8(c))
}

// ParseCodec reads what String writes, and "uncompressed", which is the word
// that compression.type has for none.
func ParseCodec(s string) (Codec, error) {
	for i, name := range codecNames {
		if s == name {
			return Codec(i), nil
		}
	}
	if s == "uncompressed" {
		return None, nil
	}
	return None, fmt.Errorf("compression %q does not exist: use none, gzip, snappy, lz4 or zstd", s)
}
