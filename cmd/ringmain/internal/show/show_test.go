package show

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestGridAlignsNumbersRight(t *testing.T) {
	g := NewGrid("TOPIC", "PARTITIONS", "END")
	g.Row("orders", 3, "-")
	g.Row("a-much-longer-name", 12, 1500)
	var out bytes.Buffer
	if err := g.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"TOPIC               PARTITIONS   END\n" +
		"orders                       3     -\n" +
		"a-much-longer-name          12  1500\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestGridKeepsControlCharactersOffTheTerminal(t *testing.T) {
	g := NewGrid("KEY", "VALUE")
	g.Row("k", "a\x1b[2Jb\nc")
	g.Row("short")
	var out bytes.Buffer
	_ = g.Write(&out)
	if strings.Contains(out.String(), "\x1b") || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("control characters got through: %q", out.String())
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", `say "x"`: `say "x"`, "ünï": "ünï", "a\tb": `a\tb`, "\xff\"": `\xff"`, "": ""} {
		if got := Plain(in); got != want {
			t.Errorf("Plain(%q) = %q; want %q", in, got, want)
		}
	}
}

func TestDocumentIsOneLineEndedDocument(t *testing.T) {
	var out bytes.Buffer
	if err := Document(&out, map[string]string{"a": "<b>&"}); err != nil || out.String() != "{\n  \"a\": \"<b>&\"\n}\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if err := Document(&out, func() {}); err == nil {
		t.Error("a function became JSON")
	}
}

func TestProgressDrawsAtMostSoOften(t *testing.T) {
	now := time.Unix(0, 0)
	var out bytes.Buffer
	p := newProgress(&out, "produce", "records", 1000, func() time.Time { return now })
	p.Add(100)
	if out.Len() != 0 {
		t.Fatalf("drew at once: %q", out.String())
	}
	now = now.Add(time.Second)
	p.Add(400)
	if got := out.String(); !strings.Contains(got, " 50%") || !strings.Contains(got, "500 of 1.0k records") || !strings.Contains(got, "500/s") {
		t.Errorf("got %q", got)
	}
	drawn := out.Len()
	p.Add(1)
	if out.Len() != drawn {
		t.Error("drew twice in no time")
	}
	now = now.Add(time.Second)
	p.Add(5000) // more than was announced
	if !strings.Contains(out.String(), "100%") {
		t.Errorf("got %q", out.String())
	}
	p.Stop()
	if !strings.HasSuffix(out.String(), "\x1b[K") {
		t.Error("the bar was left behind")
	}
}

func TestNoProgressWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out, "x", "y", 1)
	p.Add(1)
	p.Stop()
	if p != nil || out.Len() != 0 {
		t.Errorf("drew on a pipe: %q", out.String())
	}
}

func TestCountAndIDs(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 12_345: "12.3k", 4_500_000: "4.5M", 1_200_000_000: "1.2G"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q; want %q", n, got, want)
		}
	}
	if got := IDs([]int32{1, 2}) + IDs(nil); got != "1,2-" {
		t.Errorf("got %q", got)
	}
}

func TestGaugeShowsTheFigures(t *testing.T) {
	now := time.Unix(0, 0)
	var out bytes.Buffer
	g := &Gauge{w: &out, now: func() time.Time { return now }}
	g.Show("measure", 0.5, "12 MB/s, p99 3 ms")
	if got := out.String(); !strings.Contains(got, " 50%") || !strings.HasSuffix(got, "12 MB/s, p99 3 ms") {
		t.Errorf("got %q", got)
	}
	drawn := out.Len()
	g.Show("measure", 0.6, "13 MB/s")
	if out.Len() != drawn {
		t.Error("drew twice in no time")
	}
	g.Show("finish", 7, "") // another phase is shown at once
	if !strings.Contains(out.String(), "100%") {
		t.Errorf("got %q", out.String())
	}
	g.Stop()
	if !strings.HasSuffix(out.String(), "\x1b[K") {
		t.Error("the bar was left behind")
	}
	if g := NewGauge(&out); g != nil {
		t.Error("a gauge draws on a pipe")
	}
}
