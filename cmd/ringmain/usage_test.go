package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			return
		}
		if cmd.Short == "" || cmd.Example == "" {
			t.Errorf("'%s' lacks a short text or an example", cmd.CommandPath())
		}
		if !strings.Contains(cmd.Example, "ringmain ") {
			t.Errorf("'%s': the example does not begin with ringmain", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRootCmd())
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	s := shell{t: t}
	for _, args := range [][]string{{"--help"}, {"topic", "--help"}, {"help", "consume"}} {
		if out := s.ok("", args...); !strings.Contains(out, "Usage:") {
			t.Errorf("%q printed %q", args, out)
		}
	}
}

// TestWrongUsage: nothing listens at the address, so a command that got as far
// as the network would fail in another way.
func TestWrongUsage(t *testing.T) {
	s := shell{t: t, bootstrap: "127.0.0.1:1"}
	cases := []struct {
		line string
		text string
	}{
		{"topik", `did you mean "topic"?`},
		{"topic", "needs a command"},
		{"topic lits", `did you mean "list"?`},
		{"topic create", "usage: ringmain topic create TOPIC..."},
		{"topic create t --no-such-flag", "--no-such-flag"},
		{"topic create t --partitions many", "many"},
		{"topic create t --config novalue", `"novalue" is not KEY=VALUE`},
		{"topic create t --config a=1 --config a=2", "twice"},
		{"topic create t --assignment 1:x", `"x" is not a broker id`},
		{"topic create t --assignment 1 --partitions 2", "assignment"},
		{"topic list extra", "usage: ringmain topic list"},
		{"topic list --output xml", "use table or json"},
		{"topic list --timeout 0s", "--timeout"},
		{"topic list --command-config /no/such/file", "/no/such/file"},
		{"topic alter t", "nothing to change"},
		{"topic add-partitions t", "--partitions TOTAL or --add NUMBER"},
		{"topic add-partitions t --partitions 3 --add 1", "partitions"},
		{"topic delete-records t", "--before PARTITION:OFFSET, or --all"},
		{"topic delete-records t --before 5", "PARTITION:OFFSET"},
		{"topic delete-records t --before 0:1 --before 0:2", "twice"},
		{"group", "needs a command"},
		{"group list --state sleepy", `--state "sleepy" is not known`},
		{"group list --type old", "classic, consumer"},
		{"group describe", "name a group, or give --all"},
		{"group describe g --all", "not both"},
		{"group describe g g", "twice"},
		{"group reset-offsets g --topic t", "say where to"},
		{"group reset-offsets g --to-latest", "say which partitions"},
		{"group reset-offsets g --topic t --to-latest --to-earliest", "to-earliest"},
		{"group reset-offsets g --topic t:x --to-latest", `"x" is not a partition number`},
		{"group reset-offsets g --topic t:1 --topic t:1 --to-latest", "twice"},
		{"group reset-offsets g --topic t --to-offset -1", "--to-offset -1"},
		{"group reset-offsets g --topic t --to-datetime soon", "soon"},
		{"group reset-offsets g --from-file /no/such/file", "/no/such/file"},
		{"group reset-offsets g --topic t --to-latest --export --output json", "--export"},
		{"group delete", "usage: ringmain group delete"},
		{"group delete-offsets g", "say which offsets"},
		{"group remove-members g", "say whom"},
		{"config describe t", "usage: ringmain config describe"},
		{"config describe table t", `"table" is not known`},
		{"config describe broker one", `"one" is not an id`},
		{"config set topic t", "usage: ringmain config set"},
		{"config set topic t retention.ms", "is not KEY=VALUE"},
		{"produce", "usage: ringmain produce"},
		{"produce t --partition -2", "--partition -2"},
		{"produce t --compression rar", `"rar" is not known`},
		{"produce t --acks 2", `"2" is not known`},
		{"produce t --acks 1 --idempotent", "--acks all"},
		{"produce t --header =x", "has no name"},
		{"produce t --timestamp soon", "soon"},
		{"produce t --delimiter \\q", "is not an escape"},
		{"produce t --whole-files", "--whole-files needs files"},
		{"produce t --tee --output json", "--tee"},
		{"produce t --max-message-bytes 0", "--max-message-bytes"},
		{"consume", "usage: ringmain consume"},
		{"consume a b", "usage: ringmain consume"},
		{"consume t --offset first", `"first" is not understood`},
		{"consume t --offset 1 --last 2", "offset"},
		{"consume t --last 0", "--last 0"},
		{"consume t --from-time soon", "soon"},
		{"consume t --partition 1 --partition 1", "twice"},
		{"consume t --count -1", "--count -1"},
		{"consume t --isolation dirty", `"dirty" is not known`},
		{"consume t --commit batch", "--commit needs a group"},
		{"consume t --group g --commit often", `"often" is not known`},
		{"consume t --group g --protocol new", `"new" is not known`},
		{"consume t --group g --partition 1", "partition"},
		{"consume t --format %z", "%z"},
		{"consume t --format %s --json-lines", "json-lines"},
		{"consume t --format %s --output json", "--output json"},
	}
	for _, c := range cases {
		out := s.fails(exitUsage, strings.Fields(c.line), c.text, "--help'.")
		if out != "" {
			t.Errorf("%q wrote %q to standard output", c.line, out)
		}
	}
	s.bootstrap = "http://127.0.0.1:9092"
	s.fails(exitUsage, []string{"topic", "list"}, "without a protocol")
}

func TestVersion(t *testing.T) {
	s := shell{t: t}
	if out := s.ok("", "version"); !strings.HasPrefix(out, "ringmain ") || strings.Count(out, "\n") != 1 {
		t.Errorf("got %q", out)
	}
	facts := decode[buildFacts](t, s.ok("", "version", "--output", "json"))
	if facts.Version == "" || facts.Commit == "" || !strings.HasPrefix(facts.Go, "go") || !strings.Contains(facts.Platform, "/") {
		t.Errorf("got %+v", facts)
	}
}
