// Package sendfile moves a range of a file into a socket, resumably.
//
// On Linux the bytes go from page cache to socket by sendfile(2) and never enter
// user space. Where the system or the file system cannot do that, they are read
// with pread and written with write through a small pooled buffer. Both ways
// advance the caller's offset by exactly what the socket took, so a transfer cut
// by a full socket goes on from there.
//
// It does not wait: a full socket is unix.EAGAIN, given to the caller as it is,
// and who calls again and when is the caller's affair (package netio). It knows
// nothing of frames, batches or segments, and does not own descriptors.
//
// Invariants: the offset moves by the returned count and by nothing else; a count
// of 0 without an error, for n > 0, means that the file ends at the offset.
// The package holds no state, so a crash leaves nothing behind.
// Start reading at Send.
package sendfile
