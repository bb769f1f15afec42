package record

import "io"

// stream walks records that come decoded in pieces. Whole records in the feed's
// window go through span; one that is larger than the window is passed field by
// field and its key and value are dropped as they come.
//
// It returns walked only at the end of the stream, found wherever that is.
func (w *walk) stream(f *feed) (fault, error) {
	for {
		n, fl := w.span(f.rest())
		f.r += n
		switch fl {
		case walked:
			end, err := f.atEnd()
			if err != nil {
				return 0, err
			}
			if !end {
				return leftOver, nil
			}
			return walked, nil
		case short:
			if f.r > 0 || f.w < len(f.buf) {
				err := f.more()
				if err == io.EOF {
					return short, nil
				}
				if err != nil {
					return 0, err
				}
				continue
			}
			fl, err := w.long(f)
			if err != nil || fl != walked {
				return fl, err
			}
		default:
			return fl, nil
		}
	}
}

// long passes one record that is larger than the window. Its judgements are
// those of span.
func (w *walk) long(f *feed) (fault, error) {
	l := longRecord{feed: f, left: maxVarint}
	size := int64(zigzag(uint32(l.varint(maxVarint))))
	if l.failed() {
		return l.result(badLength)
	}
	l.left = size
	l.skip(1)
	td := l.varint(maxVarlong)
	delta := zigzag(uint32(l.varint(maxVarint)))
	key := l.field()
	value := l.field()
	headers := int64(zigzag(uint32(l.varint(maxVarint))))
	if headers < 0 || headers > l.left {
		return l.result(badStructure)
	}
	for ; headers > 0 && !l.failed(); headers-- {
		name, content := l.field(), l.field()
		if name < 0 || content < -1 {
			return l.result(badStructure)
		}
	}
	if l.failed() || l.left != 0 {
		return l.result(badStructure)
	}
	if key < -1 || value < -1 {
		return badSkip, nil
	}
	return w.judge(delta, zigzagLong(td), key >= 0), nil
}

// longRecord reads fields from a feed. The first failure stays: err for what
// the decoder says, broken for fields that do not fit.
type longRecord struct {
	feed   *feed
	left   int64 // bytes of the record not yet read
	broken bool
	err    error
}

func (l *longRecord) failed() bool { return l.broken || l.err != nil }

// result is f, unless the decoder failed or the stream ended before.
func (l *longRecord) result(f fault) (fault, error) {
	switch l.err {
	case nil:
		return f, nil
	case io.EOF:
		return short, nil
	}
	return 0, l.err
}

func (l *longRecord) skip(n int64) {
	if n < 0 || n > l.left {
		l.broken = true
	}
	if l.failed() {
		return
	}
	l.left -= n
	for f := l.feed; n > 0; {
		if f.r == f.w {
			if l.err = f.more(); l.err != nil {
				return
			}
		}
		step := min(n, int64(f.w-f.r))
		f.r += int(step)
		n -= step
	}
}

func (l *longRecord) varint(limit int) uint64 {
	var v uint64
	for i := range limit {
		if l.left < 1 {
			l.broken = true
		}
		if l.failed() {
			return 0
		}
		f := l.feed
		if f.r == f.w {
			if l.err = f.more(); l.err != nil {
				return 0
			}
		}
		c := f.buf[f.r]
		f.r++
		l.left--
		if limit == maxVarint && i == maxVarint-1 && c > 0x0f || i == maxVarlong-1 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v
		}
	}
	l.broken = true
	return 0
}

// field passes a length and as many bytes, and returns the length.
func (l *longRecord) field() int64 {
	n := int64(zigzag(uint32(l.varint(maxVarint))))
	if n > 0 {
		l.skip(n)
	}
	return n
}
