package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mem is a file system in memory that knows what would be on disk: for each
// file the bytes of the last sync, for each directory the names of the last
// SyncDir. KillClone and CrashClone make a copy as a new process would find
// it. Paths are cleaned; the root exists.
type Mem struct {
	mu    sync.Mutex
	dirs  map[string]*memDir
	locks map[string]bool
	now   func() time.Time
	boots int
}

// memDir maps a base name to a file; directories are keys of Mem.dirs and
// appear here with a nil inode.
type memDir struct {
	names  map[string]*inode
	synced map[string]*inode
}

type inode struct {
	mu     sync.RWMutex
	data   []byte
	synced []byte
	mtime  time.Time
}

// NewMem returns an empty file system.
func NewMem() *Mem {
	m := &Mem{dirs: make(map[string]*memDir), locks: make(map[string]bool), now: time.Now}
	m.dirs[string(filepath.Separator)] = newMemDir()
	m.dirs["."] = newMemDir()
	return m
}

func newMemDir() *memDir {
	return &memDir{names: make(map[string]*inode), synced: make(map[string]*inode)}
}

func notExist(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

func (m *Mem) OpenFile(name string, flag int) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	d := m.dirs[filepath.Dir(name)]
	if d == nil {
		return nil, notExist("open", name)
	}
	base := filepath.Base(name)
	node, ok := d.names[base]
	switch {
	case ok && node == nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("is a directory")}
	case ok && flag&os.O_EXCL != 0 && flag&os.O_CREATE != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case !ok && flag&os.O_CREATE == 0:
		return nil, notExist("open", name)
	case !ok:
		node = &inode{mtime: m.now()}
		d.names[base] = node
	}
	if flag&os.O_TRUNC != 0 {
		node.mu.Lock()
		node.data = nil
		node.mu.Unlock()
	}
	return &memFile{fs: m, node: node, name: name}, nil
}

func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, to = filepath.Clean(from), filepath.Clean(to)
	fd, td := m.dirs[filepath.Dir(from)], m.dirs[filepath.Dir(to)]
	if fd == nil || td == nil {
		return notExist("rename", from)
	}
	node, ok := fd.names[filepath.Base(from)]
	if !ok {
		return notExist("rename", from)
	}
	if node == nil {
		if old := m.dirs[to]; old != nil && len(old.names) > 0 {
			return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
		}
		for path, d := range maps.Clone(m.dirs) {
			if path == from || strings.HasPrefix(path, from+string(filepath.Separator)) {
				delete(m.dirs, path)
				m.dirs[to+path[len(from):]] = d
			}
		}
	}
	delete(fd.names, filepath.Base(from))
	td.names[filepath.Base(to)] = node
	return nil
}

func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	d := m.dirs[filepath.Dir(name)]
	if d == nil {
		return notExist("remove", name)
	}
	node, ok := d.names[filepath.Base(name)]
	if !ok {
		return notExist("remove", name)
	}
	if node == nil {
		if len(m.dirs[name].names) > 0 {
			return &fs.PathError{Op: "remove", Path: name, Err: fmt.Errorf("directory not empty")}
		}
		delete(m.dirs, name)
	}
	delete(d.names, filepath.Base(name))
	return nil
}

func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	for path := range m.dirs {
		if path == name || strings.HasPrefix(path, name+string(filepath.Separator)) {
			delete(m.dirs, path)
		}
	}
	if d := m.dirs[filepath.Dir(name)]; d != nil {
		delete(d.names, filepath.Base(name))
	}
	return nil
}

func (m *Mem) MkdirAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mkdirAll(filepath.Clean(name))
}

func (m *Mem) mkdirAll(name string) error {
	if m.dirs[name] != nil {
		return nil
	}
	parent := filepath.Dir(name)
	if err := m.mkdirAll(parent); err != nil {
		return err
	}
	if _, ok := m.dirs[parent].names[filepath.Base(name)]; ok {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	m.dirs[parent].names[filepath.Base(name)] = nil
	m.dirs[name] = newMemDir()
	return nil
}

func (m *Mem) ReadDir(name string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.dirs[filepath.Clean(name)]
	if d == nil {
		return nil, notExist("open", name)
	}
	var es []Entry
	for _, base := range slices.Sorted(maps.Keys(d.names)) {
		es = append(es, Entry{Name: base, IsDir: d.names[base] == nil})
	}
	return es, nil
}

func (m *Mem) Stat(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if m.dirs[name] != nil {
		return Info{IsDir: true}, nil
	}
	if d := m.dirs[filepath.Dir(name)]; d != nil {
		if node := d.names[filepath.Base(name)]; node != nil {
			node.mu.RLock()
			defer node.mu.RUnlock()
			return Info{Size: int64(len(node.data)), ModTime: node.mtime, Links: 1}, nil
		}
	}
	return Info{}, notExist("stat", name)
}

func (m *Mem) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.dirs[filepath.Clean(name)]
	if d == nil {
		return notExist("sync directory", name)
	}
	d.synced = maps.Clone(d.names)
	return nil
}

func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	f.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if m.locks[name] {
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
	m.locks[name] = true
	return memLock{m, name}, nil
}

type memLock struct {
	m    *Mem
	name string
}

func (l memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.locks, l.name)
	return nil
}

func (m *Mem) Space(string) (total, usable int64, err error) { return 1 << 40, 1 << 39, nil }

type memFile struct {
	fs   *Mem
	node *inode
	name string
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.node.mu.RLock()
	defer f.node.mu.RUnlock()
	if off >= int64(len(f.node.data)) {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	end := off + int64(len(p))
	if end > int64(len(f.node.data)) {
		f.node.data = append(f.node.data, make([]byte, end-int64(len(f.node.data)))...)
	}
	copy(f.node.data[off:], p)
	f.node.mtime = f.fs.now()
	return len(p), nil
}

func (f *memFile) WritevAt(bufs [][]byte, off int64) (n int, err error) {
	for _, b := range bufs {
		k, _ := f.WriteAt(b, off+int64(n))
		n += k
	}
	return n, nil
}

func (f *memFile) Truncate(size int64) error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if size <= int64(len(f.node.data)) {
		f.node.data = slices.Clip(f.node.data[:size])
	} else {
		f.node.data = append(f.node.data, make([]byte, size-int64(len(f.node.data)))...)
	}
	return nil
}

func (f *memFile) Allocate(int64, int64) error { return nil }

func (f *memFile) SyncData() error { return f.Sync() }

func (f *memFile) Sync() error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	f.node.synced = slices.Clone(f.node.data)
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.node.mu.RLock()
	defer f.node.mu.RUnlock()
	return int64(len(f.node.data)), nil
}

func (f *memFile) Links() (n uint64, err error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	for _, d := range f.fs.dirs {
		for _, node := range d.names {
			if node == f.node {
				n++
			}
		}
	}
	return n, nil
}

func (f *memFile) Fd() int      { return -1 }
func (f *memFile) WriteFd() int { return -1 }
func (f *memFile) Close() error { return nil }
