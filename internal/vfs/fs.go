package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrLocked: another process (or this one, a second time) holds the lock.
var ErrLocked = errors.New("locked by another process")

// FS is a file system. Paths are the host's own. A missing name gives an
// error for which errors.Is(err, fs.ErrNotExist) holds.
type FS interface {
	// OpenFile opens name; flag is a mix of os.O_RDONLY, os.O_RDWR,
	// os.O_CREATE, os.O_EXCL and os.O_TRUNC. New files get mode 0644.
	OpenFile(name string, flag int) (File, error)
	// Rename moves a file or directory over an existing file. Durable only
	// after SyncDir.
	Rename(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	MkdirAll(name string) error
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]Entry, error)
	Stat(name string) (Info, error)
	// SyncDir makes the names in the directory durable.
	SyncDir(name string) error
	// Lock takes an exclusive advisory lock on the file name, which is
	// created when missing. It goes away with the process.
	Lock(name string) (io.Closer, error)
	// Space gives the size and the usable free bytes of the volume that
	// holds name.
	Space(name string) (total, usable int64, err error)
	// BootID names the system's run: while it is the same, everything that was written
	// is there, synced or not. "" where that cannot be known.
	BootID() string
}

// File is one open file. Offsets are given with every call; there is no
// position.
type File interface {
	io.ReaderAt
	io.WriterAt
	// WritevAt writes all of bufs one after the other from off on, with as
	// few system calls as possible. n < the sum only with an error.
	WritevAt(bufs [][]byte, off int64) (n int, err error)
	Truncate(size int64) error
	// Allocate reserves blocks without changing the visible size. A file
	// system that cannot do it is no error.
	Allocate(off, n int64) error
	// SyncData makes the bytes and the size durable (fdatasync; F_FULLFSYNC
	// on darwin). An error is final: never call it again and believe it.
	SyncData() error
	// Sync is SyncData plus the remaining metadata (fsync).
	Sync() error
	Size() (int64, error)
	// Links is how many names the file has; 0 once it is removed or replaced.
	Links() (uint64, error)
	// Fd is the descriptor for reading (sendfile), -1 when there is none.
	Fd() int
	// WriteFd is the descriptor to which writes and syncs may be handed
	// directly (io_uring) without this File noticing; -1 when they must go
	// through the methods.
	WriteFd() int
	Close() error
}

// Entry is one name in a directory.
type Entry struct {
	Name  string
	IsDir bool
}

// Info describes a file or directory. Size is in bytes, Links how many names it has.
type Info struct {
	Size    int64
	IsDir   bool
	ModTime time.Time
	Links   uint64
}

// ReadFile returns the whole content of a file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:n], nil
}

// WriteFile replaces the content of name with b by way of name + ".tmp" and a
// rename, so that a reader or a killed process sees the old or the new
// content, never a mixture. With durable set the content and the name are on
// disk before it returns; without, only SIGKILL is survived.
func WriteFile(fsys FS, name string, b []byte, durable bool) error {
	err := Replace(fsys, name, b, durable)
	if err == nil && durable {
		err = fsys.SyncDir(filepath.Dir(name))
	}
	return err
}

// Replace is WriteFile without the sync of the directory: after an error the old
// content is still there. With synced set the content is on disk before it has the name.
func Replace(fsys FS, name string, b []byte, synced bool) error {
	tmp := name + ".tmp"
	f, err := fsys.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil && synced {
		err = f.SyncData()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = fsys.Rename(tmp, name)
	}
	if err != nil {
		fsys.Remove(tmp)
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Exists reports whether name is there.
func Exists(fsys FS, name string) (bool, error) {
	_, err := fsys.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
