package netio

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"ringmain/sendfile"
)

// cursor says how far the first response has been sent. Loop only.
type cursor struct {
	part int // index into Response.parts
	done int // bytes of that part that are sent
}

// gather is the loop's scratch for one scattered write.
type gather struct {
	pieces [maxPieces][]byte
	n      int
	bytes  int
	vector sendVector
	copied []byte // file ranges read for this write, capacity copyBytes
}

// copyBytes is the largest file range that is read and sent with the bytes around
// it, in one call, instead of being handed to sendfile. sendfile passes 64 KiB at a
// time, each waking a reader that waits, and needs calls of its own; below this
// size that costs more than the copy (perf/0005-small-ranges.md and, without
// pacing, perf/0012-plans-of-large-batches.md).
const copyBytes = 32 << 10

// maxPieces bounds one write; the system's own bound is 1024, and beyond some dozens
// the call is dominated by the bytes anyway.
const maxPieces = 128

// flush sends the answers that are next in order: runs of bytes, however many
// responses they belong to, with one write each; file ranges with sendfile. It
// stops when the socket is full, and then asks to be told when there is room, or
// when the connection or the loop has had its turn, and then queues for the next.
func (c *Conn) flush() error {
	if c.roomWatched || c.queued || c.closed {
		return nil
	}
	for left := c.srv.cfg.SendBudget; ; {
		r := c.first()
		if r == nil {
			return nil
		}
		b := &c.loop.bulk
		heavy := b.sending || c.nextRange(r) > lightBytes
		most := left
		if heavy {
			most = min(left, b.room())
		}
		if most <= 0 {
			b.push(c)
			return nil
		}
		begun := c.loop.now
		if heavy {
			begun = c.srv.clock()
		}
		n, err := c.sendSome(r, most)
		if heavy {
			c.loop.pace.spent(c.srv.clock() - begun)
		}
		switch {
		case err == nil:
			left -= n
			if heavy {
				b.left -= n
			}
			c.blockedAt = 0
			c.lastUse = c.loop.now
			c.srv.stats.bytesOut.Add(int64(n))
		case wouldBlock(err):
			if c.blockedAt == 0 {
				c.blockedAt = c.loop.now
			}
			c.watchRoom()
			return nil
		case errors.Is(err, ErrShortFile):
			return err
		default:
			return &ioError{ErrSend, err}
		}
	}
}

// nextRange is how many bytes are left of the file range at the cursor, or right
// behind the bytes there; 0 when neither is one.
func (c *Conn) nextRange(r *Response) int {
	if p := &r.parts[c.cur.part]; p.file.File != nil {
		return p.file.N - c.cur.done
	}
	if i := c.cur.part + 1; i < len(r.parts) {
		return r.parts[i].file.N
	}
	return 0
}

// first returns the response to go on with, having passed over those that have
// nothing to send; nil when the next in order is not there yet.
func (c *Conn) first() *Response {
	for {
		r := c.out.at(c.out.head)
		if r == nil || c.cur.part < len(r.parts) {
			return r
		}
		c.finishFirst(r)
	}
}

// finishFirst drops the first response, which has been sent.
func (c *Conn) finishFirst(r *Response) {
	memory := r.memory
	c.out.pop()
	c.cur = cursor{}
	r.recycle()
	c.uncharge(memory + slotOverhead)
}

// sendSome makes one system call for up to limit bytes and moves the cursor.
func (c *Conn) sendSome(r *Response, limit int) (int, error) {
	if p := &r.parts[c.cur.part]; p.file.N-c.cur.done > copyBytes {
		return c.sendRange(p, limit)
	}
	g := &c.loop.out
	more, err := c.collect(g, limit)
	if err != nil {
		return 0, err
	}
	n, err := g.vector.send(c.fd, g.pieces[:g.n], more)
	clear(g.pieces[:g.n])
	if err != nil {
		return 0, err
	}
	c.advance(n)
	return n, nil
}

func (c *Conn) sendRange(p *part, limit int) (int, error) {
	off := p.file.Off + int64(c.cur.done)
	n, err := sendfile.Send(c.fd, p.file.File.Fd(), &off, min(limit, p.file.N-c.cur.done))
	if n > 0 {
		if c.cur.done += n; c.cur.done == p.file.N {
			c.cur = cursor{part: c.cur.part + 1}
		}
		return n, nil
	}
	if err == nil {
		err = shortFile(off, p.file.N-c.cur.done)
	}
	return 0, err
}

// shortFile is the end of a connection: the frame's length has left already, so the
// bytes that are missing cannot be made good by anything but a new one.
func shortFile(off int64, missing int) error {
	return fmt.Errorf("%w: it ends at %d, %d bytes early", ErrShortFile, off, missing)
}

// copyRange reads up to limit bytes of a file range, from its byte done on, into the
// scratch; nothing when the scratch is full.
func (g *gather) copyRange(p *part, done, limit int) ([]byte, error) {
	if g.copied == nil {
		g.copied = make([]byte, 0, copyBytes)
	}
	from := len(g.copied)
	b := g.copied[from : from+min(p.file.N-done, limit, copyBytes-from)]
	off := p.file.Off + int64(done)
	for k := 0; k < len(b); {
		n, err := unix.Pread(p.file.File.Fd(), b[k:], off+int64(k))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return nil, shortFile(off+int64(k), p.file.N-done-k)
		}
		k += max(n, 0)
	}
	g.copied = g.copied[:from+len(b)]
	return b, nil
}

// collect gathers bytes from the cursor on, small file ranges among them, over
// response boundaries, up to a large file range, a gap in the order, or limit. It
// reports whether more follows at once, so that what precedes it waits to share its
// packets.
func (c *Conn) collect(g *gather, limit int) (more bool, err error) {
	g.n, g.bytes, g.copied = 0, 0, g.copied[:0]
	cur := c.cur
	for seq := c.out.head; ; seq++ {
		r := c.out.at(seq)
		if r == nil {
			return false, nil
		}
		for ; cur.part < len(r.parts); cur = (cursor{part: cur.part + 1}) {
			p := &r.parts[cur.part]
			left := p.size() - cur.done
			if left == 0 {
				continue
			}
			if p.file.File != nil && left > copyBytes {
				return true, nil
			}
			if g.n == maxPieces || g.bytes >= limit {
				return false, nil
			}
			var b []byte
			if p.file.File == nil {
				b = p.b[cur.done:]
				b = b[:min(len(b), limit-g.bytes)]
			} else if b, err = g.copyRange(p, cur.done, limit-g.bytes); err != nil {
				return false, err
			}
			if len(b) == 0 {
				return true, nil // the scratch is full
			}
			g.pieces[g.n] = b
			g.n++
			g.bytes += len(b)
			if len(b) < left {
				return false, nil
			}
		}
		cur = cursor{}
	}
}

// advance moves the cursor over n bytes that were sent, dropping the responses that
// are complete.
func (c *Conn) advance(n int) {
	for n > 0 {
		r := c.first()
		size := r.parts[c.cur.part].size()
		k := min(n, size-c.cur.done)
		n -= k
		if c.cur.done += k; c.cur.done == size {
			c.cur = cursor{part: c.cur.part + 1}
		}
	}
}

func wouldBlock(err error) bool { return err == unix.EAGAIN }
