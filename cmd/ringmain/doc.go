// Command ringmain is the one binary of the project: the broker (serve) and a
// client for any broker that speaks Kafka's protocol (topic, group, config,
// cluster, produce, consume), a load generator for any such broker (bench), and offline
// tools (log, version).
//
// Every command sits in a file of its own and is thin: it names its flags,
// turns them into requests or hands them to a package below, and prints what
// came back. The packages below internal/ carry what more than one command
// needs: connection (reaching a broker, and saying why it could not be
// reached), show (tables, JSON, progress), position (offsets and times), line
// (format strings), feed (lines to records), tail (records to lines) and group
// (where consumer groups stand).
//
// The client commands know nothing of the broker's own packages: they are held
// to what the protocol offers, so that they work against any broker and prove
// that ours needs no side door.
//
// Conventions: results on standard output (a table for people, exactly one
// JSON document with --output json), everything else on standard error; exit
// code 0 for success, 1 for a failure, 2 for wrong usage.
//
// Start reading at root.go, then topic_create.go as an example of a command.
package main
