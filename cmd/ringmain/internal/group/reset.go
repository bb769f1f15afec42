package group

import "fmt"

// Way is one of the ways to choose new offsets, named as the flags of Kafka's tool.
type Way string

// The ways.
const (
	ToEarliest Way = "to-earliest"
	ToLatest   Way = "to-latest"
	ToCurrent  Way = "to-current"
	ToOffset   Way = "to-offset"
	ShiftBy    Way = "shift-by"
	ToTime     Way = "to-datetime" // by-duration too: a time before now
	FromFile   Way = "from-file"
)

// Target is where a reset goes.
type Target struct {
	Way    Way
	Offset int64 // ToOffset: the offset; ShiftBy: how far, negative for back
	TimeMs int64 // ToTime: milliseconds since 1970
}

// Move is what a reset does to one partition of one group. Lag is what it leaves.
type Move struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Current   int64  `json:"current_offset"` // -1: none committed
	New       int64  `json:"new_offset"`
	Lag       int64  `json:"lag"`
	Note      string `json:"note,omitempty"` // why New is not what was asked for
}

// At gives the offset for a partition that stands at o. atTime is the offset of the
// first record of the target's time or later, -1 where there is none; it counts for
// ToTime only. An offset outside of the log becomes the nearest one in it, and note
// says so, as in Kafka.
func (t Target) At(o Offset, atTime int64) (offset int64, note string, err error) {
	switch t.Way {
	case ToEarliest:
		return o.Start, "", nil
	case ToLatest:
		return o.End, "", nil
	case ToCurrent:
		if o.Committed < 0 {
			return o.End, "nothing is committed: the end", nil
		}
		return o.within(o.Committed)
	case ShiftBy:
		if o.Committed < 0 {
			return 0, "", fmt.Errorf("partition %d of topic %q has no committed offset to shift", o.Partition, o.Topic)
		}
		return o.within(shifted(o.Committed, t.Offset))
	case ToTime:
		if atTime < 0 {
			return o.End, "no record is that new: the end", nil
		}
		return o.within(atTime)
	}
	return o.within(t.Offset)
}

// shifted is offset+by, kept from overflowing.
func shifted(offset, by int64) int64 {
	if n := offset + by; by < 0 || n >= offset {
		return n
	}
	return 1<<63 - 1
}

func (o Offset) within(offset int64) (int64, string, error) {
	switch {
	case offset < o.Start:
		return o.Start, fmt.Sprintf("%d is below the log: its start", offset), nil
	case offset > o.End:
		return o.End, fmt.Sprintf("%d is above the log: its end", offset), nil
	}
	return offset, "", nil
}
