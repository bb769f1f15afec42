package netio

// watcher waits, beside gnet's poller, for what gnet does not report: room in a
// socket, and input on connections gnet has let go of. One per loop, with a
// goroutine that posts what came as one batch (opReady) and waits again only after
// the loop has handled it. Each wish is reported once.
//
// waiter is the system's part: epoll with EPOLLONESHOT, kqueue with EV_ONESHOT.
//
// It is opened at the first wish: loops whose peers read their answers in time
// have none.
type watcher struct {
	waiter
	loop   *loop
	opened bool
	batch  []readiness   // handed to the loop between opReady and handled
	done   chan struct{} // the loop is through with batch
	ended  chan struct{}
}

// readiness is one report: what a connection can do now.
type readiness struct {
	id                  uint64
	input, room, broken bool
}

// watch reports once when fd has input or room. Loop only.
func (w *watcher) watch(fd int, id uint64, input, room, first bool) error {
	if !w.opened {
		if err := w.open(); err != nil {
			return err
		}
		w.opened = true
		w.done, w.ended = make(chan struct{}, 1), make(chan struct{})
		go w.run()
	}
	return w.waiter.watch(fd, id, input, room, first)
}

func (w *watcher) run() {
	defer close(w.ended)
	for {
		var ok bool
		if w.batch, ok = w.wait(w.batch[:0]); !ok {
			return
		}
		if len(w.batch) == 0 {
			continue
		}
		if !w.loop.post(message{op: opReady}) {
			return
		}
		<-w.done
	}
}

// handled is called by the loop when it is through with batch.
func (w *watcher) handled() { w.done <- struct{}{} }

// stop ends the goroutine. The loop must not run any more.
func (w *watcher) stop() {
	if !w.opened {
		return
	}
	w.interrupt()
	select {
	case w.done <- struct{}{}:
	default:
	}
	<-w.ended
	w.close()
}
