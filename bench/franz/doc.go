// Package franz carries loads out with franz-go, as applications use it: what is
// measured is the broker and a good client together. The engine that leaves the
// client out of it is bench/replay.
//
// Each connection of a load is a client of its own (kgo.Client), which keeps one
// connection of each sort to each broker it needs. What the client decides, the
// load cannot: which records share a request, whether a request that failed is
// sent again (the failure of a produce is then not seen, only that of its
// connection), and how far fetches run ahead of who reads. What this engine cannot
// do of a workload is an error of New (limits.go).
//
// What its figures mean:
//   - produce: latency of each record, from when it was meant to be given to the
//     client to its promise. At rate max that is when there is room for it: for
//     in_flight requests, each with one batch. Round robin is by batches: a client
//     stays with a partition for as many records as fit into one. Batches end at
//     512 bytes at the least (franz-go takes no smaller bound), or at the largest
//     record where that is more.
//   - fetch: latency of each poll that returned records, from its call. A client
//     that fetched ahead answers at once; one at the tail waits for the next
//     record. With fetch_mode random hardly anything is fetched ahead. With catch-up
//     an answer at the end of what was there may have records that came later.
//   - end to end: from the intended send, which is in the record's stamp, to the
//     end of the poll that returned it. When it was really sent is not in the
//     stamp, so corrected and uncorrected are the same.
//   - connect: a new client until it has the metadata of the load's topics: two
//     requests, the first being franz-go's own hello.
//
// Invariants:
//   - pace.Now is the only clock;
//   - a load.Worker is used under the lock of the notes that hold it: franz-go
//     calls promises and hooks on goroutines of its own;
//   - every record read is given to the book at most once, by the consumer that
//     the partition belongs to;
//   - with acks 0 nothing is acknowledged, so nothing is lost and Run does not
//     wait until it was read;
//   - a load whose consumers are not at the tail does not read what it writes: the
//     book then has what was acknowledged, and whoever wants a verdict reads it.
//
// Start reading at engine.go.
package franz
