// Package workloads carries the workload files that the binary brings along: one
// small YAML file for each load that people ask about. It does not read them;
// package bench/workload does, and says what the keys mean.
//
// A new workload is a new file here, named for what it does; its first key is
// the description that `ringmain bench list` prints.
package workloads
