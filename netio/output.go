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
}

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
		p := &r.parts[c.cur.part]
		heavy := b.sending || p.file.File != nil && p.file.N-c.cur.done > lightBytes
		most := left
		if heavy {
			most = min(left, b.room())
		}
		if most <= 0 {
			b.push(c)
			return nil
		}
		n, err := c.sendSome(r, most)
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
	if p := &r.parts[c.cur.part]; p.file.File != nil {
		return c.sendRange(p, limit)
	}
	g := &c.loop.out
	more := c.collect(g, limit)
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
		// The frame's length has left already, so the bytes that are missing cannot
		// be made good by anything but a new connection.
		err = fmt.Errorf("%w: it ends at %d, %d bytes early", ErrShortFile, off, p.file.N-c.cur.done)
	}
	return 0, err
}

// collect gathers bytes from the cursor on, over response boundaries, up to a file
// range, a gap in the order, or limit. It reports whether a file range follows, so
// that what precedes it waits to share its packets.
func (c *Conn) collect(g *gather, limit int) (fileFollows bool) {
	g.n, g.bytes = 0, 0
	cur := c.cur
	for seq := c.out.head; ; seq++ {
		r := c.out.at(seq)
		if r == nil {
			return false
		}
		for ; cur.part < len(r.parts); cur = (cursor{part: cur.part + 1}) {
			p := &r.parts[cur.part]
			if p.file.File != nil {
				return true
			}
			b := p.b[cur.done:]
			if len(b) == 0 {
				continue
			}
			if g.n == maxPieces || g.bytes >= limit {
				return false
			}
			b = b[:min(len(b), limit-g.bytes)]
			g.pieces[g.n] = b
			g.n++
			g.bytes += len(b)
		}
		cur = cursor{}
	}
}

// advance moves the cursor over n bytes that were sent, dropping the responses that
// are complete.
func (c *Conn) advance(n int) {
	for n > 0 {
		r := c.first()
		p := &r.parts[c.cur.part]
		k := min(n, len(p.b)-c.cur.done)
		n -= k
		if c.cur.done += k; c.cur.done == len(p.b) {
			c.cur = cursor{part: c.cur.part + 1}
		}
	}
}

func wouldBlock(err error) bool { return err == unix.EAGAIN }
