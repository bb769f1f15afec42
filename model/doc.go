// Package model holds the small named values that every layer speaks of:
// topic ids, partitions, well-known ids. It does no I/O and imports nothing
// of Ringmain.
package model
