//go:build unix && !linux

package vfs

import (
	"io"
	"runtime"

	"golang.org/x/sys/unix"
)

func writevAll(fd int, bufs [][]byte, off int64) (done int, err error) {
	for _, b := range bufs {
		for len(b) > 0 {
			n, err := unix.Pwrite(fd, b, off+int64(done))
			if err == unix.EINTR {
				continue
			}
			if err == nil && n == 0 {
				err = io.ErrShortWrite
			}
			if err != nil {
				return done, err
			}
			b = b[n:]
			done += n
		}
	}
	return done, nil
}

// On darwin fsync leaves the bytes in the drive's cache; F_FULLFSYNC does not.
// 51 is F_FULLFSYNC; a file system without it falls back to fsync.
func fsync(fd int) error {
	if runtime.GOOS == "darwin" {
		if _, err := unix.FcntlInt(uintptr(fd), 51, 0); err == nil {
			return nil
		}
	}
	return unix.Fsync(fd)
}

func fdatasync(fd int) error { return fsync(fd) }

func allocate(int, int64, int64) error { return nil }

// BootID is not known.
func (OS) BootID() string { return "" }
