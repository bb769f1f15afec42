package result

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ringmain/bench/facts"
	"ringmain/bench/latency"
	"ringmain/bench/workload"
)

// example has something in every field.
func example(t *testing.T) *Document {
	t.Helper()
	r := latency.NewRecorder()
	for i := range 1000 {
		at := time.Duration(i) * time.Microsecond
		r.Record(0, at/2, 300*time.Microsecond+at)
	}
	var s latency.Snapshot
	r.Drain(&s)
	l, err := LatencyOf(&s)
	if err != nil {
		t.Fatal(err)
	}
	number, count := 1.5, int64(12)
	rates := Rates{Records: 1000, Bytes: 1e6, Requests: 100}
	section := &Section{Records: 10_000, Bytes: 1e7, Requests: 1000, Reached: rates, Latency: l}
	return &Document{
		Format: Format, Tool: Build{"1", "abc", "go1.26", "linux/amd64"}, When: time.Unix(1_700_000_000, 0).UTC(),
		Machine: facts.Machine{CPU: "a <fast> one", Cores: 2, MemoryBytes: 1 << 30, System: "Linux", Kernel: "6", Platform: "linux/amd64", Virtual: "kvm"},
		Storage: &facts.Storage{Filesystem: "ext4", Options: "rw", Device: "/dev/vda", Model: "disk", Rotational: true, InMemory: true},
		Server: Server{
			Bootstrap: []string{"127.0.0.1:9092"}, Brokers: 1, ClusterID: "c", Software: "ringmain", Version: "1", Commit: "abc",
			Commands: []string{"ringmain serve"}, Config: map[string]string{"log.dirs": "/data"},
		},
		Workload: workload.Defaults(workload.EndToEnd), ClosedLoop: true, Seconds: 10, Asked: &rates, Reached: rates, Latency: l,
		Produce: section, Fetch: section, EndToEnd: section, Connect: section,
		Idle: &Idle{Connections: 10, OpenSeconds: 1, BytesPerConnection: &number, Lost: 1},
		Costs: Costs{
			ClientCPU: 1, ServerCPU: &number, ServerCPUPerGB: &number, ServerCPUPerRequest: &number, ServerRSS: &count, ServerPeakRSS: &count,
			ServerSwitches: &count, ServerThreads: &count, DiskWritten: &count, DiskWrittenPerByteIn: &number, Syncs: &count, ClientRSS: &count, ClientSwitches: &count,
		},
		Audit:  &Audit{Acked: 1, Seen: 2, Lost: 3, Duplicated: 4, OutOfOrder: 5, Corrupt: 6},
		Errors: map[string]int64{"NOT_LEADER_FOR_PARTITION": 2}, Floor: &Floor{P50: 40, P99: 90},
		Series:  []Point{{Second: 1, Records: 1, Bytes: 1, Requests: 1, P50: 1, P99: 1, Max: 1, Errors: 1, ServerCPU: &number, ServerRSS: &count}},
		Knee:    &Knee{SLO: "p99=10ms", Found: true, Held: rates, Broke: &rates, MaxRate: &rates, Width: 0.05},
		Curve:   []CurvePoint{{Asked: &rates, Reached: rates, Corrected: s.Corrected(), Uncorrected: s.Uncorrected(), LateSends: 1, ServerCPU: &number, Holds: true, Why: "-", Confirms: true, Errors: 1}},
		Verdict: Verdict{OK: true, Reasons: []string{"none"}}, Warnings: []string{"short"},
	}
}

func TestADocumentComesBackTheSame(t *testing.T) {
	d := example(t)
	path := filepath.Join(t.TempDir(), "run.json")
	if err := d.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	again, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d, again) {
		t.Errorf("wrote\n%+v\nread\n%+v", d, again)
	}
	s, err := again.Latency.Snapshot()
	if err != nil || s.Corrected() != d.Latency.Corrected || s.Uncorrected() != d.Latency.Uncorrected {
		t.Errorf("the histograms give %+v (%v)", s.Corrected(), err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("something else is left: %v", files)
	}
}

// The page is the contract with those who read documents by program.
func TestThePageDescribesEveryField(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := example(t).Write(&text); err != nil {
		t.Fatal(err)
	}
	var whole any
	if err := json.Unmarshal(text.Bytes(), &whole); err != nil {
		t.Fatal(err)
	}
	free := map[string]bool{"config": true, "errors": true} // their keys are the servers'
	var walk func(v any, path string)
	walk = func(v any, path string) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if !strings.Contains(string(page), "`"+key+"`") {
					t.Errorf("docs/format/bench.md does not describe `%s` (in %s)", key, path)
				}
				if !free[key] {
					walk(value, path+"."+key)
				}
			}
		case []any:
			for _, item := range v {
				walk(item, path)
			}
		}
	}
	walk(whole, "")
}

func TestAnEmptyDocumentHasListsAndNoNulls(t *testing.T) {
	var text bytes.Buffer
	if err := (&Document{Format: Format, Workload: workload.Defaults(workload.Produce)}).Write(&text); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "null") {
		t.Errorf("there is a null in\n%s", text.String())
	}
}

func TestWhatIsNoResultIsRefused(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "not a result"}, {"hello", "not a result"}, {"{}", "no format number"}, {"[]", "not a result"},
		{`{"format": 99}`, "use a newer ringmain"}, {`{"format": 1, "seconds": "ten"}`, "seconds"},
	} {
		if _, err := Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, want it to say %q", c.text, err, c.says)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.json")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}
