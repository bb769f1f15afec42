package segment

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"ringmain/internal/vfs"
)

// home is where a partition's files live; shared by all of them, so that a
// File needs no path of its own.
type home struct {
	fs     vfs.FS
	budget *FileBudget
	root   string // the log directory
	path   string // root/topic-partition
	// history is the leader epochs of the log, of the goroutine that asks; nil if nothing
	// is known.
	history func() epochHistory
	// fresh: the partition's own directory is not yet durable in root.
	fresh atomic.Bool
	// names is held by a cleaning and by the reaper while they make, rename or remove
	// files beside those of the log's owner, and by the owner where it gives the
	// directory up: left.
	names sync.Mutex
	left  bool
}

// epochs is what is known of the leader epochs of the home's batches.
func (h *home) epochs() epochHistory {
	if h.history == nil {
		return nil
	}
	return h.history()
}

// fileClosed in File.refs: there is no descriptor.
const fileClosed = -1

// File is one file of a partition: reference-counted, opened when first used,
// closed when the descriptor budget wants it and nobody holds a reference, or
// at the last reference once the file was removed. Safe for any goroutine.
type File struct {
	refs  atomic.Int32 // >= 0: open, with so many users
	used  atomic.Bool  // since the budget's clock hand last passed
	gone  atomic.Bool  // removed: close at zero, never open again
	void  atomic.Bool  // nothing in it is of the log any more, so none of it needs to be durable
	fresh atomic.Bool  // the name is not yet durable in its directory
	slot  int          // place in the budget's table; guarded by its mutex
	f     vfs.File     // valid while a reference is held
	home  *home
	base  int64
	kind  string // logSuffix or indexSuffix
	sound sound  // which bytes of a .log this process knows
	// Syncs are one at a time, and a failed one is remembered: the system tells of an error
	// once for each descriptor, so of two at once one would hear that all is well.
	syncing sync.Mutex
	syncErr error
	// What the open found of a .log: its size, and the offset at which these bytes must end.
	found, end int64
}

func newFile(h *home, base int64, kind string) *File {
	f := &File{home: h, base: base, kind: kind, slot: -1}
	f.refs.Store(fileClosed)
	return f
}

// Path names the file.
func (f *File) Path() string { return offsetPath(f.home.path, f.base, f.kind) }

// Fd is the descriptor for reading and sendfile, -1 on a file system without
// descriptors. Valid while a reference is held.
func (f *File) Fd() int { return f.f.Fd() }

// ReadAt reads bytes of the file. A reference must be held.
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

// acquire takes a reference, opening the file when it is not open.
func (f *File) acquire() error { return f.acquireFlag(os.O_RDWR) }

func (f *File) acquireFlag(flag int) error {
	for {
		n := f.refs.Load()
		if n < 0 {
			done, err := f.open(flag)
			if done || err != nil {
				return err
			}
			continue
		}
		if f.refs.CompareAndSwap(n, n+1) {
			if !f.used.Load() { // a plain load first: no cache line bouncing
				f.used.Store(true)
			}
			return nil
		}
	}
}

// open leaves one reference when done. !done without an error: somebody else
// opened it meanwhile.
func (f *File) open(flag int) (done bool, err error) {
	f.home.budget.makeRoom()
	mu := f.home.budget.stripe(f)
	mu.Lock()
	defer mu.Unlock()
	if f.refs.Load() >= 0 {
		return false, nil
	}
	if f.gone.Load() {
		return false, errGone
	}
	h, err := f.home.fs.OpenFile(f.Path(), flag)
	if err != nil {
		return false, fmt.Errorf("open segment file: %w", err)
	}
	f.f = h
	f.used.Store(true)
	f.refs.Store(1)
	f.home.budget.add(f)
	return true, nil
}

// Release gives a reference back.
func (f *File) Release() {
	if f.refs.Add(-1) == 0 && (f.gone.Load() || f.home.budget.exceeded.Load()) {
		f.tryClose()
	}
}

// beginSync waits for the sync that is under way, if there is one. After an error, which is that
// of an earlier sync and final, there is nothing to end.
func (f *File) beginSync() error {
	f.syncing.Lock()
	if err := f.syncErr; err != nil {
		f.syncing.Unlock()
		return err
	}
	return nil
}

// endSync takes the result of the sync.
func (f *File) endSync(err error) {
	f.syncErr = err
	f.syncing.Unlock()
}

// syncData makes the bytes and the size durable. A reference must be held.
func (f *File) syncData() error {
	if err := f.beginSync(); err != nil {
		return err
	}
	err := f.f.SyncData()
	f.endSync(err)
	return err
}

// tryClose closes the descriptor if nobody uses it.
func (f *File) tryClose() bool {
	mu := f.home.budget.stripe(f)
	mu.Lock()
	if !f.refs.CompareAndSwap(0, fileClosed) {
		mu.Unlock()
		return false
	}
	h := f.f
	f.f = nil
	f.home.budget.remove(f)
	mu.Unlock()
	h.Close() // read-only use or synced: nothing a failed close could lose
	return true
}

// doom says that the file is removed or the log closed: whoever holds a
// reference keeps reading, nobody opens it again.
func (f *File) doom() {
	f.gone.Store(true)
	f.tryClose()
}

// doomVoid is doom for a file of which the log has nothing any more.
func (f *File) doomVoid() {
	f.void.Store(true)
	f.doom()
}

// FileBudget bounds the descriptors of all partitions of a process. It is
// soft: files in use, among them those with unsynced bytes, stay open.
type FileBudget struct {
	max   int
	most  int // with files that have unsynced bytes; 0: no bound
	mu    sync.Mutex
	files []*File
	hand  int
	// exceeded: more than max are open. What is given back is then closed at once.
	exceeded atomic.Bool
	locks    [64]sync.Mutex // serialise open and close of one file
	// naming has a place for each directory that may be open to make new names durable.
	naming chan struct{}
}

// NewFileBudget allows limit open segment and index files (at least 16).
func NewFileBudget(limit int) *FileBudget {
	return &FileBudget{max: max(limit, 16), naming: make(chan struct{}, parallelSyncs)}
}

// BoundUnsynced makes appends that need one more file fail while so many are open:
// files with unsynced bytes must leave the descriptors by which they are synced, and
// what else the process needs. Call it before the first log is opened.
func (b *FileBudget) BoundUnsynced(most int) { b.most = max(most, b.max+1) }

// roomToWrite is nil, or why no further file may take bytes now.
func (b *FileBudget) roomToWrite() error {
	if b.most == 0 {
		return nil
	}
	n := b.Open()
	for n >= b.most {
		if v := b.victim(); v == nil || !v.tryClose() && b.Open() >= n {
			break
		}
		n = b.Open()
	}
	if n >= b.most {
		return fmt.Errorf("%d segment files are open until they are synced, as many as ringmain.open.files or the process's limit allows: %w", n, syscall.EMFILE)
	}
	return nil
}

// Max is how many segment and index files may be open, those in use aside.
func (b *FileBudget) Max() int { return b.max }

// Open is the number of descriptors now.
func (b *FileBudget) Open() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.files)
}

// Pressed reports that the budget is exceeded because files cannot be closed:
// an earlier sync of dirty logs sets descriptors free.
func (b *FileBudget) Pressed() bool { return b.Open() > b.max }

// openOf lists the open files of a directory; of the .log of one base offset, if base is
// not negative. Who was opening one as it was called is in the list or has failed, where
// the name was taken away before.
func (b *FileBudget) openOf(dir string, base int64) []*File {
	for i := range b.locks {
		b.locks[i].Lock()
		//lint:ignore SA2001 only waited for
		b.locks[i].Unlock()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var open []*File
	for _, f := range b.files {
		if (base < 0 || f.base == base && f.kind == logSuffix) && f.home.path == dir {
			open = append(open, f)
		}
	}
	return open
}

func (b *FileBudget) stripe(f *File) *sync.Mutex {
	h := uint64(f.base)*0x9e3779b97f4a7c15 + uint64(len(f.home.path))
	if n := len(f.home.path); n > 0 { // neighbours differ in their last digits
		h += uint64(f.home.path[n-1])*131 + uint64(f.home.path[max(0, n-2)])*17
	}
	return &b.locks[h>>7%64]
}

func (b *FileBudget) add(f *File) {
	b.mu.Lock()
	f.slot = len(b.files)
	b.files = append(b.files, f)
	b.exceeded.Store(len(b.files) > b.max)
	b.mu.Unlock()
}

func (b *FileBudget) remove(f *File) {
	b.mu.Lock()
	last := len(b.files) - 1
	b.files[f.slot] = b.files[last]
	b.files[f.slot].slot = f.slot
	b.files[last] = nil
	b.files = b.files[:last]
	b.exceeded.Store(len(b.files) > b.max)
	f.slot = -1
	b.mu.Unlock()
}

// makeRoom closes files that were not used since the hand last passed (the
// clock algorithm), until one more fits or nothing can be closed.
func (b *FileBudget) makeRoom() {
	for range 4 {
		victim := b.victim()
		if victim == nil || victim.tryClose() {
			return
		}
	}
}

func (b *FileBudget) victim() *File {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.files)
	if n < b.max {
		return nil
	}
	for range 2 * n {
		b.hand = (b.hand + 1) % n
		f := b.files[b.hand]
		if f.refs.Load() == 0 && !f.used.Swap(false) {
			return f
		}
	}
	return nil
}
