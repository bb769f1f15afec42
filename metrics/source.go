package metrics

import "iter"

// Sources say what exists. They are asked once for each scrape, from the
// scrape's goroutine; nil ones leave their series out.
type Sources struct {
	// Network is the state of the connections.
	Network func() Network
	// Storage is the sum over all partitions of this broker.
	Storage func() Storage
	// Partitions are those of this broker; the first ones are shown when
	// there are more than MaxSeries allows.
	Partitions iter.Seq[Partition]
	// Groups counts the groups whose coordinator this broker is.
	Groups func() map[GroupState]int64
	// MaxSeries bounds the series of partitions in one scrape.
	MaxSeries int
	// Ready tells whether the broker serves.
	Ready func() bool
}

// Network is a moment's state of the connections.
type Network struct {
	Connections   map[string]int64 // open, by listener name
	Accepted      uint64
	Rejected      uint64            // by a limit, before the first byte
	Closed        map[string]uint64 // by reason, from a fixed set of words
	Paused        int64             // connections whose reading is paused
	BytesIn       uint64
	BytesOut      uint64
	InFlightBytes int64 // requests and answers in memory
}

// Storage is a moment's state of the logs.
type Storage struct {
	Topics, Partitions, Offline int64 // Offline: partitions whose disk failed
	LogBytes, Segments          int64
	OpenFiles                   int64
	// MaxDirtyRatio is the largest dirty ratio of all compacted logs.
	MaxDirtyRatio float64
	// Uncleanable counts the partitions that a failed pass has left to rest.
	Uncleanable int64
}

// Partition is a moment's state of one log. Offsets are those of the next
// record (log end, high watermark) or the first one (log start).
type Partition struct {
	Topic                             string
	Index                             int32
	LogStart, HighWatermark, LogEnd   int64
	LogBytes, Segments, UnsyncedBytes int64
}

// GroupState is what groups are counted by, in the words of ListGroups.
type GroupState struct{ Type, State string }

// Observe says where to ask. It may be called again and replaces what was
// there.
func (s *Set) Observe(sources Sources) { s.sources.Store(&sources) }
