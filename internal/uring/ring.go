//go:build giouring && linux

package uring

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"
)

// Compiled reports whether this binary has the ring.
const Compiled = true

// MaxVectors is the kernel's limit of buffers in one write (IOV_MAX).
const MaxVectors = 1024

// ErrFull: the ring or its vector table has no room; Run first.
var ErrFull = errors.New("ring is full")

// maxBusy bounds how many milliseconds Run waits for a kernel that is short
// of memory before it gives up.
const maxBusy = 5000

// errLost: the kernel took an operation and no completion came.
var errLost = errors.New("io_uring lost a completion")

// Ring runs batches of operations.
type Ring struct {
	ring    *giouring.Ring
	entries int
	pushed  int
	mem     []byte // mapped; holds vecs
	vecs    []syscall.Iovec
	used    int // vecs taken since the last Run

	// enter submits and waits for so many completions. Tests put the kernel's
	// refusals in its place.
	enter    func(wait uint32) (uint, error)
	patience int // ms that Run waits for a kernel that is short of memory
}

// New makes a ring for up to entries operations and vectors buffers a run.
// The errors to expect where io_uring is not allowed: ENOSYS, EPERM, ENOMEM.
func New(entries, vectors int) (*Ring, error) {
	r := &Ring{ring: giouring.NewRing(), entries: entries}
	if err := r.ring.QueueInit(uint32(entries), 0); err != nil {
		return nil, fmt.Errorf("io_uring_setup: %w", err)
	}
	r.enter, r.patience = r.ring.SubmitAndWait, maxBusy
	if vectors > 0 {
		size := vectors * int(unsafe.Sizeof(syscall.Iovec{}))
		mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			r.ring.QueueExit()
			return nil, fmt.Errorf("map vector table: %w", err)
		}
		r.mem = mem
		r.vecs = unsafe.Slice((*syscall.Iovec)(unsafe.Pointer(&mem[0])), vectors)
	}
	return r, nil
}

// Room is the number of operations that can still be pushed before a Run.
func (r *Ring) Room() int { return r.entries - r.pushed }

// next returns a clean SQE. giouring's prepare functions leave parts of the
// slot as the last operation set them.
func (r *Ring) next() (*giouring.SubmissionQueueEntry, error) {
	if r.pushed == r.entries {
		return nil, ErrFull
	}
	sqe := r.ring.GetSQE()
	if sqe == nil {
		return nil, ErrFull
	}
	*sqe = giouring.SubmissionQueueEntry{}
	r.pushed++
	return sqe, nil
}

// PushWrite queues a write of bufs, one after the other, at off. The result
// goes to results[tag] of Run: bytes written, which may be fewer, or -errno.
// Empty buffers are allowed; at most MaxVectors others.
func (r *Ring) PushWrite(fd int, bufs [][]byte, off int64, tag int) error {
	k := 0
	for _, b := range bufs {
		if len(b) > 0 {
			k++
		}
	}
	if k > MaxVectors || r.used+k > len(r.vecs) {
		return ErrFull
	}
	sqe, err := r.next()
	if err != nil {
		return err
	}
	first := r.used
	for _, b := range bufs {
		if len(b) > 0 {
			v := &r.vecs[r.used]
			// A plain store of the address: the table is not heap memory, so
			// the collector neither sees nor needs to see it.
			*(*uintptr)(unsafe.Pointer(&v.Base)) = uintptr(unsafe.Pointer(&b[0]))
			v.SetLen(len(b))
			r.used++
		}
	}
	var table uintptr
	if k > 0 {
		table = uintptr(unsafe.Pointer(&r.vecs[first]))
	}
	sqe.PrepareWritev(fd, table, uint32(k), uint64(off))
	sqe.UserData = uint64(tag)
	return nil
}

// PushSync queues an fdatasync. It covers only writes that were complete
// before this run began.
func (r *Ring) PushSync(fd, tag int) error {
	sqe, err := r.next()
	if err != nil {
		return err
	}
	sqe.PrepareFsync(fd, giouring.FsyncDatasync)
	sqe.UserData = uint64(tag)
	return nil
}

// Run submits what was pushed and waits for all of it. results is indexed by
// tag. After an error the ring is unusable, and whether the operations took
// place is unknown.
func (r *Ring) Run(results []int32) error {
	left := uint32(r.pushed)
	patience := r.patience
	for done := uint32(0); done < left; {
		_, err := r.enter(left - done)
		switch {
		case err == nil, errors.Is(err, unix.EINTR):
		case (errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EBUSY)) && patience > 0:
			patience-- // short of memory; what was submitted may complete meanwhile
			time.Sleep(time.Millisecond)
		default:
			return fmt.Errorf("io_uring_enter: %w", err)
		}
		got := r.ring.CQReady()
		for range got {
			cqe, err := r.ring.PeekCQE()
			if err != nil || cqe == nil {
				return errLost
			}
			if cqe.UserData < uint64(len(results)) {
				results[cqe.UserData] = cqe.Res
			}
			r.ring.CQAdvance(1)
		}
		done += got
	}
	r.pushed, r.used = 0, 0
	return nil
}

// Close gives the ring and its table back.
func (r *Ring) Close() error {
	r.ring.QueueExit()
	if r.mem != nil {
		return unix.Munmap(r.mem)
	}
	return nil
}
