// Package broker answers Kafka's requests: one file for each API, named by its
// key.
//
// A frame arrives on a connection's loop (netio). The dispatch looks the API
// up in the table (apis.go) and either serves it there and then (what neither
// blocks nor takes long: Produce, Fetch, the offset lookups that need no
// disk), or on a bounded pool (everything administrative, decompression, cold
// reads, lookups by time). While a request of a connection is on the pool,
// that connection is not read any further, so effects stay in the order of the
// requests; a Fetch that waits for data holds nobody up (a second one does),
// because the answers are put in order by netio's slots.
//
// The package owns no partition state: it posts to shards (package partition)
// and reads what they publish. Metadata is changed through the Metadata
// interface; the applier turns each change that was applied into replicas
// opened, reconfigured and deleted, and only then is the request that caused
// it answered.
//
// Start reading at dispatch.go, then 00_produce.go and 01_fetch.go.
package broker
