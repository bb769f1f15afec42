package netio

import "encoding/binary"

// ahead is where a loop has the system put what follows the frame that is being
// read: buffers for frames as long as the connection's last one, each behind four
// bytes for the length. What a client sends in frames of one size is then where it
// belongs, without a copy; what comes otherwise is cut up like any other bytes.
type ahead struct {
	frames []*Frame // empty, all of one class, nobody's; the last is the next
	heads  [aheadFrames][4]byte
	pieces [1 + 2*aheadFrames][]byte
	vector receiveVector
}

const (
	// aheadBytes is how much one call may read beyond the current frame.
	aheadBytes = 256 << 10
	// aheadFrames bounds the pieces of one call.
	aheadFrames = 16
	// smallestAhead is the smallest frame that buffers of its own are held ready for.
	// Behind smaller ones one of mixedAhead bytes is expected: it will hold many of them.
	smallestAhead = 4 << 10
	mixedAhead    = 64<<10 - 4
)

// expect has buffers ready for what may follow a frame of usual bytes, and returns how
// many, and of what size a frame is looked for in each. Behind 0 nothing is expected.
func (a *ahead) expect(usual int) (n, size int) {
	switch n, size = min(aheadBytes/(len(a.heads[0])+usual), aheadFrames), usual; {
	case usual == 0 || n == 0:
		return 0, 0
	case usual < smallestAhead:
		n, size = 1, mixedAhead
	}
	class, store := classOf(size)
	if len(a.frames) > 0 && a.frames[0].class != class {
		a.giveBack()
	}
	for len(a.frames) < n {
		a.frames = append(a.frames, pooledFrame(class, store))
	}
	return n, size
}

func (a *ahead) giveBack() {
	for _, f := range a.frames {
		framePools[f.class].Put(f)
	}
	clear(a.frames)
	a.frames = a.frames[:0]
}

// frame returns the buffer that is i-th in line.
func (a *ahead) frame(i int) *Frame { return a.frames[len(a.frames)-1-i] }

// read fills rest and then up to n frames of size bytes from fd, with one call.
func (a *ahead) read(fd int, rest []byte, n, size int) (int, error) {
	pieces := append(a.pieces[:0], rest)
	for i := range n {
		pieces = append(pieces, a.heads[i][:], a.frame(i).store[:size])
	}
	got, err := a.vector.receive(fd, pieces)
	clear(pieces)
	return got, err
}

// takeAhead takes the n bytes that a.read put behind the rest, in frames of size
// bytes. False: closed.
func (c *Conn) takeAhead(n, size int) bool {
	a := &c.loop.ahead
	first := 0 // of the pieces that are left
	for n > 0 && c.mayRead() {
		f, have := a.frame(0), min(n-len(a.heads[first]), size)
		if have < 0 || int(int32(binary.BigEndian.Uint32(a.heads[first][:]))) != size || !c.adopt(f, size, have) {
			break
		}
		a.frames[len(a.frames)-1] = nil
		a.frames = a.frames[:len(a.frames)-1]
		n -= len(a.heads[first]) + have
		first++
		if have == size && !c.deliver(f) {
			return false
		}
	}
	// The rest is looked at like any other bytes.
	pieces := a.pieces[:0]
	for i := 0; n > 0; i++ {
		for _, b := range [...][]byte{a.heads[first+i][:], a.frame(i).store[:size]} {
			b = b[:min(n, len(b))]
			pieces, n = append(pieces, b), n-len(b)
		}
	}
	defer clear(pieces)
	for i, b := range pieces {
		rest, ok := c.consume(b)
		if !ok {
			return false
		}
		if len(rest) > 0 {
			pieces[i] = rest
			c.keep(pieces[i:]...)
			break
		}
	}
	return true
}

// adopt makes f, which holds have of size bytes that were read ahead, the current
// frame; false when it is longer than is accepted, or when no more may be reserved on
// a claim.
func (c *Conn) adopt(f *Frame, size, have int) bool {
	if size > int(c.srv.cfg.MaxFrameBytes) {
		return false
	}
	if missing := size - have; missing > 0 {
		if c.srv.claims.Add(int64(missing)) > allClaims {
			c.srv.claims.Add(-int64(missing))
			return false
		}
		f.lent = missing
	}
	f.conn, f.need = c, size
	c.in.frame, c.in.since = f, c.loop.now
	c.filled(f, have)
	return true
}
