//go:build giouring && linux

package segment

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ringmain/internal/vfs"
)

// newSegmentFiles opens so many new files in one partition directory.
func newSegmentFiles(t testing.TB, n int) []*File {
	t.Helper()
	h := &home{fs: vfs.OS{}, budget: NewFileBudget(64), path: t.TempDir()}
	var files []*File
	for base := range int64(n) {
		f := newFile(h, base, logSuffix)
		if err := f.acquireFlag(os.O_RDWR | os.O_CREATE); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Release)
		files = append(files, f)
	}
	return files
}

// countedSync counts the syncs asked for beside the ring, and answers them.
type countedSync struct {
	vfs.File
	calls *int
	err   error
}

func (c countedSync) SyncData() error { *c.calls++; return c.err }

// What a completion of a sync may say. Only one that was not begun is repeated, once;
// an error must not be: the kernel has marked the pages clean.
func TestFinishSync(t *testing.T) {
	for _, c := range []struct {
		res   int32
		again error // what a repeated sync says
		calls int
		want  error
	}{
		{res: 0},
		{res: -int32(unix.EAGAIN), calls: 1},
		{res: -int32(unix.EINTR), calls: 1},
		{res: -int32(unix.EINTR), again: unix.EIO, calls: 1, want: unix.EIO},
		{res: -int32(unix.ECANCELED), want: unix.ECANCELED},
		{res: -int32(unix.EIO), want: unix.EIO},
		{res: -int32(unix.ENOSPC), want: unix.ENOSPC},
	} {
		f, calls := newSegmentFiles(t, 1)[0], 0
		good := f.f
		f.f = countedSync{File: good, calls: &calls, err: c.again}
		err := finishSync(f, c.res)
		f.f = good
		if !errors.Is(err, c.want) || calls != c.calls {
			t.Errorf("result %d: %v after %d more syncs, want %v after %d", c.res, err, calls, c.want, c.calls)
		}
	}
}

// takeRings puts something that is no ring in the place of every ring opened by make.
func takeRings(t *testing.T, make func()) {
	t.Helper()
	rings := func() map[int]bool {
		found := map[int]bool{}
		es, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.Contains(to, "io_uring") {
				fd, _ := strconv.Atoi(e.Name())
				found[fd] = true
			}
		}
		return found
	}
	before := rings()
	make()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	taken := 0
	for fd := range rings() {
		if !before[fd] {
			if err := unix.Dup3(int(null.Fd()), fd, unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			taken++
		}
	}
	if taken == 0 {
		t.Fatal("no ring was made")
	}
}

// After an error of the ring itself nobody knows what was written or synced: what was in
// it has failed for good. What comes later goes without the ring.
func TestABrokenRingFailsWhatWasInItOnly(t *testing.T) {
	if len(backends) == 1 {
		t.Skip("io_uring is not allowed here")
	}
	io := NewRingIO(true)
	defer io.Close()
	files := newSegmentFiles(t, 3)
	// Rolls within a partition go in runs of their own, so these belong to three.
	var round []PartitionWrite
	for _, f := range files {
		f.home = &home{fs: f.home.fs, budget: f.home.budget, path: f.home.path}
		round = append(round, PartitionWrite{File: f, Bufs: [][]byte{[]byte("batch")}})
	}
	takeRings(t, func() {
		if errs := io.Append(round); errs != nil {
			t.Fatal(errs)
		}
		if errs := io.Sync(files); errs != nil {
			t.Fatal(errs)
		}
	})
	for what, errs := range map[string][]error{"append": io.Append(round), "sync": io.Sync(files)} {
		if len(errs) != 3 {
			t.Fatalf("%s in a broken ring: %v, want an error for each file", what, errs)
		}
		for _, err := range errs {
			if !errors.Is(err, ErrStorage) || !strings.Contains(err.Error(), "io_uring_enter") {
				t.Errorf("%s in a broken ring: %v", what, err)
			}
		}
	}
	if errs := io.Append(round); errs != nil {
		t.Errorf("append after the ring broke: %v", errs)
	}
	if errs := io.Sync(files); len(errs) != 3 || errs[0] == nil {
		t.Errorf("sync of the same files after the ring broke: %v; what became of their bytes is unknown for ever", errs)
	}
	if errs := io.Sync(newSegmentFiles(t, 3)); errs != nil {
		t.Errorf("sync of other files after the ring broke: %v", errs)
	}
}

// refuseRings makes the kernel answer io_uring_setup with errno from now on, as a
// container's seccomp profile does. It cannot be undone.
func refuseRings(errno unix.Errno) error {
	const load, jumpIfEqual, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{
		{Code: load, K: 0}, // the number of the system call
		{Code: jumpIfEqual, K: unix.SYS_IO_URING_SETUP, Jf: 1},
		{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&f))); e != 0 {
		return e
	}
	return nil
}

const refusedRing = "RINGMAIN_TEST_REFUSED_RING"

// Where io_uring is refused the broker runs with pwritev and says why; a backend that
// was chosen before does its work without a ring.
func TestRefusedRingFallsBack(t *testing.T) {
	if v := os.Getenv(refusedRing); v != "" {
		errno, _ := strconv.Atoi(v)
		if err := refuseRings(unix.Errno(errno)); err != nil {
			t.Skip("no seccomp here:", err)
		}
		fallBack(t, unix.Errno(errno))
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, errno := range []unix.Errno{unix.EPERM, unix.ENOMEM, unix.ENOSYS} {
		cmd := exec.Command(self, "-test.run=^TestRefusedRingFallsBack$", "-test.v")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", refusedRing, int(errno)))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", errno, err, out)
		} else if strings.Contains(string(out), "SKIP") {
			t.Skipf("%s", out)
		}
	}
}

func fallBack(t *testing.T, errno unix.Errno) {
	factory, name, why, err := ProbeIO(t.TempDir(), "auto")
	if err != nil || name != "pwritev" || !strings.Contains(why, "io_uring is not available") || !strings.Contains(why, errno.Error()) {
		t.Errorf("auto: %q because %q, %v; want pwritev because of %v", name, why, err, errno)
	}
	probed, err := factory()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := ProbeIO(t.TempDir(), "uring"); !errors.Is(err, errno) {
		t.Errorf("uring was asked for: %v, want %v", err, errno)
	}
	for _, io := range []LogIO{probed, NewRingIO(true), NewRingIO(false)} {
		files := newSegmentFiles(t, 3)
		var round []PartitionWrite
		for _, f := range files {
			round = append(round, PartitionWrite{File: f, Bufs: [][]byte{[]byte("ba"), []byte("tch")}})
		}
		if errs := io.Append(round); errs != nil {
			t.Errorf("%s: append: %v", io.Name(), errs)
		}
		if errs := io.Sync(files); errs != nil {
			t.Errorf("%s: sync: %v", io.Name(), errs)
		}
		for _, f := range files {
			if got, err := os.ReadFile(f.Path()); err != nil || string(got) != "batch" {
				t.Errorf("%s: %q, %v", io.Name(), got, err)
			}
		}
		if err := io.Close(); err != nil {
			t.Errorf("%s: close: %v", io.Name(), err)
		}
	}
}
