// Package invariant turns internal assertions on and off at build time.
//
// An assertion that costs something on a hot path (poisoning a buffer that goes
// back to a pool, counting calls that must happen once) is written as
//
//	if invariant.Enabled { ... }
//
// and disappears from ordinary builds, because Enabled is a constant. It is on
// under the race detector and with the build tag "invariants".
//
// It is not a place for checks of input: what a peer or a disk can cause is an
// error, not a broken invariant. The package has no state and no owner, and
// nothing of it survives a crash. Start reading at enabled.go.
package invariant
