package controller

import (
	"sync"

	"ringmain/metadata"
)

// watcher calls one function with every image, in order, on a goroutine of its
// own. Its queue has no bound: a slow watcher must not hold back the quorum,
// images share their structure, and a watcher has to see each delta.
type watcher struct {
	fn   func(*metadata.Image, *metadata.Delta)
	wake chan struct{} // capacity 1
	stop chan struct{}
	done chan struct{}

	mu    sync.Mutex
	queue []publication
}

type publication struct {
	img   *metadata.Image
	delta *metadata.Delta
}

// Watch calls fn with every image from now on, in order and one at a time, on a
// goroutine of its own: first with the current one and a delta that lists
// everything as created, then after each change. fn must not call Close.
func (c *Controller) Watch(fn func(img *metadata.Image, d *metadata.Delta)) {
	w := &watcher{fn: fn, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	m := c.fsm
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	img := m.image.Load()
	m.watchers = append(m.watchers, w)
	w.post(img, metadata.Diff(metadata.Empty(), img))
	go w.run()
}

func (w *watcher) post(img *metadata.Image, d *metadata.Delta) {
	w.mu.Lock()
	w.queue = append(w.queue, publication{img, d})
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher) run() {
	defer close(w.done)
	for {
		select {
		case <-w.stop:
			return
		case <-w.wake:
		}
		w.mu.Lock()
		queue := w.queue
		w.queue = nil
		w.mu.Unlock()
		for _, p := range queue {
			select {
			case <-w.stop:
				return
			default:
			}
			w.fn(p.img, p.delta)
		}
	}
}

// stopWatchers ends all watchers after the call that is running; what is queued
// is dropped.
func (m *imageFSM) stopWatchers() {
	m.mu.Lock()
	watchers := m.watchers
	m.watchers, m.closed = nil, true
	m.mu.Unlock()
	for _, w := range watchers {
		close(w.stop)
	}
	for _, w := range watchers {
		<-w.done
	}
}
