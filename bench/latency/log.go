package latency

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Tags of the two lines of each interval in a log.
const (
	TagCorrected   = "corrected"
	TagUncorrected = "uncorrected"
)

// Log writes interval histograms in HdrHistogram's log format 1.3, which
// HdrHistogram's own tools and others read. For one goroutine.
type Log struct {
	w     io.Writer
	start time.Time
}

// NewLog writes the head of a log of a run that began at start. A comment can
// have any number of lines.
func NewLog(w io.Writer, start time.Time, comment string) (*Log, error) {
	l := &Log{w: w, start: start}
	lw := hdrhistogram.NewHistogramLogWriter(w)
	for c := range strings.Lines(comment) {
		if err := lw.OutputComment(strings.TrimRight(c, "\r\n")); err != nil {
			return nil, l.failed(err)
		}
	}
	for _, write := range []func() error{
		func() error {
			return lw.OutputComment("Values are microseconds; the third column is the maximum in milliseconds.")
		},
		lw.OutputLogFormatVersion,
		func() error { return l.stamp("StartTime") },
		func() error { return l.stamp("BaseTime") },
		lw.OutputLegend,
	} {
		if err := write(); err != nil {
			return nil, l.failed(err)
		}
	}
	return l, nil
}

// stamp writes the start as seconds with milliseconds. The library's own line
// has whole seconds, which moves every interval of a reader by up to a second.
func (l *Log) stamp(name string) error {
	_, err := fmt.Fprintf(l.w, "#[%s: %.3f (seconds since epoch), %s]\n", name,
		float64(l.start.UnixMilli())/1000, l.start.UTC().Format(time.RFC3339))
	return err
}

// Interval writes two lines, one for each histogram. An interval without
// operations is written too: that nothing was done is a fact of the run.
func (l *Log) Interval(from, to time.Time, s *Snapshot) error {
	if s.corrected == nil {
		s = &Snapshot{}
		s.prepare()
	}
	for _, line := range []struct {
		tag string
		h   *hdrhistogram.Histogram
	}{{TagCorrected, s.corrected}, {TagUncorrected, s.uncorrected}} {
		text, err := line.h.EncodeV2()
		if err != nil {
			return l.failed(err)
		}
		// Not the library's own line: it takes values for nanoseconds.
		_, err = fmt.Fprintf(l.w, "Tag=%s,%.3f,%.3f,%.3f,%s\n", line.tag,
			from.Sub(l.start).Seconds(), to.Sub(from).Seconds(), float64(line.h.Max())/1000, text)
		if err != nil {
			return l.failed(err)
		}
	}
	return nil
}

func (l *Log) failed(err error) error { return fmt.Errorf("write the histogram log: %w", err) }
