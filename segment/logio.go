package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ringmain/internal/vfs"
)

// PartitionWrite is what one round appends to one file.
type PartitionWrite struct {
	File *File
	Off  int64
	Bufs [][]byte // heap memory, unchanged until Append returns
}

// LogIO writes and syncs .log files. Append is called by one goroutine at a
// time (the shard), Sync by one at a time (a lane of its syncer); the two may run at
// once. Results are per item, nil if all went well. Files are referenced by
// the caller throughout.
type LogIO interface {
	// Append writes every item completely or reports why not. Items of one
	// partition follow each other and are written in that order.
	Append(round []PartitionWrite) []error
	// Sync makes files and their names durable. It covers writes that were
	// complete before the call. An error is final for the file.
	Sync(files []*File) []error
	Name() string
	Close() error
}

const (
	// parallelSyncs is how many fdatasyncs without a ring are kept going: more gain
	// nothing (docs/decisions/0012).
	parallelSyncs = 16
	// SyncLanes is how many backends of a shard sync at once: more gain nothing
	// (docs/decisions/0017-each-log-is-synced-for-itself.md).
	SyncLanes = 8
	// laneSyncs is the part of parallelSyncs that each of them has.
	laneSyncs = parallelSyncs / SyncLanes
)

// pwritevIO is the backend for every system.
type pwritevIO struct {
	work chan syncJob
	pool int // goroutines that sync
	once sync.Once
}

type syncJob struct {
	file *File
	err  *error
	wg   *sync.WaitGroup
}

// NewPwritevIO makes the backend that every system has: one pwritev per file,
// fdatasync from a small pool.
func NewPwritevIO() LogIO { return newPwritevIO(laneSyncs) }

func newPwritevIO(pool int) *pwritevIO { return &pwritevIO{work: make(chan syncJob), pool: pool} }

func (*pwritevIO) Name() string { return "pwritev" }

func (*pwritevIO) Append(round []PartitionWrite) []error {
	var errs []error
	for i := range round {
		if _, err := round[i].File.f.WritevAt(round[i].Bufs, round[i].Off); err != nil {
			errs = setErr(errs, len(round), i, err)
		}
	}
	return errs
}

func (p *pwritevIO) Sync(files []*File) []error {
	if len(files) == 1 {
		return syncInTurn(files)
	}
	errs := syncNames(files)
	p.once.Do(func() {
		for range p.pool {
			go func() {
				for j := range p.work {
					*j.err = j.file.syncData()
					j.wg.Done()
				}
			}()
		}
	})
	results := make([]error, len(files))
	var wg sync.WaitGroup
	for i, f := range files {
		if errs == nil || errs[i] == nil {
			wg.Add(1)
			p.work <- syncJob{f, &results[i], &wg}
		}
	}
	wg.Wait()
	for i, err := range results {
		if err != nil {
			errs = setErr(errs, len(files), i, err)
		}
	}
	return errs
}

func (p *pwritevIO) Close() error {
	p.once.Do(func() {})
	close(p.work)
	return nil
}

// descriptorWait is how long a sync waits for a descriptor that it needs.
const descriptorWait = 10 * time.Second

// withDescriptor repeats what failed for want of a descriptor: it was not begun, so
// unlike a failed sync it has lost nothing, and others give theirs back.
func withDescriptor(open func() error) error {
	for end := time.Now().Add(descriptorWait); ; time.Sleep(5 * time.Millisecond) {
		err := open()
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) || time.Now().After(end) {
			return err
		}
	}
}

// syncMetadata makes the content of a new partition's partition.metadata
// durable: what says whose records these are must not be lost before them.
func syncMetadata(h *home) error {
	f, err := h.fs.OpenFile(filepath.Join(h.path, metadataName), os.O_RDWR)
	if isNotExist(err) {
		return nil // moved aside meanwhile
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return f.SyncData()
}

// syncInTurn syncs one file after the other.
func syncInTurn(files []*File) []error {
	errs := syncNames(files)
	for i, f := range files {
		if errs != nil && errs[i] != nil {
			continue
		}
		if err := f.syncData(); err != nil {
			errs = setErr(errs, len(files), i, err)
		}
	}
	return errs
}

func setErr(errs []error, n, i int, err error) []error {
	if errs == nil {
		errs = make([]error, n)
	}
	if errs[i] == nil {
		errs[i] = err
	}
	return errs
}

// unnamed is a directory with new files whose names are not durable yet.
type unnamed struct {
	home  *home
	files []int // places in what is synced
	err   error
}

// syncNames makes the names of new files durable, each directory once, many at a time. A
// file whose bytes are synced but whose name is not is lost by a power cut.
func syncNames(files []*File) []error {
	var dirs []*unnamed
	var byPath map[string]*unnamed
	roots := map[string]error{}
	for i, f := range files {
		if !f.fresh.Load() {
			continue
		}
		if byPath == nil {
			byPath = map[string]*unnamed{}
		}
		d := byPath[f.home.path]
		if d == nil {
			d = &unnamed{home: f.home}
			byPath[f.home.path], dirs = d, append(dirs, d)
		}
		d.files = append(d.files, i)
		if _, ok := roots[f.home.root]; !ok && f.home.fresh.Load() {
			roots[f.home.root] = syncDir(f.home.fs, f.home.root)
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	work := func() {
		for n := next.Add(1) - 1; n < int64(len(dirs)); n = next.Add(1) - 1 {
			naming := dirs[n].home.budget.naming
			naming <- struct{}{}
			dirs[n].sync(roots)
			<-naming
		}
	}
	for range min(parallelSyncs, len(dirs)) - 1 {
		workers.Go(work)
	}
	work()
	workers.Wait()
	var errs []error
	for _, d := range dirs {
		for _, i := range d.files {
			if d.err != nil {
				errs = setErr(errs, len(files), i, d.err)
			} else {
				files[i].fresh.Store(false)
			}
		}
		if d.err == nil {
			d.home.fresh.Store(false)
		}
	}
	return errs
}

// sync makes the names in the directory durable, and first what says whose it is, if it
// is new itself; its own name is synced, or not, with the others of its root.
func (d *unnamed) sync(roots map[string]error) {
	if d.home.fresh.Load() {
		d.err = errors.Join(withDescriptor(func() error { return syncMetadata(d.home) }), roots[d.home.root])
	}
	d.err = errors.Join(d.err, syncDir(d.home.fs, d.home.path))
}

func syncDir(fsys vfs.FS, path string) error {
	if err := withDescriptor(func() error { return fsys.SyncDir(path) }); err != nil {
		return fmt.Errorf("make the name of a new segment durable: %w", err)
	}
	return nil
}
