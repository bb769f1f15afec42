package conformance

import (
	"path/filepath"
	"reflect"
	"testing"
)

func TestGoldenFilesRoundTripAndJoinEqualVersions(t *testing.T) {
	g := golden{}
	same := []step{{"a", map[string]any{"Offset": int64(1) << 60, "Topic": "<x>"}}, {"", "closed"}}
	g.add("s", 3, same)
	g.add("s", 4, same)
	g.add("s", 5, []step{{"a", map[string]any{"Offset": int64(2)}}})
	if n := len(g["s"]); n != 2 || g["s"][0].from != 3 || g["s"][0].to != 4 {
		t.Fatalf("%+v", g["s"])
	}
	path := filepath.Join(t.TempDir(), "golden", "x.json")
	if err := g.write(path); err != nil {
		t.Fatal(err)
	}
	again, err := readGolden(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, again) {
		t.Fatalf("written %+v, read %+v", g, again)
	}
	if _, ok := again.at("s", 6); ok {
		t.Fatal("a version that was not recorded")
	}
}

func TestDiffNamesTheField(t *testing.T) {
	kafka := decode([]byte(`{"Topics":[{"Partitions":[{"ErrorCode":3}]}],"Configs":[{"Name":"a","Value":"1"},{"Name":"b"}]}`))
	our := decode([]byte(`{"Topics":[{"Partitions":[{}]}],"Configs":[{"Name":"b"},{"Name":"c"}]}`))
	var got []string
	for _, d := range diff("", kafka, our) {
		got = append(got, d.String())
	}
	want := []string{
		`Configs[a]: Kafka {"Name":"a","Value":"1"}, ours nothing (zero or null)`,
		`Configs[c]: Kafka nothing (zero or null), ours {"Name":"c"}`,
		`Topics[0].Partitions[0].ErrorCode: Kafka 3, ours nothing (zero or null)`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %q", got)
	}
}

// Every API, scenario and version must have been recorded: one that was forgotten
// would otherwise only show where a broker runs.
func TestEverythingIsRecorded(t *testing.T) {
	for _, a := range apis {
		g, err := readGolden(goldenPath(a))
		if err != nil {
			t.Error(err)
			continue
		}
		covered := map[int16]bool{}
		for _, sc := range a.scenarios {
			for v := sc.first(a); v <= sc.last(a); v++ {
				covered[v] = true
				if _, ok := g.at(sc.name, v); !ok {
					t.Errorf("%s v%d %q is not recorded", a.name, v, sc.name)
				}
			}
		}
		for v := a.min; v <= a.max; v++ {
			if !covered[v] {
				t.Errorf("%s v%d has no scenario", a.name, v)
			}
		}
	}
}
