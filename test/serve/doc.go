// Package serve proves `ringmain serve` from outside: what it prints, how it
// exits, which directories and configurations it refuses and in which words, and
// what is still there after a stop, a kill and a start elsewhere.
//
// Every test starts a process of its own and is skipped when BROKER names a
// broker that runs. Nothing but Go is needed. Start reading at process_test.go.
package serve
