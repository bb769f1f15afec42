// Package groups proves consumer groups from outside, on the binary: here, how far
// they are behind, in the metrics, on the HTTP port and on the command line, and the
// alerts on it.
//
// Every test starts a process of its own and is skipped when BROKER names a broker that
// runs. Nothing but Go is needed. Start reading at lag_test.go.
package groups
