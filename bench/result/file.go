package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// maxDocumentBytes bounds what is read as a document. An hour with a point a
// second is 1 MB.
const maxDocumentBytes = 256 << 20

// Write writes the document as indented JSON.
func (d *Document) Write(w io.Writer) error {
	whole := *d
	// Programs get empty lists, not null.
	if whole.Server.Bootstrap == nil {
		whole.Server.Bootstrap = []string{}
	}
	if whole.Errors == nil {
		whole.Errors = map[string]int64{}
	}
	if whole.Series == nil {
		whole.Series = []Point{}
	}
	if whole.Warnings == nil {
		whole.Warnings = []string{}
	}
	if whole.Verdict.Reasons == nil {
		whole.Verdict.Reasons = []string{}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&whole); err != nil {
		return fmt.Errorf("encode the result as JSON: %w", err)
	}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// Read reads one document.
func Read(r io.Reader) (*Document, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDocumentBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the result: %w", err)
	case len(text) > maxDocumentBytes:
		return nil, fmt.Errorf("more than %d bytes are no result", maxDocumentBytes)
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("not a result of ringmain bench: %w", err)
	}
	switch {
	case head.Format < 1:
		return nil, fmt.Errorf("not a result of ringmain bench: it has no format number")
	case head.Format > Format:
		return nil, fmt.Errorf("the result has format %d and this build reads up to %d; use a newer ringmain", head.Format, Format)
	}
	d := &Document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	return d, nil
}

// ReadFile is Read of a file.
func ReadFile(path string) (*Document, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// WriteFile is Write to a file, which is there as a whole or not at all. What is
// there already and is no file (a pipe, /dev/stdout) is written to as it is.
func (d *Document) WriteFile(path string) error {
	var buf bytes.Buffer
	if err := d.Write(&buf); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
		return nil
	}
	part := path + ".part"
	if err := os.WriteFile(part, buf.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		_ = os.Remove(part)
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
