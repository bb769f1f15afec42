package netio

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// rejects logs refused peers, at a rate a hostile one cannot raise.
type rejects struct {
	log *slog.Logger

	mu         sync.Mutex
	window     time.Time
	inWindow   int
	suppressed int
}

const (
	rejectWindow    = 10 * time.Second
	rejectsInWindow = 10
	quotedBytes     = 48
)

// frame logs a frame whose length cannot be, quoting the peer's first bytes.
func (r *rejects) frame(c *Conn, err error, head, next []byte) {
	c.srv.stats.rejectedFrames.Add(1)
	first := append(append(make([]byte, 0, quotedBytes), head...), next[:min(len(next), quotedBytes-len(head))]...)
	r.warn("closing a connection: "+err.Error(),
		"peer", c.RemoteAddr(), "listener", c.listener,
		"bytes", strconv.QuoteToASCII(string(first)), "hint", hint(first))
}

// warn logs at most rejectsInWindow lines per rejectWindow, and says how many it
// kept back.
func (r *rejects) warn(message string, attrs ...any) {
	r.mu.Lock()
	now := time.Now()
	if now.Sub(r.window) > rejectWindow {
		r.window, r.inWindow = now, 0
	}
	if r.inWindow == rejectsInWindow {
		r.suppressed++
		r.mu.Unlock()
		return
	}
	r.inWindow++
	kept := r.suppressed
	r.suppressed = 0
	r.mu.Unlock()
	if kept > 0 {
		attrs = append(attrs, "suppressed_before", kept)
	}
	r.log.Warn(message, attrs...)
}

// hint says what a peer that does not speak in frames probably wanted.
func hint(first []byte) string {
	for _, verb := range []string{"GET ", "POST", "HEAD", "PUT ", "DELE", "OPTI", "PATC", "CONN", "PRI "} {
		if bytes.HasPrefix(first, []byte(verb)) {
			return "this looks like HTTP: the HTTP port is another one"
		}
	}
	if looksLikeTLS(first) {
		return "this looks like a TLS client: this listener is PLAINTEXT, set security.protocol=PLAINTEXT in the client or use another listener"
	}
	if bytes.HasPrefix(first, []byte("SSH-")) {
		return "this looks like SSH"
	}
	if len(first) >= 4 && int32(binary.BigEndian.Uint32(first)) > 0 {
		return "a longer request needs a larger socket.request.max.bytes; otherwise the peer does not speak this protocol"
	}
	return "the peer does not speak this protocol"
}

// looksLikeTLS recognises a handshake record, version 3.x, with a ClientHello.
func looksLikeTLS(b []byte) bool {
	return len(b) >= 3 && b[0] == 0x16 && b[1] == 3 && b[2] <= 4
}
