package vfs

import (
	"bytes"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel may take any part of what it is given: every split must give the
// same bytes, none twice, none left out.
func TestWriteVectorsSurvivesShortWrites(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var bufs [][]byte
		var want []byte
		for range rng.IntN(2500) {
			b := make([]byte, rng.IntN(5))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			bufs = append(bufs, b)
			want = append(want, b...)
		}
		var got []byte
		n, err := writeVectors(new([iovMax]unix.Iovec), bufs, func(v []unix.Iovec, done int) (int, syscall.Errno) {
			if rng.IntN(10) == 0 {
				return 0, unix.EINTR
			}
			if done != len(got) || len(v) > iovMax {
				t.Fatalf("called with done = %d after %d bytes, %d buffers", done, len(got), len(v))
			}
			total := 0
			for _, x := range v {
				total += int(x.Len)
			}
			take := 1 + rng.IntN(total)
			for left, i := take, 0; left > 0; i++ {
				k := min(left, int(v[i].Len))
				got = append(got, unsafe.Slice(v[i].Base, k)...)
				left -= k
			}
			return take, 0
		})
		if err != nil || n != len(want) || !bytes.Equal(got, want) {
			t.Fatalf("wrote %d of %d bytes, err %v, equal %v", n, len(want), err, bytes.Equal(got, want))
		}
	}
}

func TestWritevAtAllocatesNothing(t *testing.T) {
	f, err := OS{}.OpenFile(t.TempDir()+"/f", unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	bufs := make([][]byte, 40)
	for i := range bufs {
		bufs[i] = make([]byte, 100)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := f.WritevAt(bufs, 7); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 && !raceEnabled { // the race detector makes sync.Pool forget on purpose
		t.Errorf("WritevAt allocates %v times", n)
	}
}
