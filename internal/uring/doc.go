// Package uring is a thin ring over giouring for the two operations that
// storage needs: gathering writes and fdatasync. A run pushes some
// operations, submits them, and waits for all of them.
//
// What it is not: a scheduler, a poller, or a general binding. It never links
// a write to a sync (a short write would break the chain and leave bytes
// unsynced that were reported as synced), and never has more operations in
// flight than the completion queue holds.
//
// The Ring exists on Linux with the build tag giouring only, because giouring
// needs -ldflags=-checklinkname=0 on current Go and does not compile
// elsewhere. Compiled says whether it is there.
//
// Owner: one goroutine at a time pushes and runs; nothing is locked. The ring
// is set up without SINGLE_ISSUER, so that the goroutine need not stay on its
// thread.
//
// Memory: the kernel sees addresses, which the garbage collector does not.
// The iovec table is mapped outside of the heap; the buffers it points to
// must be heap memory (Go does not move it) that the caller keeps referenced
// until Run has returned.
//
// Known faults of giouring and how they are met, see ring.go: every SQE is
// zeroed before use (an old fsync flag turns a write into EINVAL), completions
// are read one by one (PeekBatchCQE fills more than is ready), no timeouts, no
// registered files.
//
// Start reading at ring.go.
package uring
