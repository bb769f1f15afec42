package facts

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Limits of a scrape.
const (
	scrapeWithin   = 5 * time.Second
	maxScrapeBytes = 64 << 20
	maxMetricLine  = 1 << 20
)

// Build is what a broker says of itself in its metrics.
type Build struct {
	Version string `json:"version,omitempty"`
	Commit  string `json:"commit,omitempty"`
}

// Scrape reads the usage of a broker from the metrics it publishes at url, in
// Prometheus's text format. The names are those of Ringmain (docs/metrics.md)
// and of Prometheus's client libraries; what a broker does not publish is
// Unknown.
func Scrape(ctx context.Context, url string) (Usage, Build, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Nothing(), Build{}, fmt.Errorf("read metrics: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Nothing(), Build{}, fmt.Errorf("read metrics: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Nothing(), Build{}, fmt.Errorf("read metrics: %s answers %s", url, resp.Status)
	}
	u, b, err := parseMetrics(io.LimitReader(resp.Body, maxScrapeBytes))
	if err != nil {
		err = fmt.Errorf("read metrics of %s: %w", url, err)
	}
	return u, b, err
}

func parseMetrics(r io.Reader) (Usage, Build, error) {
	u, build := Nothing(), Build{}
	add := func(to *int64, v float64) {
		*to = max(*to, 0) + int64(math.Round(v))
	}
	cpu, any := 0.0, false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMetricLine)
	for lines.Scan() {
		name, labels, value, ok := sample(lines.Text())
		if !ok {
			continue
		}
		any = true
		switch name {
		case "process_cpu_seconds_total":
			cpu += value
			u.CPU = time.Duration(cpu * float64(time.Second))
		case "process_resident_memory_bytes":
			add(&u.RSSBytes, value)
		case "ringmain_syncs_total":
			add(&u.Syncs, value)
		case "ringmain_appended_bytes_total":
			add(&u.Appended, value)
		case "ringmain_requests_total":
			add(&u.Requests, value)
		case "ringmain_build_info":
			build = Build{Version: label(labels, "version"), Commit: label(labels, "commit")}
		}
	}
	if err := lines.Err(); err != nil {
		return u, build, err
	}
	if !any {
		return u, build, fmt.Errorf("there are no metrics in the answer")
	}
	return u, build, nil
}

// sample splits a line `name{labels} value`; comments are not ok.
func sample(line string) (name, labels string, value float64, ok bool) {
	if line == "" || line[0] == '#' {
		return "", "", 0, false
	}
	if end := strings.LastIndexByte(line, '}'); end >= 0 {
		head, _, found := strings.Cut(line[:end], "{")
		if !found {
			return "", "", 0, false
		}
		name, labels, line = head, line[len(head)+1:end], line[end+1:]
	} else {
		name, line, ok = strings.Cut(line, " ")
		if !ok {
			return "", "", 0, false
		}
	}
	fields := strings.Fields(line) // the value, and perhaps a time
	if len(fields) == 0 {
		return "", "", 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return name, labels, value, err == nil && !math.IsNaN(value)
}

// label finds one label. Values with escapes in them are left as they are: those
// asked for have none.
func label(labels, name string) string {
	for _, pair := range strings.Split(labels, ",") {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}
