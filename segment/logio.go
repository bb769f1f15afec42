package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// PartitionWrite is what one round appends to one file.
type PartitionWrite struct {
	File *File
	Off  int64
	Bufs [][]byte // heap memory, unchanged until Append returns
}

// LogIO writes and syncs .log files. Append is called by one goroutine at a
// time (the shard), Sync by one at a time (its syncer); the two may run at
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

// parallelSyncs is how many fdatasyncs the backend without a ring keeps going:
// more gain nothing (docs/decisions/0012).
const parallelSyncs = 16

// pwritevIO is the backend for every system.
type pwritevIO struct {
	work chan syncJob
	once sync.Once
}

type syncJob struct {
	file *File
	err  *error
	wg   *sync.WaitGroup
}

// NewPwritevIO makes the backend that every system has: one pwritev per file,
// fdatasync from a small pool.
func NewPwritevIO() LogIO { return &pwritevIO{work: make(chan syncJob)} }

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
		for range parallelSyncs {
			go func() {
				for j := range p.work {
					*j.err = j.file.f.SyncData()
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
		if err := f.f.SyncData(); err != nil {
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

// syncNames makes the names of new files durable, each directory once. A file
// whose bytes are synced but whose name is not is lost by a power cut.
func syncNames(files []*File) []error {
	any := false
	for _, f := range files {
		if f.fresh.Load() {
			any = true
			break
		}
	}
	if !any {
		return nil
	}
	done := make(map[string]error)
	syncDir := func(f *File, path string) error {
		err, ok := done[path]
		if !ok {
			if err = withDescriptor(func() error { return f.home.fs.SyncDir(path) }); err != nil {
				err = fmt.Errorf("make the name of a new segment durable: %w", err)
			}
			done[path] = err
		}
		return err
	}
	var errs []error
	for i, f := range files {
		if !f.fresh.Load() {
			continue
		}
		var err error
		if f.home.fresh.Load() {
			err = errors.Join(withDescriptor(func() error { return syncMetadata(f.home) }), syncDir(f, f.home.root))
		}
		if err = errors.Join(err, syncDir(f, f.home.path)); err != nil {
			errs = setErr(errs, len(files), i, err)
		}
	}
	for i, f := range files { // only now: a second file of the same directory must not skip it
		if f.fresh.Load() && (errs == nil || errs[i] == nil) {
			f.fresh.Store(false)
			f.home.fresh.Store(false)
		}
	}
	return errs
}
