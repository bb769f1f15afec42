// Package node builds a broker from its configuration and owns its start and
// its stop. It is the only place that knows every component.
//
// Start, in order: a look at every directory that changes nothing, the
// controller (metadata log), the log directories (locked, formatted or checked
// against cluster and node id), the shards, the replicas of every partition,
// then the listeners. Nothing is accepted before everything is served, so a
// client never meets a half-started broker.
//
// Two starts are refused because they would look like a loss of all data later:
// log directories without the metadata that belongs to them, and metadata
// without a log directory that it had (the roster, a file beside it, knows
// them). Start reading at node.go and directories.go.
//
// Stop: no new connections, answers that are under way, the metadata log (after
// which no replica comes or goes), the shards (every log synced and closed), the
// mark of a clean stop.
package node
