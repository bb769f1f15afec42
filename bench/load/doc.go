// Package load is the seam between what a load is (bench/workload) and those who
// carry it out (the engines bench/replay and bench/franz): what an engine is given
// (Env), what it is (Engine), and where it notes what it did (Meter).
//
// It sends nothing. An Env does not change once an engine has it. Each goroutine of
// an engine notes what it did in a Worker of its own, without locks; the meter's
// Take, for one goroutine at a time, gathers what came since the last one.
//
// Start reading at engine.go.
package load
