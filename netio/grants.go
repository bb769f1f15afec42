package netio

import "sync"

// grants says which large frames may be filled. Those that were granted fit into
// the limit together, so each of them can be completed; the others wait, at
// largePartial bytes, in the order they came. Without that, many large frames at
// once would fill up memory side by side until none could go on.
type grants struct {
	mu      sync.Mutex
	limit   int64
	used    int64
	waiting []*Conn
}

// take asks for room for the rest of c's frame. On false c waits, and gets an
// opGrant when there is room. Loop only.
func (g *grants) take(c *Conn, need int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 && g.fits(need) {
		g.used += need
		return true
	}
	c.grantAsked = need
	g.waiting = append(g.waiting, c)
	return false
}

// fits: one frame is always granted, however large.
func (g *grants) fits(need int64) bool { return g.used == 0 || g.used+need <= g.limit }

// back returns room and passes it on. Any goroutine.
func (g *grants) back(n int64) {
	if n == 0 {
		return
	}
	g.mu.Lock()
	g.used -= n
	next := g.next()
	g.mu.Unlock()
	notify(next)
}

// next takes those off the queue for whom there is room now; g.mu is held.
func (g *grants) next() (granted []*Conn) {
	for len(g.waiting) > 0 && g.fits(g.waiting[0].grantAsked) {
		c := g.waiting[0]
		g.waiting[0] = nil
		g.waiting = g.waiting[1:]
		g.used += c.grantAsked
		granted = append(granted, c)
	}
	return granted
}

// notify comes without g.mu, because it takes the loops' locks. A loop that is gone
// for good has nobody who waits.
func notify(granted []*Conn) {
	for _, c := range granted {
		c.loop.post(message{op: opGrant, conn: c})
	}
}

// leave takes a connection that is closed off the queue. If it was granted
// meanwhile, its opGrant is on the way and gives the room back.
func (g *grants) leave(c *Conn) {
	g.mu.Lock()
	for i, w := range g.waiting {
		if w == c {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			break
		}
	}
	next := g.next()
	g.mu.Unlock()
	notify(next)
}

// wanting reports whether somebody waits.
func (g *grants) wanting() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) > 0
}

// granted goes on with a frame that has waited for room.
func (l *loop) granted(c *Conn) {
	c.grantWaits = false
	if c.closed {
		l.srv.grants.back(c.grantAsked)
		return
	}
	c.in.frame.grant = c.grantAsked
	l.resume(c)
}
