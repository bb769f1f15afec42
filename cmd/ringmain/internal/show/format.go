package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Format is how a command prints its result.
type Format string

// The two formats.
const (
	Table Format = "table"
	JSON  Format = "json"
)

// ParseFormat reads the value of --output.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Table, JSON:
		return f, nil
	}
	return "", fmt.Errorf("--output %q is not known; use table or json", s)
}

// Document writes v as one indented JSON document with a newline at its end.
// Characters that only HTML cares about stay as they are.
func Document(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode the result as JSON: %w", err)
	}
	_, err := w.Write(buf.Bytes())
	return err
}
