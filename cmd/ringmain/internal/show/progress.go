package show

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// redrawMs bounds how often the bar is drawn: a terminal that shows more than
// a few frames a second only costs time.
const redrawMs = 200

// Progress draws how far long work is, on a terminal only. All methods may be
// called on a nil *Progress, which draws nothing.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	label string
	unit  string
	total int64 // 0: unknown
	done  int64
	start time.Time
	last  time.Time
	drawn bool
	now   func() time.Time
}

// NewProgress returns a bar on w, or nil when w is not a terminal. total is in
// units; 0 means that nobody knows.
func NewProgress(w io.Writer, label, unit string, total int64) *Progress {
	if !Terminal(w) {
		return nil
	}
	return newProgress(w, label, unit, total, time.Now)
}

func newProgress(w io.Writer, label, unit string, total int64, now func() time.Time) *Progress {
	t := now()
	return &Progress{w: w, label: label, unit: unit, total: total, start: t, last: t, now: now}
}

// Add counts n more units as done and redraws when it is time.
func (p *Progress) Add(n int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if now := p.now(); now.Sub(p.last) >= redrawMs*time.Millisecond {
		p.last = now
		p.draw(now)
	}
}

// Stop wipes the bar, so that the result starts on a clean line.
func (p *Progress) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

func (p *Progress) draw(now time.Time) {
	p.drawn = true
	rate := float64(p.done) / max(now.Sub(p.start).Seconds(), 0.001)
	if p.total <= 0 {
		fmt.Fprintf(p.w, "\r\x1b[K%s  %s %s  %s/s", p.label, Count(p.done), p.unit, Count(int64(rate)))
		return
	}
	const width = 30
	share := min(float64(p.done)/float64(p.total), 1)
	filled := int(share * width)
	fmt.Fprintf(p.w, "\r\x1b[K%s  [%s%s] %3.0f%%  %s of %s %s  %s/s", p.label,
		strings.Repeat("=", filled), strings.Repeat(" ", width-filled), share*100,
		Count(p.done), Count(p.total), p.unit, Count(int64(rate)))
}

// Terminal reports whether w is a terminal (or another character device).
func Terminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Count shortens a number for people: 950, 12.3k, 4.5M, 1.2G.
func Count(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1fG", float64(n)/1e9)
}
