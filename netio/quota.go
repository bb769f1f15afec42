package netio

import (
	"sync"
	"time"
)

// quota counts connections against the limits. Any goroutine.
type quota struct {
	mu         sync.Mutex
	limits     Limits
	descriptor int // the budget of descriptors
	open       int
	perIP      map[string]int
	listeners  map[string]int
	nextAt     time.Time     // the creation rate allows the next connection then
	changed    chan struct{} // closed and replaced when waiting acceptors should look again
}

func newQuota(limits Limits, descriptors int) *quota {
	return &quota{limits: limits, descriptor: descriptors, perIP: map[string]int{}, listeners: map[string]int{}, changed: make(chan struct{})}
}

func (q *quota) setLimits(l Limits) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limits = l
	q.wake()
}

func (q *quota) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// addIP counts a connection from ip, unless it has as many as it may.
func (q *quota) addIP(ip string) (limit int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	limit = orUnlimited(q.limits.MaxConnectionsPerIP)
	if n, found := q.limits.PerIPOverrides[ip]; found {
		limit = n
	}
	if q.perIP[ip] >= limit {
		return limit, false
	}
	q.perIP[ip]++
	return limit, true
}

func (q *quota) dropIP(ip string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropIPLocked(ip)
}

func (q *quota) dropIPLocked(ip string) {
	if q.perIP[ip]--; q.perIP[ip] <= 0 {
		delete(q.perIP, ip)
	}
}

// burst is for how long an unused creation rate may be saved up.
const burst = time.Second

// admit counts a connection, or says for how long, or until what, to wait first:
// wait is 0 when a limit is in the way, so that only a change helps.
func (q *quota) admit(listener string) (ok bool, wait time.Duration, changed <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open >= min(orUnlimited(q.limits.MaxConnections), q.descriptor) {
		return false, 0, q.changed
	}
	if rate := q.limits.MaxConnectionsPerSec; rate > 0 {
		now := time.Now()
		if wait := q.nextAt.Sub(now); wait > 0 {
			return false, wait, q.changed
		}
		if earliest := now.Add(-burst); q.nextAt.Before(earliest) {
			q.nextAt = earliest
		}
		q.nextAt = q.nextAt.Add(time.Second / time.Duration(rate))
	}
	q.open++
	q.listeners[listener]++
	return true, 0, nil
}

// leave takes back admit and addIP.
func (q *quota) leave(listener, ip string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open--
	q.listeners[listener]--
	q.dropIPLocked(ip)
	// Only a full server has acceptors waiting for this.
	if q.open+1 >= min(orUnlimited(q.limits.MaxConnections), q.descriptor) {
		q.wake()
	}
}

func (q *quota) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open
}

func (q *quota) snapshot() (int, map[string]int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	byListener := make(map[string]int, len(q.listeners))
	for name, n := range q.listeners {
		byListener[name] = n
	}
	return q.open, byListener
}
