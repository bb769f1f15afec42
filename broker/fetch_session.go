package broker

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"ringmain/model"
)

// sessionIdle is how long a fetch session must have been unused before a new
// one may take its slot (KIP-227).
const sessionIdle = 120 * time.Second

// sessionKey names a partition within a session: by id where the session was
// made with topic ids, else by name.
type sessionKey struct {
	topic string
	id    model.TopicID
	index int32
}

// sessionPartition is what a session remembers of a partition: what the client
// asked last and what we answered last.
type sessionPartition struct {
	sessionKey
	offset      int64
	maxBytes    int32
	epoch       int32 // current leader epoch
	lastFetched int32
	name        string // of the topic, once an id was found to be its
	hw          int64  // as answered last; -1 before the first answer
	logStart    int64

	prev, next *sessionPartition
}

// fetchSession is one incremental fetch session (KIP-227): an ordered set of
// partitions. The order is that in which they are served: what has given data
// goes to the back.
type fetchSession struct {
	mu       sync.Mutex
	id       int32
	epoch    int32 // expected of the next request
	byID     bool  // made with topic ids (Fetch v13 and later)
	parts    map[sessionKey]*sessionPartition
	order    sessionPartition // ring head
	lastUsed time.Time        // under the cache's mutex
	size     int              // partitions, under the cache's mutex
}

func newFetchSession(id int32, byID bool) *fetchSession {
	s := &fetchSession{id: id, epoch: 1, byID: byID, parts: map[sessionKey]*sessionPartition{}}
	s.order.prev, s.order.next = &s.order, &s.order
	return s
}

// set adds or changes a partition.
func (s *fetchSession) set(k sessionKey, offset int64, maxBytes, epoch, lastFetched int32) {
	p := s.parts[k]
	if p == nil {
		p = &sessionPartition{sessionKey: k, hw: -1, logStart: -1}
		s.parts[k] = p
		s.pushBack(p)
	}
	p.offset, p.maxBytes, p.epoch, p.lastFetched = offset, maxBytes, epoch, lastFetched
}

func (s *fetchSession) forget(k sessionKey) {
	if p := s.parts[k]; p != nil {
		delete(s.parts, k)
		unlink(p)
	}
}

func (s *fetchSession) pushBack(p *sessionPartition) {
	p.prev, p.next = s.order.prev, &s.order
	p.prev.next = p
	s.order.prev = p
}

func unlink(p *sessionPartition) { p.prev.next, p.next.prev = p.next, p.prev }

// toBack moves a partition to the back. One that has given data goes there, so that
// a small response limit does not starve those behind it.
func (s *fetchSession) toBack(p *sessionPartition) {
	if s.parts[p.sessionKey] == p {
		unlink(p)
		s.pushBack(p)
	}
}

// nextEpoch gives the session epoch that follows e: after 2147483647 comes 1.
func nextEpoch(e int32) int32 {
	if e == 1<<31-1 {
		return 1
	}
	return e + 1
}

// maxSessionPartitions bounds what all sessions remember together: each
// partition costs some 200 bytes, for as long as its session lives.
const maxSessionPartitions = 1 << 20

// fetchSessions is the broker's cache of sessions, bounded by
// max.incremental.fetch.session.cache.slots and maxSessionPartitions.
type fetchSessions struct {
	slots int

	mu         sync.Mutex
	byID       map[int32]*fetchSession
	partitions int // of all sessions
}

func newFetchSessions(slots int) *fetchSessions {
	return &fetchSessions{slots: slots, byID: map[int32]*fetchSession{}}
}

// create makes a session for so many partitions, or gives nil if no place can
// be had: then the fetch is answered without one (session id 0).
func (c *fetchSessions) create(byID bool, size int, now time.Time) *fetchSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.partitions+size > maxSessionPartitions {
		if !c.evictIdle(now) {
			return nil
		}
	}
	if len(c.byID) >= c.slots && !c.evictIdle(now) && !c.evictSmaller(size) {
		return nil
	}
	s := newFetchSession(c.newID(), byID)
	s.lastUsed, s.size = now, size
	c.byID[s.id] = s
	c.partitions += size
	return s
}

// evictIdle gives up the session that is unused for longest, if that is longer
// than sessionIdle.
func (c *fetchSessions) evictIdle(now time.Time) bool {
	var oldest *fetchSession
	for _, s := range c.byID {
		if oldest == nil || s.lastUsed.Before(oldest.lastUsed) {
			oldest = s
		}
	}
	if oldest == nil || now.Sub(oldest.lastUsed) <= sessionIdle {
		return false
	}
	c.drop(oldest)
	return true
}

// evictSmaller gives up the smallest session, if it holds fewer partitions than
// the new one would. Larger sessions save more, so they are kept.
func (c *fetchSessions) evictSmaller(size int) bool {
	var smallest *fetchSession
	for _, s := range c.byID {
		if smallest == nil || s.size < smallest.size {
			smallest = s
		}
	}
	if smallest == nil || smallest.size >= size {
		return false
	}
	c.drop(smallest)
	return true
}

func (c *fetchSessions) drop(s *fetchSession) {
	delete(c.byID, s.id)
	c.partitions -= s.size
}

// newID gives an unused random id above 0: it must not be guessable by another
// client.
func (c *fetchSessions) newID() int32 {
	for {
		var b [4]byte
		rand.Read(b[:])
		id := int32(binary.BigEndian.Uint32(b[:]) & 0x7fffffff)
		if id != 0 && c.byID[id] == nil {
			return id
		}
	}
}

// use finds a session and marks it as used.
func (c *fetchSessions) use(id int32, now time.Time) *fetchSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byID[id]
	if s != nil {
		s.lastUsed = now
	}
	return s
}

// resized notes how many partitions s holds now. One that has grown beyond what
// all may hold together is dropped: its client begins again, without one.
func (c *fetchSessions) resized(s *fetchSession, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[s.id] != s {
		return // evicted meanwhile
	}
	grown := size - s.size
	s.size = size
	if c.partitions += grown; grown > 0 && c.partitions > maxSessionPartitions {
		c.drop(s)
	}
}

// remove drops a session.
func (c *fetchSessions) remove(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.byID[id]; s != nil {
		c.drop(s)
	}
}
