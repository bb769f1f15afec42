package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ringmain/bench/workload"
)

// Row is one load of the table.
type Row struct {
	Name string
	// Part is the row's place in the table where several rows share one: P9.
	Part     string
	Workload string // "": the start of our own build, which needs no load
	// OnlyKafka is topic configuration that Kafka gets and we do not. Kafka answers
	// acks=all from its page cache; to have on disk what was acknowledged, as we
	// always have, its topics must say so.
	OnlyKafka map[string]string
	Bounds    []Bound // beside Kafka
	Shown     []string
}

// flushed makes Kafka sync what it acknowledges.
var flushed = map[string]string{"flush.messages": "1"}

// Rows are the whole table, in its order.
func Rows() []Row { return slices.Clone(rows) }

var rows = []Row{
	{Name: "P1", Workload: "produce-64k", Bounds: []Bound{{Figure: "throughput", Ratio: 2, Enough: 1500}, {Figure: "server CPU per GB", Ratio: third}}},
	{Name: "P2", Workload: "produce-64k-durable", Bounds: []Bound{{Figure: "throughput", Ratio: 1.3}, {Figure: "server CPU per GB", Ratio: 0.6}}},
	{Name: "P3", Workload: "produce-64k-flush-each", OnlyKafka: flushed, Bounds: []Bound{{Figure: "throughput", Ratio: 3}}},
	{Name: "P3s", Workload: "one-record-per-request-durable", OnlyKafka: flushed, Bounds: []Bound{{Figure: "requests", Ratio: 5}}},
	{Name: "P4", Workload: "produce-small-records", Bounds: []Bound{{Figure: "throughput", Ratio: 2.5}, {Figure: "server CPU per GB", Ratio: 0.25}}},
	{Name: "P5", Workload: "one-record-per-request", Bounds: []Bound{{Figure: "requests", Ratio: 2}, {Figure: "server CPU per request", Ratio: 0.25}}},
	{Name: "P7", Workload: "fetch-64k", Bounds: []Bound{{Figure: "server CPU per request", Ratio: third}}, Shown: []string{"throughput"}},
	{Name: "P7m", Workload: "fetch-1m", Bounds: []Bound{{Figure: "server CPU per GB", Ratio: 1.1}, {Figure: "throughput", Ratio: 0.9}}},
	{Name: "P8-alone", Part: "P8", Workload: "produce-1500-a-second", Shown: []string{"p50", "p99", "p99.9"}},
	{Name: "P8", Workload: "produce-beside-catch-up", Bounds: []Bound{{Figure: "p99", Value: 3000}, {Figure: "p99", Times: 2, Row: "P8-alone"}, {Figure: "fetch throughput", Ratio: 1}}, Shown: []string{"p50", "p99.9"}},
	{Name: "P9-1k", Part: "P9", Workload: "e2e-1k", Bounds: []Bound{{Figure: "p50", Ratio: 0.6}, {Figure: "p99", Ratio: 0.5}}, Shown: []string{"p99.9"}},
	{Name: "P9-10k", Part: "P9", Workload: "e2e-10k", Bounds: endToEnd},
	{Name: "P9-20k", Part: "P9", Workload: "e2e-20k", Bounds: endToEnd},
	{Name: "P9d", Workload: "e2e-durable", Bounds: []Bound{{Figure: "p50", Ratio: 1.5}, {Figure: "p99", Ratio: 1.1}, {Figure: "p99.9", Ratio: 1.1}}},
	{Name: "P11", Bounds: []Bound{{Figure: startFigure, Value: 50}, {Figure: idleFigure, Value: 30}}},
	{Name: "P13-storm", Part: "P13", Workload: "storm", Bounds: []Bound{{Figure: "requests", Value: 5000}}, Shown: []string{"p99", "server CPU per request"}},
	{Name: "P13-idle", Part: "P13", Workload: "idle", Bounds: []Bound{{Figure: "memory per connection", Value: 6 << 10}}, Shown: []string{"server memory"}},
}

var endToEnd = []Bound{{Figure: "p50", Ratio: 0.6}, {Figure: "p99", Ratio: 0.5}, {Figure: "p99.9", Ratio: 0.6}}

// third is a third as people write it: 0.3334 of Kafka's is no broken promise.
const third = 0.334

// Select finds rows by their names or their parts, in the order of the table.
// Without names it is the whole table.
func Select(names []string) ([]Row, error) {
	if len(names) == 0 {
		return Rows(), nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		known := slices.ContainsFunc(rows, func(r Row) bool { return r.is(name) })
		if !known {
			return nil, fmt.Errorf("row %q is not in the table; its rows are %s", name, strings.Join(rowNames(), ", "))
		}
		wanted[strings.ToLower(name)] = true
	}
	return slices.DeleteFunc(Rows(), func(r Row) bool {
		return !wanted[strings.ToLower(r.Name)] && !(r.Part != "" && wanted[strings.ToLower(r.Part)])
	}), nil
}

func (r Row) is(name string) bool {
	return strings.EqualFold(name, r.Name) || r.Part != "" && strings.EqualFold(name, r.Part)
}

func rowNames() (out []string) {
	for _, r := range rows {
		out = append(out, r.Name)
	}
	return out
}

// load is the row's workload.
func (r Row) load() (workload.Spec, error) {
	s, err := workload.Load(r.Workload)
	if err != nil {
		return s, fmt.Errorf("row %s: %w", r.Name, err)
	}
	return s, nil
}

// besideKafka is the row's workload for Kafka and for us.
func (r Row) besideKafka(s workload.Spec) (kafka, ours workload.Spec) {
	kafka, ours = s, s
	if len(r.OnlyKafka) > 0 {
		kafka.TopicConfig, ours.TopicConfig = map[string]string{}, map[string]string{}
		maps.Copy(kafka.TopicConfig, s.TopicConfig)
		maps.Copy(kafka.TopicConfig, r.OnlyKafka)
		for key, value := range s.TopicConfig {
			if _, only := r.OnlyKafka[key]; !only {
				ours.TopicConfig[key] = value
			}
		}
	}
	return kafka, ours
}
