package workload

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEveryBuiltinWorkloadIsValidAndComesBackTheSame(t *testing.T) {
	names := Builtin()
	if len(names) < 13 {
		t.Fatalf("there are only %d: %v", len(names), names)
	}
	for _, name := range names {
		s, err := Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.Name != name || s.Description == "" {
			t.Errorf("%s: its name is %q, its description %q", name, s.Name, s.Description)
		}
		var file bytes.Buffer
		if err := s.Write(&file); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(&file)
		if err != nil {
			t.Errorf("%s: what Write wrote cannot be read: %v", name, err)
		}
		if !reflect.DeepEqual(s, again) {
			t.Errorf("%s: YAML:\n%+v\n%+v", name, s, again)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var third Spec
		if err := json.Unmarshal(text, &third); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s, third) {
			t.Errorf("%s: JSON:\n%+v\n%+v", name, s, third)
		}
	}
}

func TestAFileSaysOnlyWhatIsDifferent(t *testing.T) {
	s, err := Parse(strings.NewReader("kind: produce\nacks: all\nrate: 20MB\nbatch_bytes: 16KiB\nrecord_size: 100\nwarm_up: 1s\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults(Produce)
	want.Rate, want.BatchBytes, want.Record, want.WarmUp = Rate{Bytes: 20e6}, 16<<10, Fixed(100), time.Second
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got\n%+v, want\n%+v", s, want)
	}
}

func TestWrongFilesAreRefusedByName(t *testing.T) {
	for _, c := range []struct{ file, says string }{
		{"kind: produce\nconections: 8\n", "line 2: key conections is not known"},
		{"\nkind: bake\n", `line 2: kind "bake" is not known`},
		{"kind: [produce]\n", `line 1: kind "" is not known`},
		{"acks: 1\n", "there is no kind"},
		{"", "there is no kind"},
		{"~\n", "there is no kind"},
		{"- kind: produce\n", "line 1: a workload is keys with values"},
		{"kind: produce\nacks: 2\n", `line 2: acks: acks "2" is not all, 1 or 0`},
		{"kind: produce\n\nduration: 20\n", `line 3: duration: "20" is not a duration`},
		{"kind: produce\npartitions: many\n", `line 2: partitions: "many" is not a whole number`},
		{"kind: produce\npartitions: 3.5\n", `line 2: partitions: "3.5" is not a whole number`},
		{"kind: produce\npartitions: [3]\n", "line 2: partitions: one value belongs here"},
		{"kind: produce\nidempotent: maybe\n", `line 2: idempotent: "maybe" does not fit: produce with producer ids`},
		{"kind: produce\ncompressibility: half\n", `line 2: compressibility: "half" does not fit: share of`},
		{"kind: produce\ntopic_config: 5\n", `line 2: topic_config: "5" does not fit`},
		{"kind: produce\ntopic_config:\n  a: [1]\n", "line 3: topic_config: each key of a topic's configuration has one value"},
		{"kind: produce\nrate: 0\n", "line 2: rate: rate \"0\": a load needs a rate above 0; max is the one without bound"},
		{"kind: produce\nconnections: 0\n", "connections 0 is not from 1 to"},
		{"kind: produce\nkind: fetch\n", "line 2: key kind is in line 1 already"},
		{"kind: produce\n---\nkind: fetch\n", "second document"},
		{"kind: produce\nrecord_size: uniform:9:1\n", "line 2: record_size: record size \"uniform:9:1\": the low bound 9 is above"},
		{"kind: produce\nrate: [1\n", "did not find expected"},
		{"kind: produce\nacks: 7\nlinger: soon\nspeed: 1\n", "line 4: key speed is not known"}, // and the others
	} {
		_, err := Parse(strings.NewReader(c.file))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: got %v, want it to say %q", c.file, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "workload.") {
			t.Errorf("%q: %v names a Go type", c.file, err)
		}
	}
	if _, err := Load("produce-64"); err == nil || !strings.Contains(err.Error(), "produce-64k") {
		t.Errorf("a name that is not known: %v", err)
	}
}

func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	s := Defaults(Produce)
	s.Acks, s.Idempotent, s.Codec, s.InFlight = 1, true, "lzma", 0
	err := s.Validate()
	for _, says := range []string{"idempotent needs acks", `codec "lzma"`, "in_flight 0"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
}
