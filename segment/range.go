package segment

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// Range is whole batches in one file. It holds a reference to the file until
// Release; the zero Range is empty and needs none.
type Range struct {
	File *File
	Off  int64
	N    int // bytes
}

// Release gives the reference back.
func (r Range) Release() {
	if r.File != nil {
		r.File.Release()
	}
}

// Hot reports whether the page cache has the whole range, so that reading it
// does not wait for the disk. On a system that cannot tell it says yes.
func (r Range) Hot() bool {
	if r.N == 0 || r.File.Fd() < 0 {
		return true
	}
	return cached(r.File.Fd(), r.Off, int64(r.N))
}

// warmChunk is how much Warm reads at once.
const warmChunk = 256 << 10

var warmPool = sync.Pool{New: func() any { return new([warmChunk]byte) }}

// Warm reads the range into the page cache; it waits for the disk.
func (r Range) Warm() error {
	if r.N == 0 {
		return nil
	}
	willNeed(r.File.Fd(), r.Off, int64(r.N))
	buf := warmPool.Get().(*[warmChunk]byte)
	defer warmPool.Put(buf)
	for done := 0; done < r.N; {
		n, err := r.File.ReadAt(buf[:min(warmChunk, r.N-done)], r.Off+int64(done))
		done += n
		if errors.Is(err, io.EOF) && done < r.N {
			return fmt.Errorf("%w: %s ends at %d, before byte %d", ErrCorrupt, r.File.Path(), r.Off+int64(done), r.Off+int64(r.N))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}
