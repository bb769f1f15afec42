package show

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Gauge draws work that knows itself how far it is, with figures that change,
// on a terminal only. All methods may be called on a nil *Gauge, which draws
// nothing.
type Gauge struct {
	mu    sync.Mutex
	w     io.Writer
	last  time.Time
	label string
	drawn bool
	now   func() time.Time
}

// NewGauge returns a gauge on w, or nil when w is not a terminal.
func NewGauge(w io.Writer) *Gauge {
	if !Terminal(w) {
		return nil
	}
	return &Gauge{w: w, now: time.Now}
}

// Show draws a bar for share (0 to 1) between a label and figures when it is
// time, and at once when the label is a new one.
func (g *Gauge) Show(label string, share float64, figures string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if label == g.label && now.Sub(g.last) < redrawMs*time.Millisecond {
		return
	}
	g.last, g.label, g.drawn = now, label, true
	const width = 20
	share = max(0, min(share, 1))
	filled := int(share * width)
	fmt.Fprintf(g.w, "\r\x1b[K%s  [%s%s] %3.0f%%  %s", Plain(label),
		strings.Repeat("=", filled), strings.Repeat(" ", width-filled), share*100, Plain(figures))
}

// Stop wipes the bar, so that the result starts on a clean line.
func (g *Gauge) Stop() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.drawn {
		fmt.Fprint(g.w, "\r\x1b[K")
		g.drawn = false
	}
}
