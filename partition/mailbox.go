package partition

import "sync"

// Command is something for a shard's loop to do.
type Command interface{ run(s *Shard) }

// mailbox hands commands to the loop: posting appends under a mutex, the loop
// takes the whole slice. Its size is bounded by what posts to it: connections
// are bounded in bytes in flight (netio), the syncer's results by one job for each log, and the
// applier, retention and each pass of compaction have one command under way.
type mailbox struct {
	mu     sync.Mutex
	queue  []Command
	asleep bool
	closed bool
	wake   chan struct{} // capacity 1
}

func (m *mailbox) post(c Command) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	m.queue = append(m.queue, c)
	m.unlock()
	return nil
}

// unlock ends a change of the queue: a loop that sleeps is woken.
func (m *mailbox) unlock() {
	wake := m.asleep
	m.asleep = false
	m.mu.Unlock()
	if wake {
		m.wake <- struct{}{}
	}
}

// postAll posts several commands under one lock.
func postAll[C Command](m *mailbox, cs []C) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	for _, c := range cs {
		m.queue = append(m.queue, c)
	}
	m.unlock()
	return nil
}

// take waits for commands and gives all of them; spare becomes the next queue.
// ok is false when the mailbox is closed and empty.
func (m *mailbox) take(spare []Command) (queue []Command, ok bool) {
	for {
		m.mu.Lock()
		if len(m.queue) > 0 {
			queue = m.queue
			m.queue = spare[:0]
			m.mu.Unlock()
			return queue, true
		}
		if m.closed {
			m.mu.Unlock()
			return spare[:0], false
		}
		m.asleep = true
		m.mu.Unlock()
		<-m.wake
	}
}

func (m *mailbox) close() {
	m.mu.Lock()
	m.closed = true
	m.unlock()
}
