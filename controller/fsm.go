package controller

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"ringmain/metadata"
)

// imageFSM is raft's state machine: it turns committed entries into images and
// publishes them. Apply is called by raft's FSM goroutine alone.
type imageFSM struct {
	fault *fault
	image atomic.Pointer[metadata.Image]

	mu       sync.Mutex         // publication: image, waiters and watchers change together
	applied  uint64             // index of the last entry that was applied
	release  func(index uint64) // tells the log that an entry was applied
	waiting  chan struct{}
	watchers []*watcher
	closed   bool
}

var _ raft.FSM = (*imageFSM)(nil)

// newImageFSM starts with the image of a checkpoint.
func newImageFSM(img *metadata.Image, index uint64, release func(uint64), f *fault) *imageFSM {
	m := &imageFSM{fault: f, applied: index, release: release}
	m.image.Store(img)
	return m
}

// Apply returns an error, or nil, as the response to the entry. An entry that
// cannot be applied stops the node for good: going on without it would make
// this node's image differ from every other's.
func (m *imageFSM) Apply(l *raft.Log) any {
	if err := m.fault.check(); err != nil {
		return err
	}
	if len(l.Extensions) == 8 && binary.BigEndian.Uint64(l.Extensions) != l.Term {
		return ErrNotLeader // see commit
	}
	records, err := metadata.Decode(l.Data)
	if err == nil {
		var img *metadata.Image
		var delta *metadata.Delta
		if img, delta, err = m.image.Load().Apply(records, int64(l.Index)); err == nil {
			m.publish(img, delta, l.Index)
			return nil
		}
	}
	return m.fault.set(fmt.Sprintf("apply entry %d of term %d", l.Index, l.Term), err)
}

func (m *imageFSM) publish(img *metadata.Image, delta *metadata.Delta, index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.image.Store(img)
	m.applied = index
	m.release(index)
	if m.waiting != nil {
		close(m.waiting)
		m.waiting = nil
	}
	for _, w := range m.watchers {
		w.post(img, delta)
	}
}

// wait returns nil when the entry with this index has been applied, and an error
// when ctx ends, storage fails for good, or something comes from giveUp.
func (m *imageFSM) wait(ctx context.Context, index uint64, giveUp <-chan struct{}) error {
	for {
		m.mu.Lock()
		if m.applied >= index {
			m.mu.Unlock()
			return nil
		}
		if m.waiting == nil {
			m.waiting = make(chan struct{})
		}
		changed := m.waiting
		m.mu.Unlock()
		select {
		case <-changed:
		case <-m.fault.hit:
			return m.fault.check()
		case <-giveUp:
			return fmt.Errorf("entry %d was not applied", index)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Snapshot is as cheap as raft wants it to be: the image is immutable.
func (m *imageFSM) Snapshot() (raft.FSMSnapshot, error) {
	if err := m.fault.check(); err != nil {
		return nil, err
	}
	return imageSnapshot{m.image.Load()}, nil
}

// Restore takes over the image that a leader sent.
func (m *imageFSM) Restore(r io.ReadCloser) error {
	in := bufio.NewReaderSize(r, 64<<10)
	img, err := metadata.ReadSnapshot(in)
	if err == nil {
		_, err = io.Copy(io.Discard, in) // to the end, where the checksum is compared
	}
	if err != nil {
		return m.fault.set("restore the image that the leader sent", err)
	}
	m.publish(img, metadata.Diff(m.image.Load(), img), uint64(img.Offset()))
	return nil
}

type imageSnapshot struct{ img *metadata.Image }

func (s imageSnapshot) Persist(sink raft.SnapshotSink) error {
	if err := metadata.WriteSnapshot(sink, s.img); err != nil {
		return err
	}
	return sink.Close()
}

func (s imageSnapshot) Release() {}
