package netio

import (
	"errors"
	"sync/atomic"
)

// counters are written by the loops and read at any time.
type counters struct {
	accepted, refused, rejectedFrames atomic.Int64
	frames, bytesIn, bytesOut         atomic.Int64
	stopped                           atomic.Int64
	closed                            [numReasons]atomic.Int64
}

// Stats is a snapshot of a server's counters. All but Open, InFlightBytes and
// OpenByListener only grow.
type Stats struct {
	Open           int            // connections now
	OpenByListener map[string]int // the same by listener name
	Accepted       int64          // connections accepted, refused ones included
	Refused        int64          // closed on accept: per-address limit
	RejectedFrames int64          // connections closed for an impossible frame length
	Closed         map[string]int64
	Frames         int64 // complete frames
	BytesIn        int64 // with length prefixes left out
	BytesOut       int64
	InFlightBytes  int64 // frames held and responses queued, all connections
	ReadingStopped int64 // times a connection's reading was stopped
}

// The keys of Stats.Closed.
var reasonNames = [numReasons]string{"peer", "idle", "slow_frame", "slow_reader", "frame_length", "short_file", "send", "stopped", "handler"}

const (
	reasonHandler = numReasons - 1
	numReasons    = 9
)

func reasonIndex(err error) int {
	for i, e := range [...]error{ErrPeerClosed, ErrIdle, ErrSlowFrame, ErrSlowReader, ErrFrameLength, ErrShortFile, ErrSend, ErrStopped} {
		if errors.Is(err, e) {
			return i
		}
	}
	return reasonHandler
}

// Stats returns a snapshot. Any goroutine.
func (s *Server) Stats() Stats {
	open, byListener := s.quota.snapshot()
	closed := make(map[string]int64, numReasons)
	for i := range s.stats.closed {
		closed[reasonNames[i]] = s.stats.closed[i].Load()
	}
	return Stats{
		Open: open, OpenByListener: byListener,
		Accepted: s.stats.accepted.Load(), Refused: s.stats.refused.Load(),
		RejectedFrames: s.stats.rejectedFrames.Load(), Closed: closed,
		Frames: s.stats.frames.Load(), BytesIn: s.stats.bytesIn.Load(), BytesOut: s.stats.bytesOut.Load(),
		InFlightBytes: s.inFlight.Load(), ReadingStopped: s.stats.stopped.Load(),
	}
}
