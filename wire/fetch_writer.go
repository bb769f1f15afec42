package wire

import (
	"encoding/binary"

	"ringmain/model"
)

// The first versions of Fetch with compact lengths, with topic ids in place of
// names, and with the endpoints of leaders.
const (
	fetchFlexible = 12
	fetchTopicIDs = 13
	fetchNodes    = 16
)

// EpochEndOffset tells a follower or consumer where its log leaves the
// leader's (KIP-595). A negative Epoch is none.
type EpochEndOffset struct {
	Epoch     int32
	EndOffset int64
}

// SnapshotID names a snapshot to fetch instead (KIP-630). A negative EndOffset
// is none.
type SnapshotID struct {
	EndOffset int64
	Epoch     int32
}

// AbortedTransaction is one whose records a read_committed consumer drops.
type AbortedTransaction struct {
	ProducerID  int64
	FirstOffset int64
}

// FetchPartition is the answer for one partition. NewFetchPartition gives one
// in which all that is optional is absent.
type FetchPartition struct {
	Index           int32
	ErrorCode       int16
	HighWatermark   int64
	LastStable      int64
	LogStart        int64                // sent from version 5 on
	DivergingEpoch  EpochEndOffset       // from 12 on
	CurrentLeader   Leader               // from 12 on
	SnapshotID      SnapshotID           // from 12 on
	Aborted         []AbortedTransaction // nil for null: the client did not ask
	PreferredReader int32                // replica to fetch from, -1 for none; from 11 on
	RecordsLen      int                  // bytes of records that follow; -1 for null
}

// NewFetchPartition returns the answer of a partition that failed, or the one
// to fill in.
func NewFetchPartition(index int32, errorCode int16) FetchPartition {
	return FetchPartition{
		Index: index, ErrorCode: errorCode,
		HighWatermark: -1, LastStable: -1, LogStart: -1, PreferredReader: model.NoBroker,
		DivergingEpoch: EpochEndOffset{-1, -1}, CurrentLeader: NoLeader, SnapshotID: SnapshotID{-1, -1},
	}
}

// FetchWriter writes the frame of a Fetch response around record bytes that
// are not copied into it: they go from file to socket. What it appends is cut
// into pieces; between two pieces belong as many bytes of records as the
// earlier one's hole says. The order of calls is Begin, then for each topic
// Topic and as many Partition as it announced, then End.
//
// Nothing is allocated once the buffer and the list of pieces have room. The
// zero value is ready, and so is a used one.
type FetchWriter struct {
	buf     []byte
	cuts    []cut
	start   int // of the frame in buf
	holes   int // bytes of records
	version int16
	trailer bool // the last partition has written its records' length, not what follows
	part    FetchPartition
	open    bool // a topic is open
}

type cut struct{ end, hole int }

// Piece is a part of the frame, followed by Hole bytes of records.
type Piece struct {
	Bytes []byte
	Hole  int
}

// Begin begins a frame at the end of dst, which the writer then owns until End.
// throttleMs, errorCode and sessionID are the response's own; errors and
// sessions exist from version 7 on.
func (w *FetchWriter) Begin(dst []byte, version int16, correlation, throttleMs int32, errorCode int16, sessionID int32, topics int) {
	*w = FetchWriter{buf: dst, cuts: w.cuts[:0], start: len(dst), version: version}
	w.buf = appendHead(w.buf, correlation, version >= fetchFlexible)
	w.buf = appendInt32(w.buf, throttleMs)
	if version >= 7 {
		w.buf = appendInt16(w.buf, errorCode)
		w.buf = appendInt32(w.buf, sessionID)
	}
	w.buf = appendCount(w.buf, topics, version >= fetchFlexible)
}

// Topic begins a topic with as many partitions; name is sent before version 13,
// id from there on.
func (w *FetchWriter) Topic(name string, id model.TopicID, partitions int) {
	w.endTopic()
	if w.version >= fetchTopicIDs {
		w.buf = append(w.buf, id[:]...)
	} else {
		w.buf = appendString(w.buf, name, w.version >= fetchFlexible)
	}
	w.buf = appendCount(w.buf, partitions, w.version >= fetchFlexible)
	w.open = true
}

// Partition appends a partition up to where its records begin.
func (w *FetchWriter) Partition(p *FetchPartition) {
	w.endPartition()
	flexible := w.version >= fetchFlexible
	b := w.buf
	b = appendInt32(b, p.Index)
	b = appendInt16(b, p.ErrorCode)
	b = appendInt64(b, p.HighWatermark)
	b = appendInt64(b, p.LastStable)
	if w.version >= 5 {
		b = appendInt64(b, p.LogStart)
	}
	if p.Aborted == nil {
		b = appendNull(b, flexible, false)
	} else {
		b = appendCount(b, len(p.Aborted), flexible)
		for _, a := range p.Aborted {
			b = appendInt64(b, a.ProducerID)
			b = appendInt64(b, a.FirstOffset)
			if flexible {
				b = append(b, 0)
			}
		}
	}
	if w.version >= 11 {
		b = appendInt32(b, p.PreferredReader)
	}
	switch {
	case p.RecordsLen < 0:
		b = appendNull(b, flexible, false)
	case flexible:
		b = binary.AppendUvarint(b, uint64(p.RecordsLen)+1)
	default:
		b = appendInt32(b, int32(p.RecordsLen))
	}
	w.buf = b
	if p.RecordsLen > 0 {
		w.cuts = append(w.cuts, cut{len(b), p.RecordsLen})
		w.holes += p.RecordsLen
	}
	if flexible {
		w.part, w.trailer = *p, true
		w.part.Aborted = nil
	}
}

// endPartition appends the tagged fields of the last partition: they lie behind
// its records.
func (w *FetchWriter) endPartition() {
	if !w.trailer {
		return
	}
	w.trailer = false
	p := &w.part
	n := byte(0)
	if p.DivergingEpoch.Epoch >= 0 {
		n++
	}
	if p.CurrentLeader.ID >= 0 {
		n++
	}
	if p.SnapshotID.EndOffset >= 0 {
		n++
	}
	b := append(w.buf, n)
	if p.DivergingEpoch.Epoch >= 0 {
		b = append(b, 0, 4+8+1)
		b = appendInt32(b, p.DivergingEpoch.Epoch)
		b = appendInt64(b, p.DivergingEpoch.EndOffset)
		b = append(b, 0)
	}
	if p.CurrentLeader.ID >= 0 {
		b = appendLeader(b, 1, p.CurrentLeader)
	}
	if p.SnapshotID.EndOffset >= 0 {
		b = append(b, 2, 8+4+1)
		b = appendInt64(b, p.SnapshotID.EndOffset)
		b = appendInt32(b, p.SnapshotID.Epoch)
		b = append(b, 0)
	}
	w.buf = b
}

func (w *FetchWriter) endTopic() {
	w.endPartition()
	if w.open && w.version >= fetchFlexible {
		w.buf = append(w.buf, 0)
	}
	w.open = false
}

// End completes the frame and returns what Begin was given with the frame's own
// bytes appended, without records. nodes are sent from version 16 on. Pieces
// and Size are then valid, until the buffer is used again.
func (w *FetchWriter) End(nodes []NodeEndpoint) []byte {
	w.endTopic()
	if w.version >= fetchFlexible {
		if w.version < fetchNodes {
			nodes = nil
		}
		w.buf = appendNodes(w.buf, nodes)
	}
	w.cuts = append(w.cuts, cut{end: len(w.buf)})
	binary.BigEndian.PutUint32(w.buf[w.start:], uint32(w.Size()-4))
	return w.buf
}

// Size is the size of the whole frame with its length prefix and all records.
func (w *FetchWriter) Size() int { return len(w.buf) - w.start + w.holes }

// Pieces is the number of pieces, at least one after End.
func (w *FetchWriter) Pieces() int { return len(w.cuts) }

// Piece gives piece i. The hole of the last is 0.
func (w *FetchWriter) Piece(i int) Piece {
	from := w.start
	if i > 0 {
		from = w.cuts[i-1].end
	}
	return Piece{Bytes: w.buf[from:w.cuts[i].end], Hole: w.cuts[i].hole}
}
