package netio

import "errors"

// The reasons a connection ends for, as Handler.Closed gets them. A reason may be
// wrapped; compare with errors.Is.
var (
	// ErrPeerClosed: the peer closed, or reset, the connection.
	ErrPeerClosed = errors.New("connection closed by the peer")
	// ErrIdle: nothing was in flight for the idle timeout.
	ErrIdle = errors.New("connection idle for too long")
	// ErrSlowFrame: a frame was begun and not completed within the idle timeout, or
	// within a shorter one while memory is short.
	ErrSlowFrame = errors.New("frame not completed in time")
	// ErrSlowReader: the peer took no byte of its answers for the idle timeout.
	ErrSlowReader = errors.New("peer does not read its answers")
	// ErrFrameLength: the announced length of a frame is not acceptable.
	ErrFrameLength = errors.New("frame length out of range")
	// ErrShortFile: a file range ended before the bytes that had been promised.
	ErrShortFile = errors.New("file shorter than the promised range")
	// ErrSend: writing to the socket failed.
	ErrSend = errors.New("write to the peer failed")
	// ErrStopped: the server stops.
	ErrStopped = errors.New("server stops")
)

// ErrServerClosed is returned by the methods of a Server that was stopped.
var ErrServerClosed = errors.New("netio: server is stopped")
