package vfs

import (
	"io"
	"path/filepath"
	"sync"
)

// Op names an operation that Faulty can fail.
type Op string

// The operations of FS and File. A rule for OpWrite also meets WritevAt.
const (
	OpOpen     Op = "open"
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpSync     Op = "sync"
	OpTruncate Op = "truncate"
	OpRename   Op = "rename"
	OpRemove   Op = "remove"
	OpMkdir    Op = "mkdir"
	OpReadDir  Op = "readdir"
	OpSyncDir  Op = "syncdir"
)

// Rule makes an operation fail.
type Rule struct {
	Op      Op
	Pattern string // path.Match pattern for the base name; "" meets every file
	After   int    // let so many pass first
	Times   int    // fail so many, then stop; 0 means for ever
	Short   int    // OpWrite: write so many bytes before failing
	Err     error
}

// Faulty injects errors into another FS. Its files have no WriteFd, so that
// no backend can write behind its back.
type Faulty struct {
	FS
	mu    sync.Mutex
	rules []*Rule
}

// NewFaulty wraps fsys with no rules.
func NewFaulty(fsys FS) *Faulty { return &Faulty{FS: fsys} }

// Inject adds a rule; the first one that meets an operation decides.
func (f *Faulty) Inject(r Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &r)
}

// Heal removes all rules.
func (f *Faulty) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

func (f *Faulty) check(op Op, name string) (short int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		if r.Op != op {
			continue
		}
		if r.Pattern != "" {
			if ok, _ := filepath.Match(r.Pattern, filepath.Base(name)); !ok {
				continue
			}
		}
		if r.After > 0 {
			r.After--
			continue
		}
		if r.Times < 0 {
			continue
		}
		if r.Times > 0 {
			if r.Times--; r.Times == 0 {
				r.Times = -1
			}
		}
		return r.Short, r.Err
	}
	return 0, nil
}

func (f *Faulty) OpenFile(name string, flag int) (File, error) {
	if _, err := f.check(OpOpen, name); err != nil {
		return nil, err
	}
	g, err := f.FS.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: g, fs: f, name: name}, nil
}

func (f *Faulty) Rename(from, to string) error {
	if _, err := f.check(OpRename, from); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *Faulty) Remove(name string) error {
	if _, err := f.check(OpRemove, name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *Faulty) MkdirAll(name string) error {
	if _, err := f.check(OpMkdir, name); err != nil {
		return err
	}
	return f.FS.MkdirAll(name)
}

func (f *Faulty) ReadDir(name string) ([]Entry, error) {
	if _, err := f.check(OpReadDir, name); err != nil {
		return nil, err
	}
	return f.FS.ReadDir(name)
}

func (f *Faulty) SyncDir(name string) error {
	if _, err := f.check(OpSyncDir, name); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

type faultyFile struct {
	File
	fs   *Faulty
	name string
}

var _ io.ReaderAt = (*faultyFile)(nil)

func (f *faultyFile) WriteFd() int { return -1 }

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if _, err := f.fs.check(OpRead, f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if short, err := f.fs.check(OpWrite, f.name); err != nil {
		n, _ := f.File.WriteAt(p[:min(short, len(p))], off)
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faultyFile) WritevAt(bufs [][]byte, off int64) (int, error) {
	short, err := f.fs.check(OpWrite, f.name)
	if err == nil {
		return f.File.WritevAt(bufs, off)
	}
	done := 0
	for _, b := range bufs {
		n, _ := f.File.WriteAt(b[:min(short-done, len(b))], off+int64(done))
		done += n
		if done >= short {
			break
		}
	}
	return done, err
}

func (f *faultyFile) Truncate(size int64) error {
	if _, err := f.fs.check(OpTruncate, f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) SyncData() error {
	if _, err := f.fs.check(OpSync, f.name); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f *faultyFile) Sync() error {
	if _, err := f.fs.check(OpSync, f.name); err != nil {
		return err
	}
	return f.File.Sync()
}
