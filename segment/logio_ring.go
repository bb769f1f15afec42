//go:build giouring && linux

package segment

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"ringmain/internal/uring"
)

// Sizes of the two rings of a backend. A round with more goes in several runs.
const (
	writeRingEntries = 128
	writeRingVectors = 2048
	syncRingEntries  = 128
)

// ringIO writes through pwritev or a ring, and syncs several files through
// another ring: a write ring belongs to the shard, the sync ring to its
// syncer, so that neither waits for the other. Rings are made when first
// needed.
type ringIO struct {
	full   bool // data through the ring too
	direct pwritevIO
	writes *uring.Ring
	syncs  *uring.Ring
	// Results by tag, and which item a tag stands for.
	writeRes, syncRes   []int32
	writeItem, syncItem []int
	broken              error // a ring that failed is not used again
	dead                []*uring.Ring
}

// NewRingIO makes the io_uring backend: full sends data through the ring,
// else only the syncs of several files go there ("hybrid").
func NewRingIO(full bool) LogIO { return &ringIO{full: full} }

func (r *ringIO) Name() string {
	if r.full {
		return "uring"
	}
	return "hybrid"
}

func (r *ringIO) Append(round []PartitionWrite) []error {
	if !r.full {
		return r.direct.Append(round)
	}
	if r.writes == nil {
		ring, err := uring.New(writeRingEntries, writeRingVectors)
		if err != nil {
			return r.direct.Append(round) // refused since the probe: pwritev does the same
		}
		r.writes = ring
		r.writeRes = make([]int32, writeRingEntries)
		r.writeItem = make([]int, writeRingEntries)
	}
	defer runtime.KeepAlive(round) // the kernel's addresses do not keep the buffers
	var errs []error
	for from := 0; from < len(round); {
		n := 0
		i := from
		for ; i < len(round) && n < writeRingEntries; i++ {
			w := &round[i]
			// A roll: what ends the old segment must be there before anything
			// is in the new one, or a kill leaves a gap. The ring completes
			// the operations of one run in any order.
			if i > from && w.File.home == round[i-1].File.home {
				break
			}
			fd := w.File.f.WriteFd()
			var err error = uring.ErrFull
			if fd >= 0 {
				err = r.writes.PushWrite(fd, w.Bufs, w.Off, n)
			}
			if errors.Is(err, uring.ErrFull) {
				if fd >= 0 && n > 0 && len(w.Bufs) <= uring.MaxVectors {
					break // the next run has room
				}
				// Too many buffers for one operation, or a file that wants
				// its own methods.
				if _, err := w.File.f.WritevAt(w.Bufs, w.Off); err != nil {
					errs = setErr(errs, len(round), i, err)
				}
				continue
			}
			if err != nil {
				errs = setErr(errs, len(round), i, err)
				continue
			}
			r.writeItem[n] = i
			n++
		}
		if n > 0 {
			if err := r.writes.Run(r.writeRes[:n]); err != nil {
				// What happened to them is unknown: the ring may still write.
				// Neither the ring nor the logs are used again.
				for _, k := range r.writeItem[:n] {
					errs = setErr(errs, len(round), k, fmt.Errorf("%w: %w", ErrStorage, err))
				}
				r.dead = append(r.dead, r.writes)
				r.writes, r.full = nil, false
				from = i
				continue
			}
			for tag, k := range r.writeItem[:n] {
				if err := finishWrite(&round[k], r.writeRes[tag]); err != nil {
					errs = setErr(errs, len(round), k, err)
				}
			}
		}
		from = i
	}
	return errs
}

// finishWrite looks at one completion and writes what a short one left.
func finishWrite(w *PartitionWrite, res int32) error {
	total := 0
	for _, b := range w.Bufs {
		total += len(b)
	}
	done := 0
	switch {
	case res >= 0:
		done = int(res)
	case retryable(syscall.Errno(-res)):
	default:
		return fmt.Errorf("write %s: %w", w.File.Path(), syscall.Errno(-res))
	}
	if done >= total {
		return nil
	}
	rest := make([][]byte, 0, len(w.Bufs))
	skip := done
	for _, b := range w.Bufs {
		if skip >= len(b) {
			skip -= len(b)
			continue
		}
		rest = append(rest, b[skip:])
		skip = 0
	}
	_, err := w.File.f.WritevAt(rest, w.Off+int64(done))
	return err
}

func retryable(e syscall.Errno) bool { return e == unix.EAGAIN || e == unix.EINTR }

func (r *ringIO) Sync(files []*File) []error {
	if len(files) == 1 || r.broken != nil {
		return syncInTurn(files)
	}
	if r.syncs == nil {
		ring, err := uring.New(syncRingEntries, 0)
		if err != nil {
			r.broken = err
			return syncInTurn(files)
		}
		r.syncs = ring
		r.syncRes = make([]int32, syncRingEntries)
		r.syncItem = make([]int, syncRingEntries)
	}
	errs := syncNames(files)
	for from := 0; from < len(files); {
		n, i := 0, from
		for ; i < len(files) && n < syncRingEntries; i++ {
			if errs != nil && errs[i] != nil {
				continue
			}
			fd := files[i].f.WriteFd()
			if fd < 0 || r.broken != nil {
				if err := files[i].syncData(); err != nil {
					errs = setErr(errs, len(files), i, err)
				}
				continue
			}
			if err := files[i].beginSync(); err != nil {
				errs = setErr(errs, len(files), i, err)
				continue
			}
			if err := r.syncs.PushSync(fd, n); err != nil {
				files[i].endSync(nil) // it was not begun
				errs = setErr(errs, len(files), i, err)
				continue
			}
			r.syncItem[n] = i
			n++
		}
		if n > 0 {
			if err := r.syncs.Run(r.syncRes[:n]); err != nil {
				for _, k := range r.syncItem[:n] {
					lost := fmt.Errorf("%w: %w", ErrStorage, err)
					files[k].endSync(lost)
					errs = setErr(errs, len(files), k, lost)
				}
				r.dead, r.syncs, r.broken = append(r.dead, r.syncs), nil, err
				from = i
				continue
			}
			for tag, k := range r.syncItem[:n] {
				err := finishSync(files[k], r.syncRes[tag])
				files[k].endSync(err)
				if err != nil {
					errs = setErr(errs, len(files), k, err)
				}
			}
		}
		from = i
	}
	return errs
}

// finishSync looks at one completion. Only a sync that was not begun is asked for
// once more, and that answer counts: it has reported nothing that would be lost. Any
// other error is final, ECANCELED too: the bytes are not known to be on disk.
func finishSync(f *File, res int32) error {
	switch {
	case res == 0:
		return nil
	case retryable(syscall.Errno(-res)):
		return f.f.SyncData()
	default:
		return fmt.Errorf("sync %s: %w", f.Path(), syscall.Errno(-res))
	}
}

func (r *ringIO) Close() error {
	var errs []error
	for _, ring := range append(r.dead, r.writes, r.syncs) {
		if ring != nil {
			errs = append(errs, ring.Close())
		}
	}
	return errors.Join(errs...)
}
