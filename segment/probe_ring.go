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
	const writes = 8
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
	ready := 0
	for i := range writes {
		if n, err := unix.Pwritev2(fd, [][]byte{block}, int64(i)*int64(len(block)), unix.RWF_NOWAIT); err == nil && n == len(block) {
			ready++
		}
	}
	if ready == writes {
		return func() (LogIO, error) { return NewRingIO(true), nil }, "uring", "the file system takes buffered writes without waiting", nil
	}
	return func() (LogIO, error) { return NewRingIO(false), nil }, "hybrid",
		fmt.Sprintf("the file system takes %d of %d buffered writes without waiting: pwritev for data, io_uring for the sync of several files", ready, writes), nil
}
