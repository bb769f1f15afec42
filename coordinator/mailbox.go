package coordinator

import (
	"sync"
	"time"
)

// mailbox hands functions to a loop, which takes all of them at once. Its size is
// bounded by what posts to it: a connection may have only so many requests under
// way, a partition's appends report once each, and the applier has one delta under
// way.
type mailbox struct {
	mu     sync.Mutex
	queue  []func()
	asleep bool
	closed bool
	wake   chan struct{} // capacity 1
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post reports false once the mailbox is closed.
func (b *mailbox) post(fn func()) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	b.queue = append(b.queue, fn)
	wake := b.asleep
	b.asleep = false
	b.mu.Unlock()
	if wake {
		select {
		case b.wake <- struct{}{}:
		default: // an earlier call that came just when the loop woke by itself
		}
	}
	return true
}

// take gives everything that was posted; spare becomes the next queue. It waits for
// something, but for no longer than wait, or for ever if that is negative.
func (b *mailbox) take(spare []func(), wait time.Duration) []func() {
	for {
		b.mu.Lock()
		if len(b.queue) > 0 || wait == 0 {
			queue := b.queue
			b.queue = spare[:0]
			b.asleep = false
			b.mu.Unlock()
			return queue
		}
		b.asleep = true
		b.mu.Unlock()
		if wait < 0 {
			<-b.wake
			continue
		}
		alarm := time.NewTimer(wait)
		select {
		case <-b.wake:
		case <-alarm.C:
		}
		alarm.Stop()
		wait = 0
	}
}

// close refuses what is posted from now on and gives what was posted before.
func (b *mailbox) close() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.queue
}
