package replay

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// link is one connection. Its loop owns it.
type link struct {
	fd     int
	role   role
	out    []byte // what the socket did not take yet
	in     []byte // received and not handled yet
	next   int32  // correlation id of the next request
	wanted int32  // and of the next answer
	ranOut bool   // the poller tells when there is room
	quiet  bool   // nothing is expected for long: no room is kept for it
	// connecting: there is no connection yet; becoming writable says that there is
	// one, or why not.
	connecting bool
}

// role is what a link is for. All of its methods are called by the link's loop.
type role interface {
	// connected: a link that was connecting is there.
	connected(l *link) error
	// answered takes one answer, without its size, valid during the call.
	answered(l *link, answer []byte) error
	// drained: everything that was sent has left, and more may.
	drained(l *link) error
	// lost: the connection is gone. An error ends the load.
	lost(l *link, reason error) error
}

const (
	// readSize is how much room there is for answers when nothing is known of them.
	readSize = 4 << 10
	// maxAnswer bounds what a size can make us allocate.
	maxAnswer = 1 << 30
)

// dial makes a connection and waits for it.
func dial(ctx context.Context, address string) (fd int, err error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return -1, err
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return -1, err
	}
	// Go's poller has the descriptor; a copy is ours alone.
	if e := raw.Control(func(original uintptr) {
		fd, err = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	}); e != nil {
		return -1, e
	}
	return fd, err
}

// place is an address to connect to, resolved.
type place struct {
	to     unix.Sockaddr
	family int
	local  bool // on this host, whose every 127.x.y.z may be connected from
}

// resolve finds the address that answers, by connecting to it: a name can have several,
// not all of which are listened on.
func resolve(ctx context.Context, address string) (place, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return place{}, err
	}
	defer c.Close()
	there := c.RemoteAddr().(*net.TCPAddr).AddrPort()
	if a := there.Addr().Unmap(); a.Is4() {
		return place{to: &unix.SockaddrInet4{Port: int(there.Port()), Addr: a.As4()}, family: unix.AF_INET, local: a.IsLoopback()}, nil
	}
	return place{to: &unix.SockaddrInet6{Port: int(there.Port()), Addr: there.Addr().As16()}, family: unix.AF_INET6}, nil
}

// own is the same place for another goroutine: connecting writes into the address.
func (p place) own() place {
	switch to := p.to.(type) {
	case *unix.SockaddrInet4:
		p.to = &unix.SockaddrInet4{Port: to.Port, Addr: to.Addr}
	case *unix.SockaddrInet6:
		p.to = &unix.SockaddrInet6{Port: to.Port, Addr: to.Addr, ZoneId: to.ZoneId}
	}
	return p
}

// portsPerAddress is how many connections leave from one local address. The system
// has some 28,000 ports for each.
const portsPerAddress = 20_000

// connect begins a connection. n tells it from the others: many of them need more
// than one address of this host.
func (p *place) connect(n int) (fd int, err error) {
	fd, err = unix.Socket(p.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open a socket: %w", err)
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if from := n / portsPerAddress; p.local && from > 0 {
		// The port is chosen when connecting, so that ports to different places count apart.
		_ = unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, byte(1 + from)}})
	}
	if err == nil {
		err = unix.Connect(fd, p.to)
	}
	if err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// send writes head and body, and keeps what the socket does not take. Nothing of
// them is referred to afterwards.
func (l *link) send(lp *loop, head, body []byte) error {
	l.next++
	if len(l.out) > 0 {
		l.out = append(append(l.out, head...), body...)
		return nil
	}
	n, err := lp.write(l.fd, head, body)
	if err != nil && err != unix.EAGAIN && err != unix.EINTR {
		return &net.OpError{Op: "write", Net: "tcp", Err: err}
	}
	if n = max(n, 0); n < len(head) {
		l.out = append(append(l.out, head[n:]...), body...)
	} else {
		l.out = append(l.out, body[n-len(head):]...)
	}
	if len(l.out) > 0 {
		return lp.watchRoom(l, true)
	}
	return nil
}

// flush writes what was kept.
func (l *link) flush(lp *loop) error {
	if len(l.out) == 0 { // only asked whether there is room
		return l.role.drained(l)
	}
	n, err := unix.Write(l.fd, l.out)
	if err == unix.EAGAIN || err == unix.EINTR {
		return nil
	}
	if err != nil {
		return &net.OpError{Op: "write", Net: "tcp", Err: err}
	}
	l.out = append(l.out[:0], l.out[n:]...)
	if len(l.out) > 0 {
		return nil
	}
	if cap(l.out) > maxKept {
		l.out = nil
	}
	if err := lp.watchRoom(l, false); err != nil {
		return err
	}
	return l.role.drained(l)
}

// maxKept is the largest empty buffer that a link keeps.
const maxKept = 1 << 20

// receive reads once and hands the answers that are complete to the role.
func (l *link) receive() error {
	if room := cap(l.in) - len(l.in); room < readSize/2 {
		l.grow(max(readSize, 2*cap(l.in)))
	}
	n, err := unix.Read(l.fd, l.in[len(l.in):cap(l.in)])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err != nil:
		return &net.OpError{Op: "read", Net: "tcp", Err: err}
	case n == 0:
		return errClosed
	}
	l.in = l.in[:len(l.in)+n]
	from := 0
	for len(l.in)-from >= 4 {
		size := int(binary.BigEndian.Uint32(l.in[from:]))
		if size < 4 || size > maxAnswer {
			return fmt.Errorf("an answer announces %d bytes: this is no Kafka protocol", size)
		}
		if len(l.in)-from < 4+size {
			if from == 0 && cap(l.in) < 4+size {
				l.grow(4 + size)
			}
			break
		}
		answer := l.in[from+4 : from+4+size]
		id := int32(binary.BigEndian.Uint32(answer))
		switch {
		case l.wanted == l.next:
			return fmt.Errorf("answer %d came where none was due", id)
		case id != l.wanted:
			return fmt.Errorf("answer %d came where answer %d was due", id, l.wanted)
		}
		l.wanted++
		from += 4 + size
		if err := l.role.answered(l, answer); err != nil {
			return err
		}
		if l.fd < 0 {
			return nil // the role has closed it
		}
	}
	l.in = append(l.in[:0], l.in[from:]...)
	if l.quiet && len(l.in) == 0 {
		l.in = nil
	}
	return nil
}

func (l *link) grow(size int) {
	l.in = append(make([]byte, 0, size), l.in...)
}

// errClosed is the other side's end of the connection.
var errClosed = fmt.Errorf("the broker closed the connection: %w", syscall.ECONNRESET)
