package record

import "encoding/binary"

// Marker is what the record of a control batch says.
type Marker int16

// The types of transaction markers; other control records have higher numbers.
const (
	Abort  Marker = 0
	Commit Marker = 1
)

// MarkerOf reads which marker a control batch holds; ok is false for a batch
// that has none (one that compaction emptied).
func MarkerOf(b Batch) (m Marker, ok bool, err error) {
	if b.Count() == 0 {
		return 0, false, nil
	}
	r, err := NewReader(b)
	if err != nil {
		return 0, false, err
	}
	defer r.Close()
	rec, err := r.Next()
	if err != nil {
		return 0, false, err
	}
	if len(rec.Key) < 4 { // version, type
		return 0, false, failf(ErrInvalid, "the control batch at offset %d has a key of %d bytes, want version and type in 4", b.BaseOffset(), len(rec.Key))
	}
	return Marker(binary.BigEndian.Uint16(rec.Key[2:])), true, nil
}
