//go:build giouring && linux

package segment

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringmain/internal/uring"
)

// probeRing writes a few KiB to a scratch file in dir and looks whether the
// completions are there directly after the submission.
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
	res := make([]int32, writes)
	for i := range writes {
		if err := ring.PushWrite(fd, [][]byte{block}, int64(i)*int64(len(block)), i); err != nil {
			return nil, "", "", fmt.Errorf("io_uring probe: %w", err)
		}
	}
	ready, err := ring.Inline(res)
	if err != nil {
		return nil, "", "", fmt.Errorf("io_uring probe: %w", err)
	}
	for _, n := range res {
		if int(n) != len(block) {
			return nil, "", "", fmt.Errorf("io_uring probe: a write of %d bytes gave %d", len(block), n)
		}
	}
	if ready == writes {
		return func() (LogIO, error) { return NewRingIO(true), nil }, "uring", "the file system completes buffered ring writes at once", nil
	}
	return func() (LogIO, error) { return NewRingIO(false), nil }, "hybrid",
		fmt.Sprintf("%d of %d buffered ring writes completed at once: pwritev for data, io_uring for the sync of several files", ready, writes), nil
}
