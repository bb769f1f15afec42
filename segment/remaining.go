package segment

import "math"

// Behind is how many bytes lie behind a range, up to the log's end: what a
// fetch could have had if its limit were higher. Beyond the active segment it
// does not count but says "very many". Any goroutine.
func (l *Log) Behind(r Range) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.active()
	if r.File != a.file {
		return math.MaxInt64 / 2
	}
	return a.size - r.Off - int64(r.N)
}
