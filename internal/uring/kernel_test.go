//go:build giouring && linux

package uring

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// refusing answers the first calls of enter with errors.
func refusing(r *Ring, errs ...error) {
	enter := r.enter
	r.enter = func(wait uint32) (uint, error) {
		if len(errs) > 0 {
			err := errs[0]
			errs = errs[1:]
			return 0, err
		}
		return enter(wait)
	}
}

// A call that was interrupted, or refused by a kernel that is short of memory or has
// completions waiting, is made again: every operation runs once.
func TestRefusedCallsAreMadeAgain(t *testing.T) {
	r, f := newRing(t, 8, 16), tempFile(t)
	res := make([]int32, 8)
	for _, errs := range [][]error{{unix.EINTR}, {unix.EINTR, unix.EINTR, unix.EAGAIN}, {unix.EBUSY, unix.EAGAIN, unix.EINTR, unix.EBUSY}} {
		for tag := range 8 {
			if err := r.PushWrite(int(f.Fd()), [][]byte{{1, 2}, {3}}, int64(3*tag), tag); err != nil {
				t.Fatal(err)
			}
		}
		refusing(r, errs...)
		if err := r.Run(res); err != nil {
			t.Fatalf("after %v: %v", errs, err)
		}
		for tag, n := range res {
			if n != 3 {
				t.Errorf("after %v: write %d gave %d, want 3", errs, tag, n)
			}
		}
		if r.Room() != 8 {
			t.Errorf("after %v: room for %d, want 8", errs, r.Room())
		}
	}
}

// A kernel that stays short of memory, and any other refusal, is an error of the run:
// what became of the operations is unknown.
func TestRefusalsThatStay(t *testing.T) {
	for _, refusal := range []error{unix.EAGAIN, unix.EBUSY, unix.EBADF, unix.ENXIO} {
		r, f := newRing(t, 4, 4), tempFile(t)
		r.patience = 3
		if err := r.PushSync(int(f.Fd()), 0); err != nil {
			t.Fatal(err)
		}
		calls := 0
		r.enter = func(uint32) (uint, error) { calls++; return 0, refusal }
		if err := r.Run(make([]int32, 1)); !errors.Is(err, refusal) {
			t.Errorf("%v: Run gave %v", refusal, err)
		}
		if want := map[error]int{unix.EAGAIN: 4, unix.EBUSY: 4}[refusal]; calls != max(want, 1) {
			t.Errorf("%v: %d calls, want %d", refusal, calls, max(want, 1))
		}
	}
}

// More completions than their queue holds are kept by the kernel until there is room
// (IORING_FEAT_NODROP). The package never has so many in flight; were it to, Run
// would still see each once.
func TestCompletionQueueOverflowLosesNothing(t *testing.T) {
	const entries, batches = 4, 6 // a completion queue of 8
	r, f := newRing(t, entries, entries*batches), tempFile(t)
	res := make([]int32, entries*batches)
	for b := range batches {
		for i := range entries {
			tag := b*entries + i
			res[tag] = -1
			// A run's worth each, with lengths that tell them apart.
			if err := r.PushWrite(int(f.Fd()), [][]byte{make([]byte, 1+tag)}, 0, tag); err != nil {
				t.Fatal(err)
			}
		}
		if b < batches-1 {
			if _, err := r.ring.Submit(); err != nil {
				t.Fatal(err)
			}
			r.pushed = 0
		}
	}
	r.pushed = entries * batches
	if err := r.Run(res); err != nil {
		t.Fatal(err)
	}
	for tag, n := range res {
		if int(n) != 1+tag {
			t.Errorf("write %d gave %d, want %d", tag, n, 1+tag)
		}
	}
	if r.ring.CQHasOverflow() {
		t.Error("completions are left behind")
	}
	// And the ring goes on.
	if err := r.PushSync(int(f.Fd()), 0); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(res[:1]); err != nil || res[0] != 0 {
		t.Errorf("a sync afterwards: %d, %v", res[0], err)
	}
}

// In its own use the queue never overflows, whatever the size of the ring.
func TestFullRingsDoNotOverflow(t *testing.T) {
	f := tempFile(t)
	for _, entries := range []int{1, 2, 64, 128} {
		r := newRing(t, entries, entries)
		res := make([]int32, entries)
		for range 3 {
			for tag := range entries {
				if err := r.PushWrite(int(f.Fd()), [][]byte{{7}}, int64(tag), tag); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.PushSync(int(f.Fd()), 0); !errors.Is(err, ErrFull) {
				t.Fatalf("one operation more than %d: %v, want ErrFull", entries, err)
			}
			if err := r.Run(res); err != nil || r.ring.CQHasOverflow() {
				t.Fatalf("%d operations: overflow %v, %v", entries, r.ring.CQHasOverflow(), err)
			}
		}
	}
}

// A short write is told as what it is: the kernel cannot read the second buffer and
// writes the first alone.
func TestShortWriteIsReported(t *testing.T) {
	r, f := newRing(t, 2, 4), tempFile(t)
	hole, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(hole)
	if err := r.PushWrite(int(f.Fd()), [][]byte{make([]byte, 4096), hole}, 0, 0); err != nil {
		t.Fatal(err)
	}
	res := make([]int32, 1)
	if err := r.Run(res); err != nil || res[0] != 4096 {
		t.Errorf("the write gave %d, %v; want 4096", res[0], err)
	}
}
