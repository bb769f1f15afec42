package segment

import (
	"errors"
	"log/slog"
	"slices"
	"sync"

	"ringmain/internal/vfs"
)

// Dirty is a file with bytes that are to be made durable.
type Dirty struct {
	File     *File
	From, To int64 // positions; From is where the last sync of the file ended
	// direct: the file takes no more bytes, or nothing says what of it was synced, so
	// it is to be synced itself.
	direct bool
	log    *Log
	point  point // recovery point once the file is synced
}

// Small reports whether a journal may take d: a few new bytes of a file that goes on growing
// and whose name is durable.
func (d *Dirty) Small() bool {
	return !d.direct && d.To > d.From && d.To-d.From <= journalLargest && !d.File.fresh.Load()
}

// filesOf appends the files of ds to dst.
func filesOf(dst []*File, ds []Dirty) []*File {
	for i := range ds {
		dst = append(dst, ds[i].File)
	}
	return dst
}

// JournalConfig says when a shard's journal is used.
type JournalConfig struct {
	Bytes int64 // of the file, both halves; 0: there is none
	Shard int   // part of its name
	// Failed is told of logs whose own sync, behind the journal, has failed: their
	// bytes are in the journal, but the file can take no more. Any goroutine.
	Failed func(l *Log, err error)
}

const (
	// journalFiles is how many files must be dirty at once for a journal to be made. Once it
	// is there one is enough (docs/decisions/0030-journal-of-many-logs.md).
	journalFiles = 4
	// journalMean is up to how many bytes a file may have on average: larger ones
	// cost more to write twice than to sync.
	journalMean = 32 << 10
	// journalLargest is up to how many one file may have.
	journalLargest = 2 * journalMean
	// journalOpen is the share of the open files that a half may keep open until they
	// are synced.
	journalOpen = 4
	// journalSpace is how many times its size must be free on the volume for a
	// journal to be made.
	journalSpace = 4
)

// Journals are the journals of one shard, one for each log directory, made when
// first needed. Its syncer owns them.
type Journals struct {
	cfg  JournalConfig
	log  *slog.Logger
	dirs map[string]*dirJournal

	groups map[string]*dirGroup // of one Commit, and done, reused
	done   []bool
}

// NewJournals makes none yet.
func NewJournals(cfg JournalConfig, log *slog.Logger) *Journals {
	return &Journals{cfg: cfg, log: log, dirs: map[string]*dirJournal{}, groups: map[string]*dirGroup{}}
}

// dirJournal is the journal of one log directory.
type dirJournal struct {
	owner  *Journals
	halves [2]halfState
	syncer LogIO // of the files behind a half

	mu     sync.Mutex
	file   *journal // nil: not there yet
	broken bool     // is used no more
	stop   chan struct{}
	work   sync.WaitGroup
}

// halfState is what the journal owes for one half.
type halfState struct {
	behind map[*File]Dirty // files whose bytes are in it, with the newest point; referenced
	busy   bool            // they are being synced; guarded by mu
	kept   bool            // a sync has failed: the half holds the only good copy
}

// dirGroup is what a group commit has of one log directory.
type dirGroup struct {
	at     []int // places in it
	chosen []Dirty
	bytes  int64
}

// Commit makes durable what it can with one sync for each log directory, and says for
// each of ds, which are all Small, whether it did, until the next call; the others are to be
// synced in their own files. nil: none. beside: so many others are being synced in theirs
// now: it is dirty files at once that call for a journal, however they come.
func (j *Journals) Commit(ds []Dirty, beside int) (done []bool) {
	if j == nil || j.cfg.Bytes <= 0 {
		return nil
	}
	for i := range ds {
		d := &ds[i]
		g := j.groups[d.File.home.root]
		if g == nil {
			g = &dirGroup{}
			j.groups[d.File.home.root] = g
		}
		g.at, g.chosen, g.bytes = append(g.at, i), append(g.chosen, *d), g.bytes+d.To-d.From
	}
	for root, g := range j.groups {
		n := len(g.at)
		if n > 0 && g.bytes <= int64(n)*journalMean && j.of(root, g.chosen, beside).commit(g.chosen) {
			if done == nil {
				done = slices.Grow(j.done[:0], len(ds))[:len(ds)]
				clear(done)
				j.done = done
			}
			for _, i := range g.at {
				done[i] = true
			}
		}
		clear(g.chosen)
		g.at, g.chosen, g.bytes = g.at[:0], g.chosen[:0], 0
	}
	return done
}

// of is the journal for ds, all of one directory; nil: there is none, and too few files are
// dirty for one.
func (j *Journals) of(root string, ds []Dirty, beside int) *dirJournal {
	d := j.dirs[root]
	if d == nil && len(ds)+beside >= journalFiles {
		d = &dirJournal{owner: j, syncer: newPwritevIO(parallelSyncs), stop: make(chan struct{})}
		j.dirs[root] = d
		d.make(ds[0].File.home.fs, root)
	}
	return d
}

// make writes the file, beside what goes on: until it is there, files are synced
// themselves.
func (d *dirJournal) make(fsys vfs.FS, root string) {
	half := d.owner.cfg.Bytes / 2 / journalBlock * journalBlock
	path := journalPath(root, d.owner.cfg.Shard)
	if _, free, err := fsys.Space(root); half == 0 || err != nil || free < journalSpace*2*half {
		d.owner.log.Warn("no journal is made: too little room; many logs are synced one by one", "file", path, "bytes", 2*half, "free", free)
		d.broken = true
		return
	}
	d.work.Go(func() {
		file, err := makeJournal(fsys, path, half, d.stop)
		if err != nil && !errors.Is(err, ErrClosed) {
			d.owner.log.Warn("no journal is made; many logs are synced one by one", "error", err)
		}
		d.mu.Lock()
		d.file, d.broken = file, err != nil
		d.mu.Unlock()
	})
}

// commit writes ds, all of this directory. It reports whether they are durable now.
func (d *dirJournal) commit(ds []Dirty) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	file := d.file
	usable := file != nil && !d.broken
	d.mu.Unlock()
	size := commitSize(ds)
	if !usable || size > file.half {
		return false
	}
	if !file.room(size) || len(d.halves[max(file.current, 0)].behind) > ds[0].File.home.budget.max/journalOpen {
		if !d.turn(file) {
			return false
		}
	}
	if err := file.commit(ds); err != nil {
		// What was committed before stays good; this and what follows is synced in its files.
		d.owner.log.Error("journal failed and is not used any more; many logs are synced one by one", "error", err)
		d.mu.Lock()
		d.broken = true
		d.mu.Unlock()
		return false
	}
	h := &d.halves[file.current]
	for i := range ds {
		one := &ds[i]
		if _, held := h.behind[one.File]; !held {
			// The caller holds a reference, so the file is open.
			if err := one.File.acquire(); err != nil {
				return false // synced itself, and in the journal for nothing
			}
		}
		h.behind[one.File] = *one
	}
	return true
}

// turn goes on in the other half, if what it was filled with last is in its files.
func (d *dirJournal) turn(file *journal) bool {
	next := &d.halves[file.other()]
	d.mu.Lock()
	free := !next.busy && !next.kept
	d.mu.Unlock()
	if !free {
		return false
	}
	full := file.current
	file.begin()
	d.halves[file.current].behind = map[*File]Dirty{}
	if full >= 0 {
		d.empty(full)
	}
	return true
}

// empty syncs the files behind a half, in the background.
func (d *dirJournal) empty(half int) {
	h := &d.halves[half]
	behind := h.behind
	h.behind = nil
	d.mu.Lock()
	h.busy = true
	d.mu.Unlock()
	d.work.Go(func() {
		ok := d.syncAll(behind)
		d.mu.Lock()
		h.busy, h.kept = false, !ok
		d.mu.Unlock()
	})
}

// syncAll syncs files and raises the recovery points of their logs. One call at a time:
// a half is emptied only while the other is being filled, which ends where it needs
// this one.
func (d *dirJournal) syncAll(behind map[*File]Dirty) (ok bool) {
	files := make([]*File, 0, len(behind))
	for f := range behind {
		files = append(files, f)
	}
	errs := d.syncer.Sync(files)
	ok = true
	for i, f := range files {
		one := behind[f]
		offline := one.log.Err()
		switch {
		case errors.Is(offline, ErrClosed): // nobody misses what was removed
		case errs != nil && errs[i] != nil:
			ok = false
			d.owner.cfg.Failed(one.log, errs[i])
		case offline != nil: // another sync of its files has failed, after which this one says nothing
			ok = false
		default:
			one.log.raisePoint(one.point)
		}
		f.Release()
	}
	return ok
}

// Forget lets go of files of which their logs have nothing any more: whoever frees their bytes
// waits until nobody has them open, and a half may take days to be full.
func (j *Journals) Forget() {
	if j == nil {
		return
	}
	for _, d := range j.dirs {
		for i := range d.halves {
			for f, one := range d.halves[i].behind {
				if f.void.Load() || errors.Is(one.log.Err(), ErrClosed) {
					delete(d.halves[i].behind, f)
					f.Release()
				}
			}
		}
	}
}

// Close syncs what is behind the journals. Their commits count until the directory
// is opened again, which removes them.
func (j *Journals) Close() {
	if j == nil {
		return
	}
	for _, d := range j.dirs {
		close(d.stop)
		d.work.Wait()
		for i := range d.halves {
			if behind := d.halves[i].behind; len(behind) > 0 {
				d.halves[i].behind = nil
				d.syncAll(behind)
			}
		}
		d.syncer.Close()
		if d.file != nil {
			d.file.file.Close()
		}
	}
	clear(j.dirs)
}
