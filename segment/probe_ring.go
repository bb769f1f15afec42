//go:build giouring && linux

package segment

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringmain/internal/uring"
)

// probeRing asks for a ring, and writes a few KiB to a scratch file in dir without
// leave to wait: a file system that refuses hands the buffered writes of a ring to
// kernel threads. To look whether completions are there directly after their submission
// would depend on who had the processor: on a busy machine such a thread was sometimes done first.
func probeRing(dir string, force bool) (func() (LogIO, error), string, string, error) {
	ring, err := uring.New(8, 8)
	if err != nil {
		return nil, "", "", fmt.Errorf("io_uring is not available: %w", err)
	}
	defer ring.Close()
	if force {
		return func() (LogIO, error) { return NewRingIO(true), nil }, "uring", "ringmain.io.engine asks for it", nil
	}
	path := filepath.Join(dir, probeName)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, "", "", fmt.Errorf("io_uring probe: %w", err)
	}
	defer os.Remove(path)
	defer unix.Close(fd)
	block := make([]byte, 4096)
	var res [1]int32
	if err = ring.PushWrite(fd, [][]byte{block}, 0, 0); err == nil {
		err = ring.Run(res[:])
	}
	if err != nil {
		return nil, "", "", fmt.Errorf("io_uring probe: %w", err)
	}
	if int(res[0]) != len(block) {
		return nil, "", "", fmt.Errorf("io_uring probe: a write of %d bytes gave %d", len(block), res[0])
	}
	why, ok := takesWithoutWaiting(func(at int64, flags int) (int, error) {
		return unix.Pwritev2(fd, [][]byte{block}, at, flags)
	}, len(block))
	if ok {
		return func() (LogIO, error) { return NewRingIO(true), nil }, "uring", why, nil
	}
	return func() (LogIO, error) { return NewRingIO(false), nil }, "hybrid",
		why + ": pwritev for data, io_uring for the sync of several files", nil
}

const (
	probeWrites = 8  // blocks that must be taken without leave to wait
	probeTries  = 16 // blocks that are tried
)

// takesWithoutWaiting reports whether a file system takes appends of size bytes that must
// not wait, and why. One that cannot do it says so (ext4, tmpfs: EOPNOTSUPP) or asks to try
// again each time (btrfs: EAGAIN). One that can may ask now and then, when the write would
// begin with a change of the file's times (XFS): a plain write of that block makes the
// change, and then it takes the next one.
func takesWithoutWaiting(write func(at int64, flags int) (int, error), size int) (why string, ok bool) {
	taken := 0
	for i := range probeTries {
		at := int64(i) * int64(size)
		n, err := write(at, unix.RWF_NOWAIT)
		if err != nil && err != unix.EAGAIN && err != unix.EINTR {
			return fmt.Sprintf("the file system takes no buffered writes without waiting (%v)", err), false
		}
		if err == nil && n == size {
			if taken++; taken == probeWrites {
				return "the file system takes buffered writes without waiting", true
			}
			continue
		}
		if n, err := write(at, 0); err != nil || n != size {
			return fmt.Sprintf("a buffered write of %d bytes gave %d (%v)", size, n, err), false
		}
	}
	return fmt.Sprintf("the file system takes %d of %d buffered writes without waiting", taken, probeTries), false
}
