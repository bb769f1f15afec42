package trial

import "sync"

// Tail keeps the last Keep bytes written to it. The process's reader writes, whoever
// started it reads.
type Tail struct {
	Keep int

	mu  sync.Mutex
	buf []byte
}

// Write takes all of p.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - t.Keep; n > t.Keep {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(p), nil
}

// String gives what is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-t.Keep):])
}
