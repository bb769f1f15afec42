// Package metrics counts what the broker does and shows it to Prometheus.
//
// A Set is made once and passed in; there are no globals. Recording goes into
// arrays of atomic counters, indexed by API key and error code, so that it
// looks nothing up, allocates nothing and costs some ten nanoseconds. What
// exists anyway (connections, partitions, log sizes) is never counted beside
// it: Sources are asked for it when somebody scrapes.
//
// It is not a place for decisions: nothing in the broker reads a metric back.
//
// Owner: none. Every method may be called from any goroutine. Recorders only
// keep loops from writing to each other's cache lines.
//
// Invariants: docs/metrics.md lists every series with its type and labels, and
// a test compares the list with a scrape. Series per partition are bounded in
// number, and so are series per group. Other label values are API names, error
// names, listener and alert names, and fixed words; nothing a client chooses freely.
//
// Crash behaviour: counters begin at zero with each start, as Prometheus
// expects.
//
// Start reading at set.go, then collector.go.
package metrics
