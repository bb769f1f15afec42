package record

import "io"

// Header is a record's header.
type Header struct {
	Key   string
	Value []byte // nil if null
}

// Record is one record of a batch.
type Record struct {
	Offset    int64
	Timestamp int64  // ms, NoTimestamp if it has none
	Key       []byte // nil if null
	Value     []byte // nil if null
	Headers   []Header
}

// Reader reads the records of a stored batch one by one. Compressed batches are
// decoded as they are read: memory is what the largest record needs, at most
// MaxDecompressedBytes. Not for the produce path, which never looks at records
// this closely. Owned by one goroutine.
type Reader struct {
	batch   Batch
	dec     *decoder
	feed    *feed  // nil if not compressed
	plain   []byte // records not yet read, if not compressed
	next    int32
	headers []Header
	err     error
}

// NewReader begins to read b. Close must be called.
func NewReader(b Batch) (*Reader, error) {
	r := &Reader{}
	if err := r.Reset(b); err != nil {
		return nil, err
	}
	return r, nil
}

// Reset begins to read b, with a Reader that may be new or have read another batch.
// Close must be called after the last one.
func (r *Reader) Reset(b Batch) error {
	r.Close()
	if len(b) < HeaderSize {
		return ErrIncomplete
	}
	r.batch, r.plain, r.err = b, b[HeaderSize:], nil
	if c := b.Codec(); c != None {
		r.dec = decoders.Get().(*decoder)
		var err error
		if r.feed, err = r.dec.open(c, b[HeaderSize:]); err != nil {
			r.Close()
			return decodeError(c, err)
		}
	}
	return nil
}

// Close ends the use of what Next returned.
func (r *Reader) Close() {
	if r.dec != nil {
		r.dec.close()
		decoders.Put(r.dec)
		r.dec, r.feed = nil, nil
	}
	r.plain, r.next, r.err = nil, 0, io.EOF
}

// Next returns the next record, valid until the next call; io.EOF behind the
// last. Other errors are final.
func (r *Reader) Next() (Record, error) {
	if r.err != nil {
		return Record{}, r.err
	}
	rec, err := r.read()
	r.err = err
	return rec, err
}

func (r *Reader) read() (Record, error) {
	if r.next >= r.batch.Count() {
		return Record{}, io.EOF
	}
	for {
		b := r.plain
		if r.feed != nil {
			b = r.feed.rest()
		}
		rec, n, f := r.parse(b)
		if f == walked {
			if r.feed != nil {
				r.feed.r += n
			} else {
				r.plain = b[n:]
			}
			r.next++
			return rec, nil
		}
		if f == short && r.feed != nil {
			if r.feed.r == 0 && r.feed.w == len(r.feed.buf) {
				r.feed.buf = append(make([]byte, 0, 2*len(r.feed.buf)), r.feed.buf...)
				r.feed.buf = r.feed.buf[:cap(r.feed.buf)]
			}
			err := r.feed.more()
			if err == nil {
				continue
			}
			if err != io.EOF {
				return Record{}, decodeError(r.batch.Codec(), err)
			}
		}
		w := walk{count: r.batch.Count(), next: r.next}
		return Record{}, w.describe(f)
	}
}

// parse reads the record that b begins with and returns how many bytes it took.
func (r *Reader) parse(b []byte) (Record, int, fault) {
	n, p := uvarint(b, 0)
	size := int(zigzag(n))
	if p < 0 {
		if len(b) < maxVarint {
			return Record{}, 0, short
		}
		return Record{}, 0, badLength
	}
	if size < minRecord {
		return Record{}, 0, badLength
	}
	if size > len(b)-p {
		return Record{}, 0, short
	}
	end := p + size
	in := cursor{b: b[p:end:end], p: 1}
	rec := Record{Timestamp: r.batch.BaseTimestamp() + in.varlong()}
	if r.batch.LogAppendTime() {
		rec.Timestamp = r.batch.MaxTimestamp()
	}
	rec.Offset = r.batch.BaseOffset() + int64(in.varint())
	rec.Key = in.bytes()
	rec.Value = in.bytes()
	r.headers = r.headers[:0]
	count := in.varint()
	if count < 0 || int(count) > len(in.b) {
		return Record{}, 0, badStructure
	}
	for range count {
		key := in.bytes()
		if key == nil {
			return Record{}, 0, badStructure
		}
		r.headers = append(r.headers, Header{Key: string(key), Value: in.bytes()})
	}
	if in.p != len(in.b) {
		return Record{}, 0, badStructure
	}
	rec.Headers = r.headers
	return rec, end, walked
}

// cursor reads a record's fields; a position that went wrong stays wrong.
type cursor struct {
	b []byte
	p int
}

func (c *cursor) varint() int32 {
	v, p := uvarint(c.b, c.p)
	c.p = p
	return zigzag(v)
}

func (c *cursor) varlong() int64 {
	v, p := uvarlong(c.b, c.p)
	c.p = p
	return zigzagLong(v)
}

// bytes reads a length and as many bytes; nil for length -1 and for nonsense.
func (c *cursor) bytes() []byte {
	n := int(c.varint())
	if n < -1 || c.p < 0 || n > len(c.b)-c.p {
		c.p = bad
		return nil
	}
	if n < 0 {
		return nil
	}
	start := c.p
	c.p += n
	return c.b[start:c.p:c.p]
}
