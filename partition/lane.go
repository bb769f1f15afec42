package partition

import (
	"time"

	"ringmain/segment"
)

// lane syncs one job after the other, or several at once where more wait than there are lanes.
// Owner of its LogIO. Its fields are its own while it runs, the syncer's while it is free.
type lane struct {
	io    segment.LogIO
	start func() // run, made once
	jobs  []syncJob
	slow  bool // nobody waits for them
	files []*segment.File
	of    []int // their jobs
}

func (l *lane) run(y *syncer) {
	defer y.work.Done()
	for {
		begun := time.Now()
		l.sync()
		y.shard.cfg.Observe.Synced(len(l.files), time.Since(begun))
		y.post(l.jobs)
		y.mu.Lock()
		for i := range l.jobs {
			if l.jobs[i].refused {
				y.refused--
			}
		}
		if l.slow {
			y.slow--
		}
		clear(l.jobs)
		clear(l.files)
		more := y.take(l)
		if !more {
			y.free = append(y.free, l)
		}
		y.mu.Unlock()
		if !more {
			return
		}
	}
}

// sync makes the files of its jobs durable and sets the jobs' results.
func (l *lane) sync() {
	l.files, l.of = l.files[:0], l.of[:0]
	for i := range l.jobs {
		for _, d := range l.jobs[i].files {
			l.files, l.of = append(l.files, d.File), append(l.of, i)
		}
	}
	for k, err := range l.io.Sync(l.files) {
		if j := &l.jobs[l.of[k]]; err != nil && j.err == nil {
			j.err = err
		}
	}
}
