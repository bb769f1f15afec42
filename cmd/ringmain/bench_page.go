package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ringmain/bench/result"
	"ringmain/perf"
	"ringmain/perf/report"
)

// namedDocument is a result and what it is called beside others.
type namedDocument struct {
	name string
	doc  *result.Document
}

// savePage writes results as a page of HTML.
func savePage(path, title string, documents []namedDocument, c *perf.Comparison) error {
	facts := currentBuild()
	page := report.Page{
		Title:      "ringmain bench: " + cmp.Or(title, "results"),
		Made:       time.Now(),
		Tool:       fmt.Sprintf("ringmain %s (%s)", facts.Version, facts.Commit),
		Comparison: c,
	}
	for _, d := range documents {
		page.Runs = append(page.Runs, report.FromDocument(d.name, d.doc))
	}
	return saveFile(path, func(w io.Writer) error { return report.Write(w, page) })
}

// saveFile writes a file once its whole text is there.
func saveFile(path string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// writable checks, before time is spent on what will be in them, that files can
// be written. It is told their paths by the flags that name them.
func writable(paths map[string]string) error {
	taken := map[string]string{}
	for flag, path := range paths {
		if path == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return usagef("--%s %s: the directory %s is not there; make it first", flag, path, filepath.Dir(path))
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return usagef("--%s %s is a directory; name a file", flag, path)
		}
		if other, twice := taken[filepath.Clean(path)]; twice {
			return usagef("--%s and --%s are the same file, %s", min(flag, other), max(flag, other), path)
		}
		taken[filepath.Clean(path)] = flag
	}
	return nil
}

// names are short names for files, unlike each other: their base names, or their
// paths where two have the same.
func names(paths []string) []string {
	short := func(path string) string { return strings.TrimSuffix(filepath.Base(path), ".json") }
	times := map[string]int{}
	for _, p := range paths {
		times[short(p)]++
	}
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = short(p)
		if times[out[i]] > 1 {
			out[i] = p
		}
	}
	return out
}
