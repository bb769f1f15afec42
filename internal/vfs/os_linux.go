package vfs

import (
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// iovMax is the kernel's limit of buffers in one pwritev (IOV_MAX).
const iovMax = 1024

// The iovec tables are pooled: x/sys's Pwritev makes one per call.
var iovPool = sync.Pool{New: func() any { return new([iovMax]unix.Iovec) }}

func writevAll(fd int, bufs [][]byte, off int64) (int, error) {
	iov := iovPool.Get().(*[iovMax]unix.Iovec)
	defer iovPool.Put(iov)
	return writeVectors(iov, bufs, func(v []unix.Iovec, done int) (int, syscall.Errno) {
		at := off + int64(done)
		n, _, e := unix.Syscall6(unix.SYS_PWRITEV, uintptr(fd), uintptr(unsafe.Pointer(&v[0])),
			uintptr(len(v)), uintptr(at), uintptr(at>>32), 0)
		return int(n), e
	})
}

// writeVectors calls write with at most iovMax buffers at a time until all are
// written, whatever short counts it returns. EINTR is tried again.
func writeVectors(iov *[iovMax]unix.Iovec, bufs [][]byte, write func(v []unix.Iovec, done int) (int, syscall.Errno)) (int, error) {
	done, skip := 0, 0 // bytes written in all; of them those of bufs[0]
	for {
		k := 0
		for i, b := range bufs {
			if k == iovMax {
				break
			}
			if i == 0 {
				b = b[skip:]
			}
			if len(b) > 0 {
				iov[k].Base = &b[0]
				iov[k].SetLen(len(b))
				k++
			}
		}
		if k == 0 {
			return done, nil
		}
		n, e := write(iov[:k], done)
		clear(iov[:k]) // a pooled table must not keep frames alive
		switch {
		case e == unix.EINTR:
			continue
		case e != 0:
			return done, e
		case n == 0:
			return done, io.ErrShortWrite
		}
		done += n
		skip += n
		for len(bufs) > 0 && skip >= len(bufs[0]) {
			skip -= len(bufs[0])
			bufs = bufs[1:]
		}
	}
}

func fdatasync(fd int) error { return unix.Fdatasync(fd) }
func fsync(fd int) error     { return unix.Fsync(fd) }

func allocate(fd int, off, n int64) error {
	err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, n)
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return nil
	}
	return err
}

// BootID is the kernel's (random(4)).
func (OS) BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
