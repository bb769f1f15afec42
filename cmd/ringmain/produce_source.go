package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ringmain/cmd/ringmain/internal/feed"
	"ringmain/cmd/ringmain/internal/line"
)

// source is the input: lines of standard input or of files, or whole files.
// total is its size in bytes, 0 when that is not known.
func (f *produceFlags) source(cmd *cobra.Command, files []string) (src feed.Source, total int64, err error) {
	sep, err := line.Separator(f.delimiter)
	if err != nil {
		return nil, 0, usagef("--delimiter: %w", err)
	}
	if len(files) == 0 {
		if f.wholeFiles {
			return nil, 0, usagef("--whole-files needs files")
		}
		return line.NewSplitter(cmd.InOrStdin(), sep, int(f.maxBytes)), 0, nil
	}
	for _, path := range files {
		// Before anything is sent: a name mistyped at the end of the list would
		// otherwise be noticed after half of the work.
		info, err := os.Stat(path)
		if err != nil {
			return nil, 0, fmt.Errorf("open the input: %w", err)
		}
		if info.IsDir() {
			return nil, 0, fmt.Errorf("open the input: %s is a directory", path)
		}
		if info.Mode().IsRegular() {
			total += info.Size()
		}
	}
	if f.wholeFiles {
		return &wholeFiles{paths: files, maxBytes: int64(f.maxBytes)}, total, nil
	}
	return &fileLines{paths: files, sep: sep, maxBytes: int(f.maxBytes)}, total, nil
}

// fileLines yields the lines of one file after the other. The end of a file
// ends a line.
type fileLines struct {
	paths    []string
	sep      string
	maxBytes int
	path     string
	file     *os.File
	regular  bool
	lines    *line.Splitter
}

// Next returns the next line.
func (l *fileLines) Next() ([]byte, error) {
	for {
		if l.file == nil {
			if len(l.paths) == 0 {
				return nil, io.EOF
			}
			l.path, l.paths = l.paths[0], l.paths[1:]
			file, err := os.Open(l.path)
			if err != nil {
				return nil, fmt.Errorf("open the input: %w", err)
			}
			info, err := file.Stat()
			l.regular = err == nil && info.Mode().IsRegular()
			l.file, l.lines = file, line.NewSplitter(file, l.sep, l.maxBytes)
		}
		text, err := l.lines.Next()
		switch {
		case err == nil:
			return text, nil
		case errors.Is(err, io.EOF):
			l.file.Close()
			l.file = nil
		default:
			return nil, fmt.Errorf("%s: %w", l.path, err)
		}
	}
}

// Waiting reports whether the next line may have to be waited for, which can be
// so when a file is a pipe or a terminal.
func (l *fileLines) Waiting() bool { return l.file != nil && !l.regular && l.lines.Waiting() }

// wholeFiles yields one file after the other.
type wholeFiles struct {
	paths    []string
	maxBytes int64
}

// Next returns the content of the next file.
func (w *wholeFiles) Next() ([]byte, error) {
	if len(w.paths) == 0 {
		return nil, io.EOF
	}
	path := w.paths[0]
	w.paths = w.paths[1:]
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the input: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, w.maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	if int64(len(data)) > w.maxBytes {
		return nil, fmt.Errorf("%s has more than %d bytes; raise --max-message-bytes (and the topic's max.message.bytes)", path, w.maxBytes)
	}
	return data, nil
}

// Waiting is false: files do not keep anybody waiting.
func (w *wholeFiles) Waiting() bool { return false }
