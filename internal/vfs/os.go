//go:build unix

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// OS is the real file system. Its files are bare descriptors: os.File would
// add a finalizer, a poller registration attempt per open and an indirection
// per write, and a broker holds thousands of them.
type OS struct{}

var _ FS = OS{}

func (OS) OpenFile(name string, flag int) (File, error) {
	for {
		fd, err := unix.Open(name, flag|unix.O_CLOEXEC, 0o644)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &osFile{fd: fd, name: name}, nil
	}
}

func (OS) Rename(from, to string) error { return os.Rename(from, to) }
func (OS) Remove(name string) error     { return os.Remove(name) }
func (OS) RemoveAll(name string) error  { return os.RemoveAll(name) }
func (OS) MkdirAll(name string) error   { return os.MkdirAll(name, 0o755) }

func (OS) ReadDir(name string) ([]Entry, error) {
	des, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	es := make([]Entry, len(des))
	for i, d := range des {
		es[i] = Entry{Name: d.Name(), IsDir: d.IsDir()}
	}
	return es, nil
}

func (OS) Stat(name string) (Info, error) {
	st, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	info := Info{Size: st.Size(), IsDir: st.IsDir(), ModTime: st.ModTime(), Links: 1}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		info.Links = uint64(sys.Nlink)
	}
	return info, nil
}

func (OS) SyncDir(name string) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	if err := fsync(fd); err != nil {
		return &fs.PathError{Op: "sync directory", Path: name, Err: err}
	}
	return nil
}

// Lock uses flock: it belongs to the open file, so it also keeps a second
// broker of the same process out, and the kernel drops it on SIGKILL.
func (OS) Lock(name string) (io.Closer, error) {
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		unix.Close(fd)
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return &osFile{fd: fd, name: name}, nil
}

func (OS) Space(name string) (total, usable int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	return int64(st.Blocks) * int64(st.Bsize), int64(st.Bavail) * int64(st.Bsize), nil
}

type osFile struct {
	fd   int
	name string
}

func (f *osFile) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

func (f *osFile) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		k, err := unix.Pread(f.fd, p[n:], off+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n, f.fail("read", err)
		}
		if k == 0 {
			return n, io.EOF
		}
		n += k
	}
	return n, nil
}

func (f *osFile) WriteAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		k, err := unix.Pwrite(f.fd, p[n:], off+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err == nil && k == 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return n, f.fail("write", err)
		}
		n += k
	}
	return n, nil
}

func (f *osFile) WritevAt(bufs [][]byte, off int64) (int, error) {
	n, err := writevAll(f.fd, bufs, off)
	if err != nil {
		return n, f.fail("write", err)
	}
	return n, nil
}

func (f *osFile) Truncate(size int64) error {
	if err := unix.Ftruncate(f.fd, size); err != nil {
		return f.fail("truncate", err)
	}
	return nil
}

func (f *osFile) Allocate(off, n int64) error {
	if err := allocate(f.fd, off, n); err != nil {
		return f.fail("allocate", err)
	}
	return nil
}

func (f *osFile) SyncData() error {
	if err := fdatasync(f.fd); err != nil {
		return f.fail("sync", err)
	}
	return nil
}

func (f *osFile) Sync() error {
	if err := fsync(f.fd); err != nil {
		return f.fail("sync", err)
	}
	return nil
}

func (f *osFile) Size() (int64, error) {
	st, err := f.stat()
	return st.Size, err
}

func (f *osFile) Links() (uint64, error) {
	st, err := f.stat()
	return uint64(st.Nlink), err
}

func (f *osFile) stat() (st unix.Stat_t, err error) {
	if err := unix.Fstat(f.fd, &st); err != nil {
		return unix.Stat_t{}, f.fail("stat", err)
	}
	return st, nil
}

func (f *osFile) Fd() int      { return f.fd }
func (f *osFile) WriteFd() int { return f.fd }

func (f *osFile) Close() error {
	fd := f.fd
	f.fd = -1
	if fd < 0 {
		return fs.ErrClosed
	}
	if err := unix.Close(fd); err != nil {
		return f.fail("close", err)
	}
	return nil
}
