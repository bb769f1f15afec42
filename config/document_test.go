package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var write = flag.Bool("write", false, "write the tables of docs/configuration.md")

const document = "../docs/configuration.md"

// documentTables makes the tables of docs/configuration.md, by marker.
func documentTables() map[string]string {
	tables := map[string]string{}
	add := func(marker string, defs []Def, broker bool) {
		var b strings.Builder
		b.WriteString("| key | default | allowed | here |")
		if broker {
			b.WriteString(" changes |")
		}
		b.WriteString(" meaning |\n| --- | --- | --- | --- | ---")
		if broker {
			b.WriteString(" | ---")
		}
		b.WriteString(" |\n")
		for _, d := range defs {
			value := "`" + d.Default + "`"
			if one, ok := oneNode[d.Name]; ok && broker {
				value = "`" + one + "`"
			} else if d.Null || d.Required {
				value = "none"
			}
			if value == "``" {
				value = "empty"
			}
			allowed := d.Check.String()
			if allowed == "" {
				allowed = strings.ToLower(d.Type.String())
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |", d.Name, value, allowed, d.Status)
			if broker {
				fmt.Fprintf(&b, " %s |", d.Update)
			}
			fmt.Fprintf(&b, " %s |\n", d.Doc)
		}
		tables[marker] = b.String()
	}
	sorted := func(groups ...[]Def) []Def {
		by := map[string]string{}
		all := map[string]Def{}
		for _, g := range groups {
			for _, d := range g {
				if !d.Internal {
					by[d.Name], all[d.Name] = "", d
				}
			}
		}
		var out []Def
		for _, name := range sortedNames(by) {
			out = append(out, all[name])
		}
		return out
	}
	add("own", ownDefs, true)
	add("alert", alertDefs, true)
	add("topic", sorted(topicDefs, ownTopicDefs), false)
	add("log", sorted(logDefs), true)
	add("network", sorted(networkDefs), true)
	add("node", sorted(quorumDefs), true)
	add("broker", sorted(brokerDefs, replicationDefs), true)
	add("transactions", sorted(transactionDefs), true)
	add("coordinators", sorted(coordinatorDefs), true)
	add("security", sorted(securityDefs, saslDefs, sslDefs), true)
	add("remote", sorted(remoteDefs), true)
	add("group", sorted(groupDefs), false)
	add("client-metrics", sorted(clientMetricsDefs), false)
	return tables
}

// The tables of the document are made from the definitions:
// go test ./config -run TestDocument -write
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	want := got
	for marker, table := range documentTables() {
		begin, end := "<!-- table "+marker+" -->\n", "<!-- end "+marker+" -->"
		before, rest, ok := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no place for the table %s", document, marker)
		}
		want = before + begin + table + end + after
	}
	if got == want {
		return
	}
	if !*write {
		t.Fatalf("%s is out of date; run: go test ./config -run TestDocument -write", document)
	}
	if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every key of the table is in the document, so that no file of definitions is
// forgotten above.
func TestDocumentIsComplete(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, defs := range [][]Def{BrokerDefs(), TopicDefs(), GroupDefs(), ClientMetricsDefs()} {
		for _, d := range defs {
			if d.Internal || strings.Contains(string(text), "| `"+d.Name+"` |") {
				continue
			}
			t.Errorf("%s does not name %s", document, d.Name)
		}
	}
}

// The example starts as it is.
func TestExampleFile(t *testing.T) {
	f, err := os.Open("../docs/examples/server.properties")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	values, err := ParseProperties(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, warnings, err := named(values); err != nil || len(warnings) > 0 {
		t.Errorf("error %v, warnings %q", err, warnings)
	}
}
