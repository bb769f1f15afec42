package netio

import "sync"

// File is an open file whose range is being sent. netio calls Release once per
// range, after it was sent or given up; the descriptor stays valid until then.
type File interface {
	Fd() int
	Release()
}

// FileRange is N bytes of File from offset Off on.
type FileRange struct {
	File File
	Off  int64
	N    int
}

// Response is one answer: bytes and file ranges, in order. It belongs to whoever
// called NewResponse until it is given to Slot.Send, or dropped with Discard.
//
// Append to Buf for bytes that are made on the way; AddFile and AddBytes fix what
// Buf holds by then as coming first. Whatever is in Buf after the last of them
// comes last.
type Response struct {
	Buf []byte

	parts  []part
	marked int   // how much of Buf is in parts already
	memory int64 // bytes of memory held, for the accounting
}

// part is a piece of a response: bytes, or a file range when file.File is set.
type part struct {
	b      []byte
	lo, hi int // a piece of Buf, resolved by seal because Buf may move until then
	inBuf  bool
	file   FileRange
}

// size is how many bytes the part puts on the wire.
func (p *part) size() int { return len(p.b) + p.file.N }

// maxKeptBuf is the largest Buf that goes back to the pool with its response. A
// response counts with the whole of its Buf as bytes in flight, so small answers
// must not inherit large ones'.
const maxKeptBuf = 4 << 10

var responses = sync.Pool{New: func() any { return new(Response) }}

// NewResponse returns an empty response from the pool.
func NewResponse() *Response { return responses.Get().(*Response) }

// AddBytes adds b without copying it. b must stay as it is until the response has
// been sent; nobody is told when, so it is for bytes that never change.
func (r *Response) AddBytes(b []byte) {
	r.mark()
	if len(b) > 0 {
		r.parts = append(r.parts, part{b: b})
		r.memory += int64(len(b))
	}
}

// AddFile adds a range of a file and takes over the caller's reference to it.
func (r *Response) AddFile(f FileRange) {
	r.mark()
	if f.N <= 0 {
		f.File.Release()
		return
	}
	r.parts = append(r.parts, part{file: f})
}

// Len is the number of bytes the response will put on the wire.
func (r *Response) Len() int {
	n := len(r.Buf) - r.marked
	for i := range r.parts {
		p := &r.parts[i]
		n += p.hi - p.lo + p.file.N
		if !p.inBuf {
			n += len(p.b)
		}
	}
	return n
}

// Discard gives up a response that was not sent.
func (r *Response) Discard() { r.recycle() }

func (r *Response) mark() {
	if n := len(r.Buf); n > r.marked {
		r.parts = append(r.parts, part{lo: r.marked, hi: n, inBuf: true})
		r.marked = n
	}
}

// seal makes the parts final. Nothing may be appended afterwards.
func (r *Response) seal() {
	r.mark()
	for i := range r.parts {
		if p := &r.parts[i]; p.inBuf {
			p.b = r.Buf[p.lo:p.hi]
		}
	}
	r.memory += int64(cap(r.Buf))
}

// recycle releases the file ranges and gives the response back to the pool.
func (r *Response) recycle() {
	if r == skipped {
		return
	}
	for i := range r.parts {
		if f := r.parts[i].file.File; f != nil {
			f.Release()
		}
		r.parts[i] = part{}
	}
	r.parts, r.marked, r.memory = r.parts[:0], 0, 0
	if cap(r.Buf) > maxKeptBuf {
		r.Buf = nil
	}
	r.Buf = r.Buf[:0]
	responses.Put(r)
}
