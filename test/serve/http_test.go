package serve

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"ringmain/test/harness"
)

func get(t *testing.T, url string) (status int, header http.Header, body string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	b := harness.StartOwn(t, harness.Options{HTTP: "127.0.0.1:0"})
	base := "http://" + b.Ready("http")
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/no/such/thing": 404} {
		if status, _, _ := get(t, base+path); status != want {
			t.Errorf("GET %s: status %d, want %d", path, status, want)
		}
	}
	resp, err := http.Post(base+"/metrics", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /metrics: status %d", resp.StatusCode)
	}
}

var sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})? (NaN|[+-]?Inf|[-+0-9.eE]+)$`)

// scrape reads /metrics, checks each line's form, and returns sums by name and
// by name with labels.
func scrape(t *testing.T, base string) map[string]float64 {
	t.Helper()
	status, header, body := get(t, base+"/metrics")
	if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
		t.Fatalf("GET /metrics: status %d, content type %q", status, header.Get("Content-Type"))
	}
	values := map[string]float64{}
	for s := bufio.NewScanner(strings.NewReader(body)); s.Scan(); {
		line := s.Text()
		if strings.HasPrefix(line, "# HELP ") || strings.HasPrefix(line, "# TYPE ") {
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("not a line of Prometheus text: %q", line)
			continue
		}
		var v float64
		fmt.Sscan(m[3], &v)
		values[m[1]] += v
		if m[2] != "" {
			values[m[1]+m[2]] = v
		}
	}
	return values
}

func TestMetricsSayWhatHappened(t *testing.T) {
	t.Parallel()
	b := harness.StartOwn(t, harness.Options{HTTP: "127.0.0.1:0"})
	base := "http://" + b.Ready("http")
	create(t, b.Addr(), "orders", 2)
	produce(t, b.Addr(), "orders", 1, "a", "b", "c")
	read(t, b.Addr(), "orders", 1, 3)
	v := scrape(t, base)
	for name, want := range map[string]float64{
		"ringmain_ready":                              1,
		"ringmain_build_info":                         1,
		"ringmain_topics":                             1,
		"ringmain_partitions":                         2,
		"ringmain_partitions_offline":                 0,
		"ringmain_appends_total":                      3,
		"ringmain_appended_records_total":             3,
		`ringmain_requests_total{api="CreateTopics"}`: 1,
		`ringmain_requests_total{api="Produce"}`:      3,
		`ringmain_partition_log_end_offset{partition="1",topic="orders"}`:               3,
		`ringmain_partition_high_watermark{partition="1",topic="orders"}`:               3,
		`ringmain_partition_log_end_offset{partition="0",topic="orders"}`:               0,
		`ringmain_request_duration_seconds_count{api="Produce"}`:                        3,
		"ringmain_partitions_not_shown":                                                 0,
		"ringmain_append_errors_total":                                                  0,
		"ringmain_sync_errors_total":                                                    0,
		"ringmain_connections_rejected_total":                                           0,
		`ringmain_request_errors_total{api="Produce",error="NOT_LEADER_FOR_PARTITION"}`: 0,
	} {
		if got := v[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"ringmain_appended_bytes_total", "ringmain_fetched_bytes_total", "ringmain_connections_accepted_total",
		"ringmain_network_received_bytes_total", "ringmain_network_sent_bytes_total", "ringmain_log_bytes", "ringmain_syncs_total",
		"process_resident_memory_bytes", "go_goroutines"} {
		if v[name] <= 0 {
			t.Errorf("%s is %v after some work", name, v[name])
		}
	}
}

// TestMetricsAreThePages compares a scrape of the binary with docs/metrics.md,
// in both directions.
func TestMetricsAreThePages(t *testing.T) {
	t.Parallel()
	alert := "ringmain.lag.alert.page."
	b := harness.StartOwn(t, harness.Options{HTTP: "127.0.0.1:0", Overrides: []string{alert + "group=.*", alert + "records=0", alert + "webhook=http://127.0.0.1:1/"}})
	create(t, b.Addr(), "t", 1)
	produce(t, b.Addr(), "t", 0, "x")
	if m := describe(t, b.Addr(), "missing"); m.Err == nil { // an error to count
		t.Error("a topic that does not exist is described")
	}
	commit(t, b.Addr(), "g", "t", 0, 1) // a group to count
	_, _, body := get(t, "http://"+b.Ready("http")+"/metrics")
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented, served := map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(ringmain_[a-z_]+)` \\| ([a-z]+) \\|").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (ringmain_[a-z_]+) ([a-z]+)$`).FindAllStringSubmatch(body, -1) {
		served[m[1]] = m[2]
	}
	for name, kind := range served {
		if documented[name] != kind {
			t.Errorf("%s is a %s; docs/metrics.md says %q", name, kind, documented[name])
		}
	}
	for name := range documented {
		if served[name] == "" {
			t.Errorf("docs/metrics.md has %s, a scrape does not", name)
		}
	}
}

func TestScrapesUnderLoad(t *testing.T) {
	t.Parallel()
	b := harness.StartOwn(t, harness.Options{HTTP: "127.0.0.1:0", Overrides: []string{"ringmain.metrics.max.series=60"}})
	base := "http://" + b.Ready("http")
	create(t, b.Addr(), "t", 20)
	stop := make(chan struct{})
	var load sync.WaitGroup
	load.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				produce(t, b.Addr(), "t", int32(i%20), "x", "y", "z")
			}
		}
	})
	var last float64
	for range 20 {
		v := scrape(t, base)
		if v["ringmain_appended_records_total"] < last {
			t.Errorf("a counter went from %v to %v", last, v["ringmain_appended_records_total"])
		}
		last = v["ringmain_appended_records_total"]
		if v["ringmain_partitions_not_shown"] != 10 {
			t.Errorf("with 60 series of 6 for each partition, %v of 20 are not shown", v["ringmain_partitions_not_shown"])
		}
	}
	close(stop)
	load.Wait()
}

func TestHTTPPortInUseStopsTheStart(t *testing.T) {
	t.Parallel()
	addr := occupied(t)
	refused(t, t.TempDir(), 1, []string{addr, "HTTP", "--http", "in use"}, "--listen", "127.0.0.1:0", "--http", addr)
}
