package controller

import (
	"fmt"
	"sync"
)

// fault is the failure after which nothing may be written any more: a sync that
// failed (the kernel has marked the pages clean, a second one would lie), or a
// term that could not be stored. It is shared by everything that writes.
//
// raft panics when storing a term fails. The stable store therefore reports
// success and sets the fault instead; no vote is given, no entry stored and no
// change taken afterwards, so the term that is only in memory binds nobody.
type fault struct {
	mu   sync.Mutex
	err  error
	hit  chan struct{} // closed when err is set
	once sync.Once
}

func newFault() *fault { return &fault{hit: make(chan struct{})} }

// set records the first failure and returns an error for the caller.
func (f *fault) set(what string, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = fmt.Errorf("%w for good, restart the broker when the disk is sound: %s: %w", ErrStorage, what, err)
		f.once.Do(func() { close(f.hit) })
	}
	return f.err
}

// check returns the failure, or nil.
func (f *fault) check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
