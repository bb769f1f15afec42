//go:build giouring && linux

package uring

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func newRing(t *testing.T, entries, vectors int) *Ring {
	t.Helper()
	r, err := New(entries, vectors)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		t.Skip("io_uring is not allowed here:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func tempFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Writes and syncs that take turns in the same slots: giouring leaves the
// sync's flag in the slot, which would make the next write fail with EINVAL.
func TestWritesAfterSyncsInTheSameSlots(t *testing.T) {
	r, f := newRing(t, 4, 64), tempFile(t)
	fd := int(f.Fd())
	var want []byte
	res := make([]int32, 4)
	for round := range 20 {
		for tag := range 4 {
			part := bytes.Repeat([]byte{byte(round*4 + tag)}, 100)
			if err := r.PushWrite(fd, [][]byte{part[:10], nil, part[10:]}, int64(len(want)), tag); err != nil {
				t.Fatal(err)
			}
			want = append(want, part...)
		}
		if err := r.PushSync(fd, 0); !errors.Is(err, ErrFull) {
			t.Fatalf("fifth operation in a ring of four: %v, want ErrFull", err)
		}
		if err := r.Run(res); err != nil {
			t.Fatal(err)
		}
		for tag, n := range res {
			if n != 100 {
				t.Fatalf("round %d: write %d gave %d, want 100", round, tag, n)
			}
		}
		for tag := range 3 {
			if err := r.PushSync(fd, tag); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Run(res[:3]); err != nil || res[0] != 0 || res[1] != 0 || res[2] != 0 {
			t.Fatalf("syncs: %v, %v", res[:3], err)
		}
	}
	got, err := os.ReadFile(f.Name())
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("file has %d bytes, want %d; equal %v; %v", len(got), len(want), bytes.Equal(got, want), err)
	}
}

func TestErrorsComeBackPerOperation(t *testing.T) {
	r, f := newRing(t, 4, 8), tempFile(t)
	res := make([]int32, 2)
	r.PushWrite(-1, [][]byte{{1}}, 0, 0)
	r.PushWrite(int(f.Fd()), [][]byte{{1, 2}}, 0, 1)
	if err := r.Run(res); err != nil || res[0] != -int32(unix.EBADF) || res[1] != 2 {
		t.Fatalf("results %v, %v; want -EBADF and 2", res, err)
	}
}

func TestVectorTableIsBounded(t *testing.T) {
	r, f := newRing(t, 4, 4), tempFile(t)
	if err := r.PushWrite(int(f.Fd()), make2D(5), 0, 0); !errors.Is(err, ErrFull) {
		t.Fatalf("five buffers in a table of four: %v, want ErrFull", err)
	}
	if err := r.PushWrite(int(f.Fd()), make2D(4), 0, 0); err != nil {
		t.Fatal(err)
	}
	res := make([]int32, 1)
	if err := r.Run(res); err != nil || res[0] != 4 {
		t.Fatalf("%v, %v", res, err)
	}
}

func make2D(n int) [][]byte {
	b := make([][]byte, n)
	for i := range b {
		b[i] = []byte{byte(i)}
	}
	return b
}
