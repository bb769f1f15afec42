package segment

import (
	"sync"
	"time"
)

// reaper removes files and directories in the background: unlinking a 1 GiB
// file takes long enough to be seen in the latency of an append.
type reaper struct {
	dir  *Dir
	mu   sync.Mutex
	cond *sync.Cond
	due  []reapTask // in no order; few
	quit bool
	done chan struct{}
	on   bool // the goroutine runs
}

type reapTask struct {
	at   time.Time
	tree string   // a directory to remove with all that is in it
	seg  *segment // or the files of a segment
}

func newReaper(d *Dir) *reaper {
	r := &reaper{dir: d, done: make(chan struct{})}
	r.cond = sync.NewCond(&r.mu)
	return r
}

func (r *reaper) removeDir(path string) { r.add(reapTask{at: time.Now(), tree: path}) }

// removeSegment removes the files of a segment that lies below its log's
// start, after a delay. Until then it could be opened again only by a process
// that lost the log start, which is why that is synced first.
func (r *reaper) removeSegment(s *segment, delay time.Duration) {
	r.add(reapTask{at: time.Now().Add(delay), seg: s})
}

func (r *reaper) add(t reapTask) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quit {
		return // the next start removes what is below the log start, and *.deleted
	}
	r.due = append(r.due, t)
	if !r.on {
		r.on = true
		go r.run()
	}
	r.cond.Signal()
}

func (r *reaper) stop() {
	r.mu.Lock()
	r.quit = true
	on := r.on
	r.cond.Signal()
	r.mu.Unlock()
	if on {
		<-r.done
	}
}

func (r *reaper) run() {
	defer close(r.done)
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.quit {
		now := time.Now()
		wait := time.Duration(-1)
		var ready []reapTask
		rest := r.due[:0]
		for _, t := range r.due {
			if left := t.at.Sub(now); left > 0 {
				rest = append(rest, t)
				if wait < 0 || left < wait {
					wait = left
				}
			} else {
				ready = append(ready, t)
			}
		}
		clear(r.due[len(rest):])
		r.due = rest
		if len(ready) > 0 {
			r.mu.Unlock()
			r.remove(ready)
			r.mu.Lock()
			continue
		}
		if wait > 0 {
			wake := time.AfterFunc(wait, func() {
				r.mu.Lock() // not between the look at the list and the Wait
				r.cond.Signal()
				r.mu.Unlock()
			})
			r.cond.Wait()
			wake.Stop()
		} else {
			r.cond.Wait()
		}
	}
}

func (r *reaper) remove(tasks []reapTask) {
	d := r.dir
	synced := false
	for _, t := range tasks {
		if t.tree != "" {
			if err := d.fs.RemoveAll(t.tree); err != nil {
				d.log.Warn("cannot remove a deleted partition; the next start tries again", "directory", t.tree, "error", err)
			}
			continue
		}
		if !synced {
			if err := d.starts.sync(); err != nil {
				d.log.Error("cannot sync the log start checkpoint; expired segments stay", "error", err)
				return
			}
			synced = true
		}
		t.seg.unlink(d.fs, d.log)
	}
}
