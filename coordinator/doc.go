// Package coordinator runs the state machines that keep their state in an internal
// topic: one Machine for each partition that this broker leads.
//
// A machine is pure. It does no I/O and has no clock: a Step brings it the time and
// the metadata, and takes what it wants written and whom it wants to answer. What
// kind of machine it is does not matter here; package coordinator/group has the one
// of consumer groups.
//
// The rules, each of which something above relies on:
//   - One loop owns a partition's machine, and every step of it runs there.
//   - What is in the log is the state. A machine changes the part of its state that
//     is to survive only by applying a record, the same way when it writes it as
//     when it loads it.
//   - An answer goes out when everything that was written before it, by this step
//     and by earlier ones, is durable. So nobody is told what a crash could take
//     back, and no offset that was read is ever read lower.
//   - When a write fails, nobody knows what is in the log: all who wait are told so,
//     and the machine is built anew from the log.
//
// Start reading at runtime.go, then loop.go (a round), part.go (what becomes of a
// step) and load.go.
package coordinator
