package sendfile

import (
	"sync"

	"golang.org/x/sys/unix"
)

// copyChunk is how much one call of the copying path moves: about what a socket
// takes at once, so that little is read twice when the socket is full.
const copyChunk = 64 << 10

var chunks = sync.Pool{New: func() any { return new([copyChunk]byte) }}

// copyRange is the path without sendfile(2). What the socket did not take is
// read again by the next call; the bytes are in page cache by then.
func copyRange(sock, file int, off *int64, n int) (int, error) {
	chunk := chunks.Get().(*[copyChunk]byte)
	defer chunks.Put(chunk)
	sent := 0
	for sent < n {
		want := min(n-sent, copyChunk)
		got, err := unix.Pread(file, chunk[:want], *off)
		if err == unix.EINTR {
			continue
		}
		if err != nil || got == 0 {
			return sent, err
		}
		put, err := unix.Write(sock, chunk[:got])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			if sent > 0 && err == unix.EAGAIN {
				return sent, nil
			}
			return sent, err
		}
		*off += int64(put)
		sent += put
		if put < got {
			return sent, nil
		}
	}
	return sent, nil
}
