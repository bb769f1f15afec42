package wire

import (
	"bytes"

	"ringmain/model"
)

// Leader names a partition's leader to a client that asked another broker
// (KIP-951). A negative ID is none, and is then left out of the answer.
type Leader struct {
	ID    int32
	Epoch int32
}

// NoLeader is the Leader of an answer that does not name one.
var NoLeader = Leader{ID: model.NoBroker, Epoch: model.NoEpoch}

// NodeEndpoint is where such a leader listens.
type NodeEndpoint struct {
	NodeID int32
	Host   string
	Port   int32
	Rack   string // "" for none
}

// RecordError names one refused record of a batch (KIP-467).
type RecordError struct {
	BatchIndex int32
	Message    string // "" for none
}

// ProduceResult is the answer for one partition.
type ProduceResult struct {
	Topic           []byte        // before version 13
	TopicID         model.TopicID // from version 13 on
	Index           int32
	ErrorCode       int16
	BaseOffset      int64 // -1 on errors
	LogAppendTimeMs int64 // -1 unless the topic has LogAppendTime
	LogStartOffset  int64 // -1 on errors
	RecordErrors    []RecordError
	ErrorMessage    string // "" for none
	CurrentLeader   Leader
}

// AppendProduceResponse appends a whole Produce response frame. Results of one
// topic that follow each other become one topic entry, so results in the
// request's order give its shape. nodes are sent from version 10 on. Nothing is
// allocated once dst has room.
func AppendProduceResponse(dst []byte, version int16, correlation, throttleMs int32, results []ProduceResult, nodes []NodeEndpoint) []byte {
	flexible := version >= produceFlexible
	ids := version >= produceTopicIDs
	start := len(dst)
	dst = appendHead(dst, correlation, flexible)
	topics := 0
	for i := range results {
		if i == 0 || !sameTopic(&results[i-1], &results[i], ids) {
			topics++
		}
	}
	dst = appendCount(dst, topics, flexible)
	for len(results) > 0 {
		n := 1
		for n < len(results) && sameTopic(&results[0], &results[n], ids) {
			n++
		}
		if ids {
			dst = append(dst, results[0].TopicID[:]...)
		} else {
			dst = appendString(dst, results[0].Topic, flexible)
		}
		dst = appendCount(dst, n, flexible)
		for i := range results[:n] {
			dst = appendProduceResult(dst, version, &results[i])
		}
		if flexible {
			dst = append(dst, 0)
		}
		results = results[n:]
	}
	dst = appendInt32(dst, throttleMs)
	if flexible {
		if version < 10 {
			nodes = nil
		}
		dst = appendNodes(dst, nodes)
	}
	return patchLength(dst, start)
}

func sameTopic(a, b *ProduceResult, ids bool) bool {
	if ids {
		return a.TopicID == b.TopicID
	}
	return bytes.Equal(a.Topic, b.Topic)
}

func appendProduceResult(dst []byte, version int16, r *ProduceResult) []byte {
	flexible := version >= produceFlexible
	dst = appendInt32(dst, r.Index)
	dst = appendInt16(dst, r.ErrorCode)
	dst = appendInt64(dst, r.BaseOffset)
	dst = appendInt64(dst, r.LogAppendTimeMs)
	if version >= 5 {
		dst = appendInt64(dst, r.LogStartOffset)
	}
	if version >= 8 {
		dst = appendCount(dst, len(r.RecordErrors), flexible)
		for i := range r.RecordErrors {
			e := &r.RecordErrors[i]
			dst = appendInt32(dst, e.BatchIndex)
			dst = appendNullable(dst, e.Message, flexible)
			if flexible {
				dst = append(dst, 0)
			}
		}
		dst = appendNullable(dst, r.ErrorMessage, flexible)
	}
	switch {
	case !flexible:
	case version >= 10 && r.CurrentLeader.ID >= 0:
		dst = append(dst, 1) // one tagged field
		dst = appendLeader(dst, 0, r.CurrentLeader)
	default:
		dst = append(dst, 0)
	}
	return dst
}

// appendLeader appends a leader as a tagged field.
func appendLeader(dst []byte, tag byte, l Leader) []byte {
	dst = append(dst, tag, 4+4+1)
	dst = appendInt32(dst, l.ID)
	dst = appendInt32(dst, l.Epoch)
	return append(dst, 0)
}
