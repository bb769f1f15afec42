// Package node builds a broker from its configuration and owns its start and
// its stop. It is the only place that knows every component.
//
// Start, in order: the log directories (locked, formatted or checked against
// cluster and node id), the controller (metadata log), the shards, the replicas
// of every partition, then the listeners. Nothing is accepted before everything
// is served, so a client never meets a half-started broker.
//
// Stop, in reverse: no new connections, answers that are under way, the shards
// (every log synced and closed), the metadata log, the mark of a clean stop.
package node
