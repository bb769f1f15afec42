package broker

import "sync"

// pool runs what may block or take long, away from the connection loops. Its
// queue needs no bound of its own: a connection that has a job here is paused,
// so there is at most one job for each connection (max.connections).
type pool struct {
	mu      sync.Mutex
	queue   []func()
	idle    int // workers that wait for a job
	running int
	limit   int
	closed  bool
	wake    *sync.Cond
	wg      sync.WaitGroup
}

func newPool(limit int) *pool {
	p := &pool{limit: limit}
	p.wake = sync.NewCond(&p.mu)
	return p
}

// run queues fn. Workers start on demand, up to the limit, and stay. Every job
// is run, for a connection waits for it: what still comes while the broker
// stops gets a goroutine of its own.
func (p *pool) run(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		go fn()
		return
	}
	p.queue = append(p.queue, fn)
	switch {
	case p.idle >= len(p.queue):
		p.wake.Signal()
	case p.running < p.limit:
		p.running++
		p.wg.Add(1)
		go p.work()
	}
}

func (p *pool) work() {
	defer p.wg.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.queue) == 0 {
			if p.closed {
				return
			}
			p.idle++
			p.wake.Wait()
			p.idle--
		}
		fn := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		p.mu.Unlock()
		fn()
		p.mu.Lock()
	}
}

// close ends the workers once all that is queued was run.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.wake.Broadcast()
	p.mu.Unlock()
	p.wg.Wait()
}
