package metrics

import (
	"bufio"
	"fmt"
	"iter"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

func partitionsOf(n int) iter.Seq[Partition] {
	return func(yield func(Partition) bool) {
		for i := range n {
			if !yield(Partition{Topic: "t", Index: int32(i), LogEnd: int64(i)}) {
				return
			}
		}
	}
}

// full is a set in which every metric has a value.
func full(partitions, maxSeries int) *Set {
	s := New(2)
	s.Recorder(0).Request(0, time.Millisecond)
	s.Recorder(1).Request(0, time.Millisecond)
	s.Recorder(0).Request(18, time.Millisecond)
	s.Recorder(0).Error(0, 6)
	s.Recorder(0).Append(User, 10, 1000)
	s.Recorder(1).Append(Internal, 1, 100)
	s.Recorder(1).Fetch(User, 500)
	s.Observe(Sources{
		Ready: func() bool { return true },
		Network: func() Network {
			return Network{Connections: map[string]int64{"PLAINTEXT": 3}, Closed: map[string]uint64{"idle": 1}, Accepted: 4}
		},
		Storage:    func() Storage { return Storage{Topics: 1, Partitions: int64(partitions), LogBytes: 99} },
		Groups:     func() map[GroupState]int64 { return map[GroupState]int64{{Type: "classic", State: "Stable"}: 2} },
		Partitions: partitionsOf(partitions),
		MaxSeries:  maxSeries,
	})
	return s
}

func gather(t *testing.T, s *Set) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := NewRegistry(s, Build{Version: "1", Commit: "c", GoVersion: "go"}).Gather()
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]*dto.MetricFamily{}
	for _, f := range families {
		m[f.GetName()] = f
	}
	return m
}

var row = regexp.MustCompile("^\\| `(ringmain_[a-z_]+)` \\| (counter|gauge|histogram) \\| ([^|]*) \\|")

// The document is the contract: every name, type and label in it is in a
// scrape, and nothing else is.
func TestDocumentIsWhatAScrapeYields(t *testing.T) {
	f, err := os.Open("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	documented := map[string]string{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if m := row.FindStringSubmatch(sc.Text()); m != nil {
			documented[m[1]] = m[2] + " " + strings.Join(regexp.MustCompile("[a-z]+").FindAllString(m[3], -1), ",")
		}
	}
	scraped := map[string]string{}
	other := map[string]bool{}
	for name, family := range gather(t, full(2, 100)) {
		if !strings.HasPrefix(name, "ringmain_") {
			other[strings.SplitN(name, "_", 2)[0]] = true
			continue
		}
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		scraped[name] = strings.ToLower(family.GetType().String()) + " " + strings.Join(labels, ",")
	}
	if !other["go"] || !other["process"] {
		t.Errorf("collectors of Go and the process are missing: %v", other)
	}
	for name, kind := range scraped {
		want := strings.Split(documented[name], " ")
		if len(want) == 2 {
			labels := strings.Split(want[1], ",")
			slices.Sort(labels)
			want[1] = strings.Join(labels, ",")
		}
		if strings.Join(want, " ") != kind {
			t.Errorf("%s is %q in a scrape and %q in docs/metrics.md", name, kind, documented[name])
		}
	}
	for name := range documented {
		if scraped[name] == "" {
			t.Errorf("%s is in docs/metrics.md and not in a scrape", name)
		}
	}
}

func TestRequestsOfAllRecordersAreOneSeries(t *testing.T) {
	m := gather(t, full(0, 0))
	for _, series := range m["ringmain_requests_total"].GetMetric() {
		api := series.GetLabel()[0].GetValue()
		want := map[string]float64{"Produce": 2, "ApiVersions": 1}[api]
		if series.GetCounter().GetValue() != want {
			t.Errorf("%s: %v requests, want %v", api, series.GetCounter().GetValue(), want)
		}
	}
	h := m["ringmain_request_duration_seconds"].GetMetric()
	if len(h) != 2 || h[1].GetHistogram().GetSampleCount() != 2 {
		t.Errorf("histograms: %v", h)
	}
	e := m["ringmain_request_errors_total"].GetMetric()
	if len(e) != 1 || e[0].GetLabel()[1].GetValue() != "NOT_LEADER_FOR_PARTITION" {
		t.Errorf("errors: %v", e)
	}
}

func TestPartitionSeriesAreBounded(t *testing.T) {
	for _, c := range []struct{ partitions, maxSeries, shown, hidden int }{
		{10, 1000, 10, 0}, {10, 10 * seriesPerPartition, 10, 0}, {10, 10*seriesPerPartition - 1, 9, 1},
		{10, 0, 0, 10}, {100000, 60, 10, 99990},
	} {
		m := gather(t, full(c.partitions, c.maxSeries))
		series := 0
		for name, f := range m {
			if strings.HasPrefix(name, "ringmain_partition_") {
				series += len(f.GetMetric())
			}
		}
		if series != c.shown*seriesPerPartition {
			t.Errorf("%d partitions, limit %d: %d series", c.partitions, c.maxSeries, series)
		}
		if n := m["ringmain_partitions_not_shown"].GetMetric()[0].GetGauge().GetValue(); int(n) != c.hidden {
			t.Errorf("%d partitions, limit %d: %v not shown, want %d", c.partitions, c.maxSeries, n, c.hidden)
		}
	}
}

func TestScrapeWithoutSourcesAndWithBadLabels(t *testing.T) {
	s := New(1)
	if gather(t, s)["ringmain_partitions"] != nil {
		t.Error("partitions are shown before anybody knows them")
	}
	s.Observe(Sources{Network: func() Network { return Network{Connections: map[string]int64{"a\xff\"\n": 1}} }})
	rec := httptest.NewRecorder()
	Handler(NewRegistry(s, Build{})).ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if rec.Code != 200 || !strings.Contains(rec.Body.String(), `ringmain_connections{listener="a`+"\uFFFD"+`\"\n"} 1`) {
		t.Errorf("status %d, body %.300s", rec.Code, rec.Body)
	}
}

func TestEveryErrorAndAPIHasAName(t *testing.T) {
	seen := map[string]int16{}
	for code := int16(minCode); code <= maxCode; code++ {
		name := errorName(code)
		if other, twice := seen[name]; twice || name == "" {
			t.Errorf("codes %d and %d are both called %q", other, code, name)
		}
		seen[name] = code
	}
	names := map[string]bool{}
	for key := range int16(maxKey + 1) {
		if names[apiName(key)] {
			t.Errorf("key %d is called %q like another", key, apiName(key))
		}
		names[apiName(key)] = true
	}
	if got := fmt.Sprint(apiName(0), " ", apiName(1), " ", apiName(126), " ", errorName(190)); got != "Produce Fetch key_126 code_190" {
		t.Error(got)
	}
}
