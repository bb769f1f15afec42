//go:build unix && !linux

package sendfile

// Send moves up to n bytes of file, from *off on, into the socket sock, and
// advances *off by the count it returns. Both are descriptors; sock should be
// non-blocking.
//
// A full socket is unix.EAGAIN (nothing was moved). A count below n without an
// error means that the socket took no more, or, when it is 0, that the file ends
// at *off. The other systems' sendfile calls differ from each other in how they
// report a partial transfer, so the bytes are copied here.
func Send(sock, file int, off *int64, n int) (int, error) {
	return copyRange(sock, file, off, n)
}
