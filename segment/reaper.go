package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ringmain/internal/vfs"
)

// A file system frees the blocks of a file in the transaction that appends wait for:
// gigabytes at once are felt by every one of them (perf/0014). So files are truncated from
// their end, with a pause after each step. The pause is shorter the more waits, so that
// about five seconds' worth of what expires waits at any time, whatever the rate: at most
// reapCalm at 400 MB/s, and beyond it the whole in some 5 s. While nobody appends there is no
// pause.
const (
	// reapStep is how much is freed at once. A multiple of every page size: pages that
	// were cut in two would be zeroed, and may still lie in a socket's queue.
	reapStep = 4 << 20
	// reapPause is the pause after a step, while up to reapCalm bytes wait.
	reapPause = 10 * time.Millisecond
	reapCalm  = 2 << 30
	// reapLook is how often files are looked at that somebody still reads.
	reapLook = 100 * time.Millisecond
)

// pauseAfter is the pause after a step that leaves so many bytes.
func pauseAfter(backlog int64) time.Duration {
	if backlog <= reapCalm {
		return reapPause
	}
	return time.Duration(float64(reapPause) * reapCalm / float64(backlog))
}

// reaper removes files and directories in the background. Its goroutine runs from the
// first task on.
type reaper struct {
	dir  *Dir
	mu   sync.Mutex
	due  []reapTask // in no order
	next time.Time  // the earliest of them
	quit bool
	on   bool
	stop chan struct{} // closed with quit
	wake chan struct{} // there is a new task
	done chan struct{}

	// Of the goroutine.
	doomed  []*doomed // whose time has come
	backlog int64     // their bytes
	freed   int64     // since the last pause
	appends int64     // of the directory, when that was
}

// reapTask is a segment to remove, once it is time, or what has the name of something
// doomed already.
type reapTask struct {
	at     time.Time
	seg    *segment
	doomed *doomed
}

// doomed is a file or a directory under a name that says only that it goes, or a file that
// has no name any more. Nobody opens it any more, but who had it open may read on, and until
// then it stays whole.
type doomed struct {
	path    string       // "": no name
	files   []doomedFile // to be freed before path is removed
	readers []*File
}

type doomedFile struct {
	path string
	open vfs.File // in place of a path
	size int64
}

func newReaper(d *Dir) *reaper {
	return &reaper{dir: d, stop: make(chan struct{}), wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// removeDoomed removes what has its doomed name: a file or a directory.
func (r *reaper) removeDoomed(path string, readers []*File) {
	r.add(reapTask{at: time.Now(), doomed: &doomed{path: path, readers: readers}})
}

// removeReplaced frees a file whose name another one has taken, and closes open, a descriptor
// of it of its own. One that has another name, as a backup gives it, keeps its bytes.
func (r *reaper) removeReplaced(open vfs.File, readers []*File) {
	size, err := open.Size()
	links, lerr := open.Links()
	if err != nil || lerr != nil || links > 0 || size <= reapStep || !r.add(reapTask{at: time.Now(), doomed: &doomed{files: []doomedFile{{open: open, size: size}}, readers: readers}}) {
		open.Close() // its blocks go with the last descriptor
	}
}

// removeSegment removes the files of a segment that lies below its log's
// start, after a delay. Until then it could be opened again only by a process
// that lost the log start, which is why that is synced first.
func (r *reaper) removeSegment(s *segment, delay time.Duration) {
	r.add(reapTask{at: time.Now().Add(delay), seg: s})
}

// add is false when the reaper has ended: the next start removes what is below the log
// start, and *.deleted.
func (r *reaper) add(t reapTask) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quit {
		return false
	}
	if len(r.due) == 0 || t.at.Before(r.next) {
		r.next = t.at
	}
	r.due = append(r.due, t)
	if !r.on {
		r.on = true
		go r.run()
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return true
}

// close ends the removal after the step that is under way. The next start goes on.
func (r *reaper) close() {
	r.mu.Lock()
	r.quit = true
	on := r.on
	r.mu.Unlock()
	close(r.stop)
	if on {
		<-r.done
	}
	for _, t := range r.due {
		if t.doomed != nil {
			r.doomed = append(r.doomed, t.doomed)
		}
	}
	for _, d := range r.doomed {
		for _, f := range d.files {
			if f.open != nil {
				f.open.Close()
			}
		}
	}
}

func (r *reaper) run() {
	defer close(r.done)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		next := r.ripen()
		var wake <-chan struct{}
		wait, worked := r.step()
		if !worked { // nothing to do before a task's time, or a reader's end
			wake = r.wake
			if next > 0 && (wait == 0 || next < wait) {
				wait = next
			}
		}
		var timer <-chan time.Time
		if wait > 0 || worked {
			pause.Reset(wait)
			timer = pause.C
		}
		select {
		case <-r.stop:
			return
		case <-wake:
		case <-timer:
		}
	}
}

// ripe takes the tasks out whose time has come. next is how long it is until that of
// another, 0 if there is none.
func (r *reaper) ripe() (ripe []reapTask, next time.Duration) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.due) > 0 && !r.next.After(now) {
		rest := r.due[:0]
		for _, t := range r.due {
			switch {
			case !t.at.After(now):
				ripe = append(ripe, t)
				continue
			case len(rest) == 0 || t.at.Before(r.next):
				r.next = t.at
			}
			rest = append(rest, t)
		}
		clear(r.due[len(rest):])
		r.due = rest
	}
	if len(r.due) > 0 {
		next = r.next.Sub(now)
	}
	return ripe, next
}

// ripen dooms what the time has come for, and says when it does so next, as ripe.
func (r *reaper) ripen() (next time.Duration) {
	ripe, next := r.ripe()
	if slices.ContainsFunc(ripe, func(t reapTask) bool { return t.seg != nil }) {
		if err := r.dir.starts.sync(); err != nil {
			r.dir.log.Error("cannot sync the log start checkpoint; expired segments stay", "error", err)
			ripe = slices.DeleteFunc(ripe, func(t reapTask) bool { return t.seg != nil })
		}
	}
	for _, t := range ripe {
		d := t.doomed
		if t.seg != nil {
			d = r.dir.doom(t.seg)
		}
		if d != nil {
			r.measure(d)
			r.doomed = append(r.doomed, d)
		}
	}
	return next
}

// measure notes the files that are to be freed, and their sizes.
func (r *reaper) measure(d *doomed) {
	for _, f := range d.files { // without a name
		r.backlog += f.size
	}
	if d.path == "" {
		return
	}
	fsys := r.dir.fs
	paths := []string{d.path}
	if es, err := fsys.ReadDir(d.path); err == nil {
		paths = paths[:0]
		for _, e := range es {
			if !e.IsDir {
				paths = append(paths, filepath.Join(d.path, e.Name))
			}
		}
	}
	for _, path := range paths {
		// One that has another name, as a backup gives it, keeps its bytes.
		if st, err := fsys.Stat(path); err == nil && !st.IsDir && st.Links <= 1 {
			d.files = append(d.files, doomedFile{path: path, size: st.Size})
			r.backlog += st.Size
		}
	}
}

// step frees some bytes of the first doomed thing that nobody reads. wait is the pause that
// is due then; without work, when to look at those again that are read, 0 if there is none.
func (r *reaper) step() (wait time.Duration, worked bool) {
	i := slices.IndexFunc(r.doomed, (*doomed).unread)
	if i < 0 {
		if len(r.doomed) > 0 {
			return reapLook, false
		}
		return 0, false
	}
	d := r.doomed[i]
	if n := len(d.files); n > 0 {
		f := &d.files[n-1]
		size := f.size
		if f.size = r.shorten(f); f.size == 0 {
			d.files = d.files[:n-1]
		}
		r.backlog -= size - f.size
		r.freed += size - f.size
	} else {
		if d.path != "" {
			if err := r.dir.fs.RemoveAll(d.path); err != nil {
				r.dir.log.Warn("cannot remove what was deleted; the next start tries again", "path", d.path, "error", err)
			}
		}
		r.doomed = slices.Delete(r.doomed, i, i+1)
	}
	if r.freed < reapStep {
		return 0, true
	}
	r.freed = 0
	appends := r.dir.appends.Load()
	if appends == r.appends {
		return 0, true
	}
	r.appends = appends
	return pauseAfter(r.backlog), true
}

// shorten frees a step of a file and gives its size then; 0: it was removed.
func (r *reaper) shorten(f *doomedFile) int64 {
	if size := (f.size - 1) / reapStep * reapStep; size > 0 {
		var err error
		if f.open != nil {
			err = f.open.Truncate(size)
		} else {
			err = truncate(r.dir.fs, f.path, size)
		}
		if err == nil {
			return size
		}
		r.dir.log.Warn("cannot remove a deleted file in steps; it is removed at once", "file", f.path, "error", err)
	}
	if f.open != nil {
		f.open.Close()
		return 0
	}
	if err := r.dir.fs.Remove(f.path); err != nil && !isNotExist(err) {
		r.dir.log.Warn("cannot remove a deleted file; the next start tries again", "file", f.path, "error", err)
	}
	return 0
}

// unread says that nobody has it open any more.
func (d *doomed) unread() bool {
	d.readers = slices.DeleteFunc(d.readers, func(f *File) bool { return f.tryClose() || f.refs.Load() == fileClosed })
	return len(d.readers) == 0
}

// doomedPath is a name that nothing in the directory has.
func (d *Dir) doomedPath() (string, error) {
	for {
		path := filepath.Join(d.path, fmt.Sprintf("%d%s", d.asides.Add(1), deletedSuffix))
		if ok, err := vfs.Exists(d.fs, path); err != nil || !ok {
			return path, err
		}
	}
}

// doom takes the names of a segment away that lies below its log's start; its bytes are
// under a new one then. nil if there is nothing left to remove.
func (d *Dir) doom(s *segment) *doomed {
	h := s.file.home
	h.names.Lock()
	defer h.names.Unlock()
	if h.left {
		return nil // who opens the log next does it, or the whole directory goes
	}
	// First no reader opens them any more, then they go.
	s.file.doomVoid()
	s.doomIndex()
	path := s.file.Path()
	// The .log goes last: while it is there a restart removes the rest.
	for _, suffix := range []string{snapshotSuffix, indexSuffix} {
		file := offsetPath(h.path, s.base, suffix)
		if err := d.fs.Remove(file); err != nil && !isNotExist(err) {
			d.log.Warn("cannot remove an expired segment; the next start tries again", "file", file, "error", err)
			return nil
		}
	}
	gone, err := d.doomLog(h.path, s.base)
	if err != nil && !isNotExist(err) {
		d.log.Warn("cannot remove an expired segment; the next start tries again", "file", path, "error", err)
	}
	return gone
}

// doomLog takes the name of a .log file away.
func (d *Dir) doomLog(dir string, base int64) (*doomed, error) {
	to, err := d.doomedPath()
	if err == nil {
		err = d.fs.Rename(offsetPath(dir, base, logSuffix), to)
	}
	if err != nil {
		return nil, err
	}
	return &doomed{path: to, readers: d.budget.openOf(dir, base)}, nil
}

// removeLog removes a .log file that no log has any more, in the background.
func (d *Dir) removeLog(dir string, base int64) error {
	gone, err := d.doomLog(dir, base)
	if err == nil {
		d.reaper.add(reapTask{at: time.Now(), doomed: gone})
	}
	return err
}

// removeLeftovers goes on with what an earlier process did not finish to remove.
func (d *Dir) removeLeftovers() error {
	es, err := d.fs.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("read data directory: %w", err)
	}
	for _, e := range es {
		if strings.HasSuffix(e.Name, deletedSuffix) {
			d.reaper.removeDoomed(filepath.Join(d.path, e.Name), nil)
		}
	}
	return nil
}

func truncate(fsys vfs.FS, path string, size int64) error {
	f, err := fsys.OpenFile(path, os.O_RDWR)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}
