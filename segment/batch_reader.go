package segment

import (
	"errors"
	"io"

	"ringmain/record"
)

// batchReader reads the batches of a segment one after the other, whole, and
// checks them. Memory is its buffer, or the largest batch. A reference to the
// file must be held. One goroutine.
type batchReader struct {
	file *File
	size int64                 // read nothing at or beyond
	pos  int64                 // file position of buf[0]
	buf  []byte                // buf[from:to] was read and not given out
	pace func(bytes int) error // asked before each read

	epochs epochHistory

	from, to int
}

// open begins with the batch at pos; the buffer is kept.
func (r *batchReader) open(f *File, pos, size int64) {
	r.file, r.pos, r.size, r.from, r.to, r.epochs = f, pos, size, 0, 0, f.home.epochs()
}

// next returns the next batch, valid until the call after; io.EOF behind the
// last. Damage is ErrCorrupt.
func (r *batchReader) next() (record.Batch, error) {
	at := r.pos + int64(r.from)
	if at >= r.size {
		return nil, io.EOF
	}
	for {
		b, err := record.First(r.buf[r.from:r.to])
		switch {
		case err == nil:
			if !b.ChecksumOK() {
				return nil, corrupt(r.file.Path(), at, "the checksum of the batch at offset %d is wrong", b.BaseOffset())
			}
			if b.BaseOffset() < r.file.base || b.LastOffsetDelta() < 0 {
				return nil, corrupt(r.file.Path(), at, "offsets %d to %d in the segment of %d", b.BaseOffset(), b.LastOffset(), r.file.base)
			}
			if err := r.epochs.refuse(r.file, at, b); err != nil {
				return nil, err
			}
			r.from += len(b)
			return b, nil
		case !errors.Is(err, record.ErrIncomplete):
			return nil, corrupt(r.file.Path(), at, "%v", err)
		case r.pos+int64(r.to) >= r.size:
			return nil, corrupt(r.file.Path(), at, "%d bytes are less than a batch", r.size-at)
		}
		if err := r.more(); err != nil {
			return nil, err
		}
	}
}

// atEnd tells whether the batch that next gave last is the last of all.
func (r *batchReader) atEnd() bool { return r.pos+int64(r.from) >= r.size }

// more reads on, with room for the batch that begins at buf[from].
func (r *batchReader) more() error {
	r.to = copy(r.buf, r.buf[r.from:r.to])
	r.pos += int64(r.from)
	r.from = 0
	if want := r.wanted(); want > len(r.buf) {
		r.buf = append(make([]byte, 0, want), r.buf[:r.to]...)[:want]
	}
	n := int(min(int64(len(r.buf)-r.to), r.size-r.pos-int64(r.to)))
	if err := r.pace(n); err != nil {
		return err
	}
	n, err := r.file.ReadAt(r.buf[r.to:r.to+n], r.pos+int64(r.to))
	if n == 0 {
		if err == nil || errors.Is(err, io.EOF) {
			err = corrupt(r.file.Path(), r.pos+int64(r.to), "the file ends before byte %d", r.size)
		}
		return err
	}
	r.to += n
	return nil
}

// wanted is how large the buffer must be for the batch at its beginning, as far
// as that is known. A length beyond the file is damage, for which no memory is
// taken.
func (r *batchReader) wanted() int {
	want := int64(2 * record.HeaderSize)
	if r.to >= record.HeaderSize {
		want = max(want, int64(record.Batch(r.buf[:record.HeaderSize]).Size()))
	}
	return int(min(want, max(r.size-r.pos, 2*record.HeaderSize)))
}
