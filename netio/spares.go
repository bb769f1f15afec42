package netio

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// spares are the buffers of large frames. They are mapped beside the Go heap: on it,
// a burst of large frames doubles the heap, and what a pool holds stays until the
// collector has run twice, which in a quiet broker takes minutes. A buffer that no
// frame wanted for a whole trimEvery goes back to the system, so resident memory falls
// when the frames are gone.
//
// A frame's bytes read after its last release may be gone: that is a fault, where
// the heap would give another peer's bytes.
type spares struct {
	mu     sync.Mutex
	free   [len(framePools)]spareClass // by class, see classOf
	limit  int64                       // of all that is mapped, as far as it depends on what is kept
	mapped int64                       // bytes of all buffers, in use and kept
	kept   int64                       // bytes in free
	armed  bool                        // trim will run
	closed bool                        // nothing is kept any more
}

type spareClass struct {
	frames []*Frame // the one used last is behind
	idle   int      // the fewest there were since the last trim
}

const (
	// pooledBytes is the largest buffer from the heap. A lock and, after a pause, the
	// first touch of new pages do not show beside the copying of more than that.
	pooledBytes = 256 << 10
	trimEvery   = time.Second
)

// get returns a frame with a buffer of the class and size that classOf gave.
func (s *spares) get(c *Conn, class, size int) *Frame {
	if class >= 0 {
		if f := s.take(class); f != nil {
			f.conn = c
			return f
		}
	}
	s.grow(int64(size))
	store, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		// The system's limit on mappings, most likely. The heap has larger pieces.
		s.mu.Lock()
		s.mapped -= int64(size)
		s.mu.Unlock()
		return &Frame{conn: c, store: make([]byte, size), class: class}
	}
	return &Frame{conn: c, store: store, class: class, mapped: true}
}

func (s *spares) take(class int) *Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := &s.free[class]
	last := len(k.frames) - 1
	if last < 0 {
		return nil
	}
	f := k.frames[last]
	k.frames[last] = nil
	k.frames = k.frames[:last]
	k.idle = min(k.idle, last)
	s.kept -= int64(len(f.store))
	return f
}

// grow counts a new buffer. What is kept gives way to it, the largest first, so that
// spares of one size do not come on top of frames of another.
func (s *spares) grow(size int64) {
	s.mu.Lock()
	s.mapped += size
	var old []*Frame
	for i := len(s.free) - 1; i >= 0; i-- {
		for k := &s.free[i]; len(k.frames) > 0 && s.mapped > s.limit; {
			old = append(old, s.drop(k, 1)...)
		}
	}
	s.mu.Unlock()
	unmapAll(old)
}

// drop takes out the n frames of a class that were not used for longest; s.mu is held.
func (s *spares) drop(k *spareClass, n int) []*Frame {
	old := slices.Clone(k.frames[:n])
	k.frames = slices.Delete(k.frames, 0, n)
	k.idle = max(k.idle-n, 0)
	for _, f := range old {
		s.kept -= int64(len(f.store))
		s.mapped -= int64(len(f.store))
	}
	return old
}

// put takes a frame that get returned. Any goroutine.
func (s *spares) put(f *Frame) {
	if !f.mapped {
		return
	}
	size := int64(len(f.store))
	s.mu.Lock()
	if s.closed || f.class < 0 || s.mapped > s.limit {
		s.mapped -= size
		s.mu.Unlock()
		f.unmap()
		return
	}
	k := &s.free[f.class]
	k.frames = append(k.frames, f)
	s.kept += size
	if !s.armed {
		s.armed = true
		time.AfterFunc(trimEvery, s.trim)
	}
	s.mu.Unlock()
}

// trim returns what was not wanted since the last time, and comes again while
// anything is left.
func (s *spares) trim() {
	s.mu.Lock()
	var old []*Frame
	for i := range s.free {
		k := &s.free[i]
		old = append(old, s.drop(k, k.idle)...)
		k.idle = len(k.frames)
	}
	if s.armed = s.kept > 0; s.armed {
		time.AfterFunc(trimEvery, s.trim)
	}
	s.mu.Unlock()
	unmapAll(old)
}

// close returns everything; what is still out follows on its release.
func (s *spares) close() {
	s.mu.Lock()
	s.closed = true
	var all []*Frame
	for i := range s.free {
		all = append(all, s.drop(&s.free[i], len(s.free[i].frames))...)
	}
	s.mu.Unlock()
	unmapAll(all)
}

// unmapAll comes without s.mu: the system takes its time to clean pages up.
func unmapAll(frames []*Frame) {
	for _, f := range frames {
		f.unmap()
	}
}

func (f *Frame) unmap() {
	store := f.store
	f.store, f.mapped = nil, false
	if err := unix.Munmap(store); err != nil {
		panic("netio: " + err.Error()) // not a mapping of ours, or twice
	}
}
