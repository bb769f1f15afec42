// Package trial starts and ends builds of ringmain that are to be compared.
//
// A Build is a binary with its settings; Start runs it on free ports, with a new
// data directory, and waits until it serves; Close ends it and removes what it
// wrote. It knows the broker from outside only: the line that it prints when it
// serves, and its /readyz.
//
// A Broker belongs to whoever started it. The end of the context that it was
// started with ends it too, so that no broker outlives an interrupted comparison.
//
// Tail, the end of what a process writes, also serves others who start one.
//
// Start reading at broker.go.
package trial
