package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ringmain/coordinator"
	"ringmain/coordinator/lag"
)

// stand is a broker's groups.
type stand struct {
	groups  []lag.Group
	entries []lag.Entry
	err     error
}

func (s *stand) Groups(context.Context) ([]lag.Group, error) { return s.groups, s.err }

func (s *stand) Report(context.Context) (*lag.Report, error) {
	return &lag.Report{Entries: s.entries}, s.err
}

func entry(group, topic string, partition int32, records int64, seconds float64) lag.Entry {
	return lag.Entry{Commit: lag.Commit{Group: group, Topic: topic, Partition: partition, Offset: 5, TimeMs: 77},
		Bounds: lag.Bounds{Start: 1, End: 5 + records}, Records: records, Seconds: seconds}
}

func newStand() *stand {
	return &stand{
		groups: []lag.Group{{ID: "a/b", Type: "consumer", ProtocolType: "consumer", State: "Stable"}, {ID: "empty", Type: "classic", State: "Empty"}},
		entries: []lag.Entry{
			entry("a/b", "audit", 0, 0, 0), entry("a/b", "orders", 0, 10, 2.5), entry("a/b", "orders", 1, 20, 1),
		},
	}
}

// get reads a path into an object of JSON.
func (s *stand) get(t *testing.T, method, path string, wantStatus int, wantType string) map[string]any {
	t.Helper()
	mux := http.NewServeMux()
	Groups{Lister: s, Reporter: s}.Route(mux)
	rec := httptest.NewRecorder()
	mux.ServeHTTP(rec, httptest.NewRequest(method, path, nil))
	if rec.Code != wantStatus || rec.Header().Get("Content-Type") != wantType {
		t.Fatalf("%s %s: status %d, type %q, body %s", method, path, rec.Code, rec.Header().Get("Content-Type"), rec.Body)
	}
	var v map[string]any
	if strings.Contains(wantType, "json") {
		if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", rec.Body, err)
		}
	}
	return v
}

func TestListOfGroups(t *testing.T) {
	got := newStand().get(t, "GET", "/v1/groups", 200, "application/json")
	want := "map[groups:[map[group:a/b lag_records:30 lag_seconds:2.5 protocol_type:consumer state:Stable type:consumer] " +
		"map[group:empty lag_records:0 lag_seconds:0 protocol_type: state:Empty type:classic]]]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v", got)
	}
	if got := (&stand{}).get(t, "GET", "/v1/groups", 200, "application/json"); fmt.Sprint(got) != "map[groups:[]]" {
		t.Errorf("got %v", got)
	}
}

func TestLagOfOneGroup(t *testing.T) {
	s := newStand()
	got := s.get(t, "GET", "/v1/groups/a%2Fb/lag", 200, "application/json")
	topics := got["topics"].([]any)
	orders := topics[1].(map[string]any)
	if got["group"] != "a/b" || got["lag_records"] != 30.0 || len(topics) != 2 || orders["lag_records"] != 30.0 || orders["lag_seconds"] != 2.5 {
		t.Errorf("got %v", got)
	}
	want := "map[committed_ms:77 committed_offset:5 high_watermark:25 lag_records:20 lag_seconds:1 log_start_offset:1 partition:1]"
	if p := orders["partitions"].([]any)[1]; fmt.Sprint(p) != want {
		t.Errorf("got %v", p)
	}
	if got := s.get(t, "GET", "/v1/groups/empty/lag", 200, "application/json"); len(got["topics"].([]any)) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestProblems(t *testing.T) {
	s := newStand()
	got := s.get(t, "GET", "/v1/groups/gone/lag", 404, "application/problem+json")
	if got["error"] != "GROUP_ID_NOT_FOUND" || got["code"] != 69.0 || got["status"] != 404.0 || got["title"] != "Not Found" || got["type"] != "about:blank" || !strings.Contains(fmt.Sprint(got["detail"]), `"gone"`) {
		t.Errorf("got %v", got)
	}
	for err, name := range map[error]string{coordinator.ErrLoading: "COORDINATOR_LOAD_IN_PROGRESS", coordinator.ErrUnavailable: "COORDINATOR_NOT_AVAILABLE"} {
		s.err = err
		s.get(t, "GET", "/v1/groups/a%2Fb/lag", 200, "application/json") // it is known, whatever is not
		for _, path := range []string{"/v1/groups", "/v1/groups/gone/lag", "/v1/groups/empty/lag"} {
			if got := s.get(t, "GET", path, 503, "application/problem+json"); got["error"] != name {
				t.Errorf("%s: got %v", path, got)
			}
		}
	}
	s.get(t, "POST", "/v1/groups", 405, "text/plain; charset=utf-8")
}
