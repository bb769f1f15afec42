// Package position reads what people write for places in a partition: offsets,
// offsets from the end, and points in time.
//
// It is pure: it knows the clock only as an argument and asks no broker. Start
// reading at offset.go.
package position
