package main

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/cmd/ringmain/internal/line"
)

// linePrinter prints by a format string.
type linePrinter struct{ format *line.Format }

func (p linePrinter) Record(dst []byte, r *kgo.Record) ([]byte, error) {
	return p.format.Append(dst, r), nil
}

func (linePrinter) Close(dst []byte) []byte { return dst }

// jsonLinePrinter prints one JSON object per line.
type jsonLinePrinter struct{}

func (jsonLinePrinter) Record(dst []byte, r *kgo.Record) ([]byte, error) {
	dst, err := line.AppendEnvelope(dst, r)
	return append(dst, '\n'), err
}

func (jsonLinePrinter) Close(dst []byte) []byte { return dst }

// arrayPrinter prints one JSON array, record by record: a topic does not fit
// into memory, and the document is complete once the command ends.
type arrayPrinter struct{ started bool }

func (p *arrayPrinter) Record(dst []byte, r *kgo.Record) ([]byte, error) {
	if p.started {
		dst = append(dst, ",\n  "...)
	} else {
		dst = append(dst, "[\n  "...)
		p.started = true
	}
	return line.AppendEnvelope(dst, r)
}

func (p *arrayPrinter) Close(dst []byte) []byte {
	if !p.started {
		return append(dst, "[]\n"...)
	}
	return append(dst, "\n]\n"...)
}

// escapePercent makes a separator safe inside a format string.
func escapePercent(s string) string { return strings.ReplaceAll(s, "%", "%%") }
