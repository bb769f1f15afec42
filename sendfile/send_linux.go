package sendfile

import "golang.org/x/sys/unix"

// Send moves up to n bytes of file, from *off on, into the socket sock, and
// advances *off by the count it returns. Both are descriptors; sock should be
// non-blocking.
//
// A full socket is unix.EAGAIN (nothing was moved). A count below n without an
// error means that the socket took no more, or, when it is 0, that the file ends
// at *off. A file system without sendfile(2) is served by copying.
func Send(sock, file int, off *int64, n int) (int, error) {
	for {
		sent, err := unix.Sendfile(sock, file, off, n)
		switch err {
		case nil:
			return sent, nil
		case unix.EINTR:
			continue
		case unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP:
			return copyRange(sock, file, off, n)
		default:
			return 0, err
		}
	}
}
