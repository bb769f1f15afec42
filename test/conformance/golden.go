package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
)

// transcript is what one scenario was answered at versions from..to, which were
// all answered alike.
type transcript struct {
	from, to int16
	steps    []step
}

// golden is the content of one golden file: the transcripts of each scenario of an API.
type golden map[string][]transcript

func goldenPath(a api) string {
	return filepath.Join("testdata", "golden", fmt.Sprintf("%02d_%s.json", a.key, a.name))
}

// at returns the transcript for a version.
func (g golden) at(scenario string, version int16) ([]step, bool) {
	for _, t := range g[scenario] {
		if t.from <= version && version <= t.to {
			return t.steps, true
		}
	}
	return nil, false
}

// add appends what a version was answered; versions must rise.
func (g golden) add(scenario string, version int16, steps []step) {
	steps = plain(steps)
	list := g[scenario]
	if n := len(list); n > 0 && list[n-1].to == version-1 && reflect.DeepEqual(list[n-1].steps, steps) {
		list[n-1].to = version
		return
	}
	g[scenario] = append(list, transcript{version, version, steps})
}

// plain brings answers to the form that they have after being written and read.
func plain(steps []step) []step {
	out := make([]step, len(steps))
	for i, st := range steps {
		b, err := json.Marshal(st.answer)
		if err != nil {
			panic(err) // only plain values are recorded
		}
		out[i] = step{st.name, decode(b)}
	}
	return out
}

func decode(b []byte) any {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // offsets may not fit a float
	var x any
	if err := d.Decode(&x); err != nil {
		panic(err)
	}
	return x
}

// write stores the file with one answer a line, so that a change reads well.
func (g golden) write(path string) error {
	var names []string
	for n := range g {
		names = append(names, n)
	}
	sort.Strings(names)
	var b bytes.Buffer
	b.WriteString("{\n")
	for i, n := range names {
		fmt.Fprintf(&b, "%s: [\n", quote(n))
		for j, t := range g[n] {
			fmt.Fprintf(&b, " {\"versions\": [%d, %d], \"steps\": [\n", t.from, t.to)
			for k, st := range t.steps {
				fmt.Fprintf(&b, "  [%s, %s]%s\n", quote(st.name), quote(st.answer), comma(k, len(t.steps)))
			}
			fmt.Fprintf(&b, " ]}%s\n", comma(j, len(g[n])))
		}
		fmt.Fprintf(&b, "]%s\n", comma(i, len(names)))
	}
	b.WriteString("}\n")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func comma(i, n int) string {
	if i == n-1 {
		return ""
	}
	return ","
}

func quote(x any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

func readGolden(path string) (golden, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var raw map[string][]struct {
		Versions [2]int16
		Steps    [][2]json.RawMessage
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	g := golden{}
	for name, list := range raw {
		for _, r := range list {
			t := transcript{from: r.Versions[0], to: r.Versions[1]}
			for _, st := range r.Steps {
				var label string
				if err := json.Unmarshal(st[0], &label); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", path, name, err)
				}
				t.steps = append(t.steps, step{label, decode(st[1])})
			}
			g[name] = append(g[name], t)
		}
	}
	return g, nil
}
