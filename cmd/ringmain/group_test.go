package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"ringmain/cmd/ringmain/internal/group"
)

// readBy makes group id by reading the first n records of a topic as a member of it.
func (s shell) readBy(id, topic, n string, more ...string) {
	s.t.Helper()
	s.ok("", append([]string{"consume", topic, "--group", id, "--count", n}, more...)...)
}

// offsetOf is where a group stands in one partition.
func (s shell) offsetOf(id, topic string, partition int32) group.Offset {
	s.t.Helper()
	for _, o := range decode[[]group.Group](s.t, s.ok("", "group", "describe", id, "--output", "json"))[0].Offsets {
		if o.Topic == topic && o.Partition == partition {
			return o
		}
	}
	s.t.Fatalf("group %q has no offset of partition %d of topic %q", id, partition, topic)
	return group.Offset{}
}

func TestGroupListAndDescribe(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(1, "orders")))
	s.ok(lines("v", 10), "produce", "orders")
	s.readBy("old", "orders", "4")
	s.readBy("new", "orders", "7", "--protocol", "consumer", "--commit", "batch")
	listed := decode[[]group.Listed](t, s.ok("", "group", "list", "--output", "json"))
	if len(listed) != 2 || listed[0].Group != "new" || listed[0].Type != group.Consumer || listed[1].Type != group.Classic || listed[1].State != "Empty" {
		t.Fatalf("got %+v", listed)
	}
	if out := s.ok("", "group", "list", "--type", "Consumer"); !strings.Contains(out, "new") || strings.Contains(out, "old") {
		t.Errorf("got\n%s", out)
	}
	if out := s.ok("", "group", "list", "--state", "stable", "--output", "json"); out != "[]\n" {
		t.Errorf("got %q; want an empty list", out)
	}
	for id, at := range map[string]int64{"old": 4, "new": 7} {
		if o := s.offsetOf(id, "orders", 0); o.Committed != at || o.End != 10 || o.Lag != 10-at {
			t.Errorf("group %s: got %+v", id, o)
		}
	}
	all := decode[[]group.Group](t, s.ok("", "group", "describe", "--all", "--state", "--output", "json"))
	if len(all) != 2 || all[0].Lag != 3 || all[1].Lag != 6 || len(all[0].Members) != 0 {
		t.Errorf("got %+v", all)
	}
	if out := s.ok("", "group", "describe", "old"); !strings.Contains(out, "state Empty") || !strings.Contains(out, "lag 6") || !strings.Contains(out, "orders") {
		t.Errorf("got\n%s", out)
	}
	s.fails(exitFailure, []string{"group", "describe", "gone"}, `no group "gone"`, "ringmain group list")
}

func TestGroupResetOffsets(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(2, "orders")))
	s.ok(lines("v", 10), "produce", "orders", "--partition", "0", "--timestamp", "1000")
	s.ok(lines("v", 10), "produce", "orders", "--partition", "0", "--timestamp", "2000")
	s.readBy("g", "orders", "12")
	reset := func(args ...string) []resetOffset {
		t.Helper()
		_, out, errOut := s.run("", append([]string{"group", "reset-offsets", "g", "--output", "json"}, args...)...)
		if errOut != "" {
			t.Fatalf("%q: standard error %q", args, errOut)
		}
		return decode[[]resetOffset](t, out)
	}
	for _, c := range []struct {
		way  string
		want int64
	}{
		{"--to-earliest", 0}, {"--to-latest", 20}, {"--to-current", 12}, {"--to-offset 7", 7}, {"--to-offset 99", 20},
		{"--shift-by -5", 7}, {"--shift-by 3", 15}, {"--shift-by -50", 0}, {"--shift-by 9223372036854775807", 20},
		{"--to-datetime 1500", 10}, {"--to-datetime 1970-01-01T00:00:02Z", 10}, {"--to-datetime 2001", 20}, {"--by-duration PT1H", 20},
	} {
		got := reset(append(strings.Fields(c.way), "--topic", "orders:0")...)
		if len(got) != 1 || got[0].Current != 12 || got[0].New != c.want || got[0].Lag != 20-c.want || got[0].Executed {
			t.Errorf("%s: got %+v; want %d", c.way, got, c.want)
		}
	}
	if at := s.offsetOf("g", "orders", 0).Committed; at != 12 {
		t.Fatalf("a plan moved the offset to %d", at)
	}
	if got := reset("--to-offset", "3", "--all-topics", "--execute"); len(got) != 1 || !got[0].Executed || got[0].Error != nil {
		t.Errorf("got %+v", got)
	}
	if at := s.offsetOf("g", "orders", 0).Committed; at != 3 {
		t.Errorf("the offset is %d", at)
	}
	// What was exported can be put back, into a group of another name too.
	file := filepath.Join(t.TempDir(), "offsets.csv")
	_, out, _ := s.run("", "group", "reset-offsets", "g", "--all-topics", "--to-current", "--export")
	if out != "orders,0,3\n" {
		t.Errorf("exported %q", out)
	}
	if err := os.WriteFile(file, []byte(out+"copy,orders,1,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := reset("--from-file", file, "--execute"); len(got) != 1 || got[0].New != 3 {
		t.Errorf("got %+v", got)
	}
	s.ok("", "group", "reset-offsets", "copy", "--from-file", file, "--execute")
	if at := s.offsetOf("copy", "orders", 1).Committed; at != 0 {
		t.Errorf("the copy is at %d", at)
	}
	for line, text := range map[string]string{
		"g --topic orders:7 --to-latest":      "has no partition 7: it has 2",
		"g --topic gone --to-latest":          `topic "gone" does not exist`,
		"fresh --topic orders:0 --shift-by 1": "no committed offset to shift",
		"g --topic orders:0,1 --shift-by -1":  "partition 1",
	} {
		s.fails(exitFailure, append([]string{"group", "reset-offsets"}, strings.Fields(line)...), text)
	}
}

func TestGroupDeletes(t *testing.T) {
	s := newShell(t, fakeCluster(t, kfake.SeedTopics(2, "orders")))
	s.ok(lines("v", 5), "produce", "orders", "--partition", "0")
	s.ok(lines("v", 5), "produce", "orders", "--partition", "1")
	s.readBy("g", "orders", "10")
	deleted := decode[[]deletedOffset](t, s.ok("", "group", "delete-offsets", "g", "--topic", "orders:1", "--output", "json"))
	if len(deleted) != 1 || !deleted[0].Deleted || deleted[0].Offset != 5 || deleted[0].Partition != 1 {
		t.Errorf("got %+v", deleted)
	}
	s.fails(exitFailure, []string{"group", "delete-offsets", "g", "--topic", "orders:1"}, "no committed offset of partition 1")
	s.fails(exitFailure, []string{"group", "delete-offsets", "g", "--topic", "audit"}, `no committed offset of topic "audit"`)
	if out := s.ok("", "group", "delete", "g"); !strings.Contains(out, "deleted") {
		t.Errorf("got\n%s", out)
	}
	s.fails(exitFailure, []string{"group", "delete", "g"}, `delete group "g"`, "GROUP_ID_NOT_FOUND (69)")
	s.ok("", "group", "delete", "g", "--if-exists")
	s.fails(exitFailure, []string{"group", "remove-members", "g", "--all"}, `no group "g"`)
}
