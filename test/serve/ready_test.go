package serve

import (
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"ringmain/test/peer"
)

func TestReadyLineIsAllThatStandardOutputGets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := begin(t, local("--data-dir", filepath.Join(dir, "data"))...)
	r := p.ready()
	if r.http != "off" || r.node != "1" || !strings.HasPrefix(r.kafka, "127.0.0.1:") {
		t.Errorf("the ready line says %+v", r)
	}
	// What is logged, and what clients do wrong, must not reach it either.
	c, err := peer.Dial(r.kafka)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Send([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WaitClosed(patience); err != nil {
		t.Fatal(err)
	}
	create(t, r.kafka, "t", 2)
	produce(t, r.kafka, "t", 1, "x")
	p.stop()
}

func TestDataDirectoryIsTheWorkingDirectorysByDefault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := beginIn(t, dir, local()...)
	p.ready()
	if files := tree(t, filepath.Join(dir, "ringmain-data")); files["ringmain.properties"] == "" {
		t.Errorf("./ringmain-data holds %v", files)
	}
	p.stop()
}

func TestBothPortsMayBeFreeOnes(t *testing.T) {
	t.Parallel()
	p := begin(t, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
	r := p.ready()
	for _, addr := range []string{r.kafka, r.http} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Errorf("the ready line names %s: %v", addr, err)
			continue
		}
		c.Close()
	}
	p.stop()
}

func TestLogsAreLinesOfTheFormatAskedFor(t *testing.T) {
	t.Parallel()
	p := begin(t, local("--log-format", "json", "--log-level", "debug", "--override", "no.such.key=1")...)
	p.ready()
	p.stop()
	levels := map[string]bool{}
	for line := range strings.Lines(p.errors()) {
		var entry struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time == "" || entry.Msg == "" {
			t.Errorf("not an entry in JSON: %q (%v)", line, err)
		}
		levels[entry.Level] = true
	}
	if !levels["DEBUG"] || !levels["INFO"] || !levels["WARN"] {
		t.Errorf("levels on standard error: %v", levels)
	}

	quiet := begin(t, local("--log-level", "error", "--override", "no.such.key=1")...)
	quiet.ready()
	quiet.stop()
	if quiet.errors() != "" {
		t.Errorf("with --log-level error it said %q", quiet.errors())
	}

	text := begin(t, local()...)
	text.ready()
	text.stop()
	for line := range strings.Lines(text.errors()) {
		if !strings.HasPrefix(line, "time=") || strings.Contains(line, "level=DEBUG") {
			t.Errorf("an entry in text is %q", line)
		}
	}
}
