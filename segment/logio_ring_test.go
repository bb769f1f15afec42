//go:build giouring && linux

package segment

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"ringmain/internal/vfs"
)

// What a completion may say: everything, a part (the rest follows, and the
// write counts only then), nothing because of a passing shortage, or an error.
func TestFinishWrite(t *testing.T) {
	bufs := [][]byte{[]byte("abc"), nil, []byte("defgh"), []byte("i")}
	for res, wantErr := range map[int32]error{9: nil, 8: nil, 3: nil, 4: nil, 1: nil, 0: nil,
		-int32(unix.EAGAIN): nil, -int32(unix.EINTR): nil, -int32(unix.EIO): unix.EIO, -int32(unix.ECANCELED): unix.ECANCELED} {
		h := &home{fs: vfs.OS{}, budget: NewFileBudget(16), path: t.TempDir()}
		f := newFile(h, 0, logSuffix)
		if err := f.acquireFlag(os.O_RDWR | os.O_CREATE); err != nil {
			t.Fatal(err)
		}
		if res > 0 { // what the ring wrote
			f.f.WriteAt([]byte("abcdefghi")[:res], 5)
		}
		err := finishWrite(&PartitionWrite{File: f, Off: 5, Bufs: bufs}, res)
		if !errors.Is(err, wantErr) {
			t.Errorf("result %d: %v, want %v", res, err, wantErr)
		}
		if wantErr == nil {
			got, _ := os.ReadFile(f.Path())
			if !bytes.Equal(got, append(make([]byte, 5), "abcdefghi"...)) {
				t.Errorf("result %d: file is %q", res, got)
			}
		}
		f.Release()
	}
}

// An error of one file's sync stays with that file.
func TestRingSyncErrorsPerFile(t *testing.T) {
	io := NewRingIO(false)
	defer io.Close()
	var files []*File
	h := &home{fs: vfs.OS{}, budget: NewFileBudget(16), path: t.TempDir()}
	for base := range int64(3) {
		f := newFile(h, base, logSuffix)
		if err := f.acquireFlag(os.O_RDWR | os.O_CREATE); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	pipe := make([]int, 2)
	if err := unix.Pipe2(pipe, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	good := files[1].f
	files[1].f = notSyncable{File: good, fd: pipe[1]} // fdatasync of a pipe is EINVAL
	errs := io.Sync(files)
	files[1].f = good
	unix.Close(pipe[1])
	if len(errs) != 3 || errs[0] != nil || !errors.Is(errs[1], unix.EINVAL) || errs[2] != nil {
		t.Errorf("errors %v, want one for the second file", errs)
	}
}

type notSyncable struct {
	vfs.File
	fd int
}

func (n notSyncable) WriteFd() int { return n.fd }
