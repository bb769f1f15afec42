// Package facts reads what a result cannot be understood without: the machine,
// the disk below a path, and what processes cost.
//
// Everything is read from the system (/proc, /sys) at the moment of asking;
// nothing is kept, guessed or measured. What the system does not say is empty,
// or Unknown where it is a number: a figure that nobody knows must not look like
// one that is zero.
//
// A server's costs come from its process (Process) when it runs on this host, or
// from the metrics that it publishes (Scrape).
//
// Start reading at usage.go for costs, at machine.go for the rest.
package facts
