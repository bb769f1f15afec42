package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/cmd/ringmain/internal/feed"
	"ringmain/cmd/ringmain/internal/line"
)

func TestProduceThenConsume(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "orders")))
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		topic := "orders-" + codec
		s.ok("", "topic", "create", topic, "--partitions", "1")
		in := lines("key:value ", 2500)
		result := decode[feed.Result](t, s.ok(in, "produce", topic, "--key-separator", ":", "--compression", codec, "--output", "json"))
		if result.Records != 2500 || len(result.Partitions) != 1 || result.Partitions[0] != (feed.Partition{Partition: 0, Records: 2500, FirstOffset: 0, LastOffset: 2499}) {
			t.Errorf("%s: got %+v", codec, result)
		}
		if out := s.ok("", "consume", topic, "--exit", "--key-separator", ":"); out != in {
			t.Errorf("%s: read %d bytes back, wrote %d", codec, len(out), len(in))
		}
	}
}

func TestProduceShapes(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(2, "orders")))
	s.ok("a\x00b:\x00:c", "produce", "orders", "--partition", "1", "--delimiter", `\0`, "--key-separator", ":", "--null-empty",
		"--key", "fixed", "--header", "h=1", "--header", "n", "--timestamp", "1700000000000", "--quiet")
	got := s.ok("", "consume", "orders", "--exit", "--show-null", "--format", `%p/%o %k=%s %h %T\n`)
	want := "1/0 fixed=a h=1,n=NULL 1700000000000\n1/1 b=NULL h=1,n=NULL 1700000000000\n1/2 NULL=c h=1,n=NULL 1700000000000\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestProduceFilesAndTee(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for path, text := range map[string]string{one: "a\nb", two: "c\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "lines", "whole")))
	if out := s.ok("", "produce", "lines", one, two, "--tee"); out != "a\nb\nc\n" {
		t.Errorf("tee gave %q", out)
	}
	if out := s.ok("", "consume", "lines", "--exit", "--delimiter", "|"); out != "a|b|c|" {
		t.Errorf("got %q", out)
	}
	s.ok("", "produce", "whole", one, two, "--whole-files", "--quiet")
	if out := s.ok("", "consume", "whole", "--exit", "--delimiter", "|"); out != "a\nb|c\n|" {
		t.Errorf("got %q", out)
	}
	s.fails(exitFailure, []string{"produce", "lines", one, filepath.Join(dir, "three")}, "three")
	if out := s.ok("", "topic", "describe", "lines"); !strings.Contains(out, "3  ") && !strings.Contains(out, "3\n") {
		t.Errorf("a missing file was noticed after sending:\n%s", out)
	}
}

func TestProduceFailures(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "orders")))
	s.fails(exitFailure, []string{"produce", "orders", "--partition", "7"}, "has no partition 7: it has 1")
	code, out, errOut := s.run("short\n"+strings.Repeat("x", 2000)+"\nlater\n", "produce", "orders", "--max-message-bytes", "1000", "--output", "json")
	if code != exitFailure || !strings.Contains(errOut, "line 2 has more than 1000 bytes") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
	if result := decode[feed.Result](t, out); result.Records != 1 {
		t.Errorf("got %+v; want the first line, and only that", result)
	}
}

// TestProduceGivesUp: the broker takes connections and answers no Produce
// request. Old timestamps must not shorten the wait, nor lengthen it.
func TestProduceGivesUp(t *testing.T) {
	c := fakeCluster(t, kfake.SeedTopics(1, "orders"))
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, errors.New("no answer"), true
	})
	s := newShell(t, c)
	start := time.Now()
	code, _, errOut := s.run("a\n", "produce", "orders", "--timestamp", "1000", "--timeout", "1s")
	if code != exitFailure || !strings.Contains(errOut, "nothing was acknowledged in time") {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
	if took := time.Since(start); took < time.Second || took > giveUp {
		t.Errorf("gave up after %v", took)
	}
}

func TestProduceAcksNone(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "orders")))
	result := decode[feed.Result](t, s.ok("a\nb\n", "produce", "orders", "--acks", "0", "--output", "json"))
	if result.Records != 2 || result.Partitions[0].FirstOffset != -1 || result.Partitions[0].LastOffset != -1 {
		t.Errorf("got %+v; nobody said where the records are", result)
	}
}

func TestConsumePlaces(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(2, "orders")))
	for i, ms := range []int{1000, 2000, 3000, 4000, 5000} {
		s.ok(fmt.Sprintf("v%d\n", i), "produce", "orders", "--partition", "0", "--timestamp", fmt.Sprint(ms), "--quiet")
	}
	cases := []struct{ args, want string }{
		{"--exit", "v0 v1 v2 v3 v4"},
		{"--count 2", "v0 v1"},
		{"--last 2 --exit", "v3 v4"},
		{"--offset -2 --exit", "v3 v4"},
		{"--offset 3 --partition 0 --exit", "v3 v4"},
		{"--offset s@2500 --exit", "v2 v3 v4"},
		{"--from-time 3000 --exit", "v2 v3 v4"},
		{"--until-time 3000", "v0 v1"},
		{"--offset 1 --until-time 4000", "v1 v2"},
		{"--offset s@2000 --offset e@4000", "v1 v2"},
		{"--from-end --exit", ""},
		{"--partition 1 --exit", ""},
		{"--offset 5 --partition 0 --exit", ""},
		{"--exit --isolation read_uncommitted", "v0 v1 v2 v3 v4"},
	}
	for _, c := range cases {
		code, out, errOut := s.run("", append([]string{"consume", "orders", "--delimiter", " "}, strings.Fields(c.args)...)...)
		if code != 0 || strings.TrimSpace(out) != c.want {
			t.Errorf("consume %s: exit code %d, got %q, want %q; standard error %q", c.args, code, out, c.want, errOut)
		}
	}
	s.fails(exitFailure, []string{"consume", "orders", "--offset", "99", "--partition", "0"}, "offset 99 is not in partition 0", "from 0 up to 5")
	s.fails(exitFailure, []string{"consume", "orders", "--partition", "5"}, "has no partition 5")
	s.fails(exitFailure, []string{"consume", "gone"}, `topic "gone"`, "UNKNOWN_TOPIC_OR_PARTITION")
}

func TestConsumeJSON(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "orders", "empty")))
	s.ok(lines("v", 3), "produce", "orders", "--quiet")
	got := decode[[]line.Envelope](t, s.ok("", "consume", "orders", "--exit", "--output", "json"))
	if len(got) != 3 || got[2].Offset != 2 || *got[2].Value != "v3" || got[2].Key != nil {
		t.Errorf("got %+v", got)
	}
	if out := s.ok("", "consume", "empty", "--exit", "--output", "json"); out != "[]\n" {
		t.Errorf("got %q; want an empty document", out)
	}
	each := strings.Split(strings.TrimSpace(s.ok("", "consume", "orders", "--exit", "--json-lines")), "\n")
	if len(each) != 3 || decode[line.Envelope](t, each[0]).Offset != 0 {
		t.Errorf("got %q", each)
	}
}
