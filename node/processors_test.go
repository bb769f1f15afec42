package node

import (
	"os"
	"runtime"
	"testing"
)

func TestEventLoops(t *testing.T) {
	for processors, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 2, 8: 4, 64: 32} {
		if got := eventLoops(processors); got != want {
			t.Errorf("%d processors: %d event loops, want %d", processors, got, want)
		}
	}
}

// However many loops there are, something else can run while all of them wait.
func TestRoomBesideTheLoops(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	t.Setenv("GOMAXPROCS", "")
	os.Unsetenv("GOMAXPROCS")
	for _, loops := range []int{1, before - 1, before, before + 3} {
		runtime.GOMAXPROCS(before)
		leaveRoom(loops)
		if got := runtime.GOMAXPROCS(0); got <= loops || got < before || got > max(before, loops+1) {
			t.Errorf("%d processors, %d loops: GOMAXPROCS %d", before, loops, got)
		}
	}
	t.Setenv("GOMAXPROCS", "1")
	runtime.GOMAXPROCS(1)
	leaveRoom(4)
	if got := runtime.GOMAXPROCS(0); got != 1 {
		t.Errorf("GOMAXPROCS is 1 in the environment, and became %d", got)
	}
}
