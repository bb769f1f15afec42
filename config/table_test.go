package config

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// kafkaKey is one line of what Kafka 4.4 answered.
type kafkaKey struct {
	name, def           string
	typ                 Type
	readOnly, sensitive bool
	synonym             string
}

func kafkaKeys(t *testing.T, kind string) []kafkaKey {
	t.Helper()
	f, err := os.Open("testdata/kafka-4.4-" + kind + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var keys []kafkaKey
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		p := strings.Split(sc.Text(), "\t")
		n, err := strconv.Atoi(p[1])
		if len(p) != 6 || err != nil {
			t.Fatalf("bad line %q", sc.Text())
		}
		keys = append(keys, kafkaKey{name: p[0], typ: Type(n), def: p[2], readOnly: p[3] == "ro", sensitive: p[4] == "sensitive", synonym: p[5]})
	}
	return keys
}

// Tools print keys in the order of the answer, so order counts too.
func TestTablesAreKafkas(t *testing.T) {
	for kind, defs := range map[string][]Def{"topic": TopicDefs(), "broker": BrokerDefs(), "group": GroupDefs(), "client-metrics": ClientMetricsDefs()} {
		want := kafkaKeys(t, kind)
		if len(want) == 0 {
			t.Fatalf("%s: no keys in testdata", kind)
		}
		for i, k := range want {
			if i >= len(defs) {
				t.Fatalf("%s: %d keys, Kafka has %d", kind, len(defs), len(want))
			}
			d := defs[i]
			if d.Name != k.name {
				t.Fatalf("%s: key %d is %s, Kafka's is %s", kind, i, d.Name, k.name)
			}
			def := d.Default
			if d.Null {
				def = "<null>"
			} else if d.Required {
				def = "<required>"
			}
			if d.Type != k.typ || def != k.def || d.Sensitive() != k.sensitive {
				t.Errorf("%s: type %d default %q sensitive %v, Kafka has %d %q %v", d.Name, d.Type, def, d.Sensitive(), k.typ, k.def, k.sensitive)
			}
			if kind == "broker" && (d.Update == ReadOnly) != k.readOnly {
				t.Errorf("%s: update mode %v, Kafka says read-only=%v", d.Name, d.Update, k.readOnly)
			}
			if synonym := strings.TrimPrefix(k.synonym, "-"); kind != "broker" && d.ServerKey != synonym {
				t.Errorf("%s: server key %q, Kafka has %q", d.Name, d.ServerKey, synonym)
			}
		}
		for _, d := range defs[len(want):] {
			if !d.Own() {
				t.Errorf("%s: %s is neither Kafka's nor ours", kind, d.Name)
			}
		}
	}
}

func TestEveryKeyIsSound(t *testing.T) {
	for name, tb := range map[string]*table{"topic": topicTable, "broker": brokerTable, "group": groupTable, "client metrics": clientMetricsTable} {
		seen := map[string]bool{}
		for i := range tb.defs {
			d := &tb.defs[i]
			if seen[d.Name] {
				t.Errorf("%s: %s is there twice", name, d.Name)
			}
			seen[d.Name] = true
			if len(d.Doc) < 20 || !strings.HasSuffix(d.Doc, ".") || strings.ContainsAny(d.Doc, "<>`\n") {
				t.Errorf("%s: documentation of %s is not a plain sentence: %q", name, d.Name, d.Doc)
			}
			if d.Type < Boolean || d.Type > Password {
				t.Errorf("%s: %s has type %d", name, d.Name, d.Type)
			}
			if d.HasDefault() {
				if _, err := d.validate(d.Default); err != nil {
					t.Errorf("%s: default of %s: %v", name, d.Name, err)
				}
				if n := d.normal(d.Default); n != d.Default {
					t.Errorf("%s: default of %s is %q, shown %q", name, d.Name, d.Default, n)
				}
			}
			if d.ServerKey != "" {
				server, ok := brokerTable.byName[d.ServerKey]
				if !ok {
					t.Errorf("%s: %s names %s, which the broker has not", name, d.Name, d.ServerKey)
				} else if server.Type != d.Type && d.Name != "streams.assignor.name" {
					t.Errorf("%s: %s and %s differ in type", name, d.Name, d.ServerKey)
				}
			}
		}
	}
}

func TestDocumentationIsNotRepeated(t *testing.T) {
	for _, tb := range []*table{topicTable, groupTable, clientMetricsTable} {
		seen := map[string]string{}
		for _, d := range tb.defs {
			if other := seen[d.Doc]; other != "" {
				t.Errorf("%s and %s have one documentation", d.Name, other)
			}
			seen[d.Doc] = d.Name
		}
	}
}
