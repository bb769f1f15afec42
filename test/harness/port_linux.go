package harness

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// port is one of the loopback's that is kept for a broker, also while it does not run:
// bound and not listened on, so that the system gives it to nobody who asks for any,
// to listen or to connect from, and whoever names it gets it all the same.
type port struct {
	fd   int
	addr string // host:port
}

// reservePort keeps a free port until it is released.
func reservePort() (*port, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &port{fd: fd}
	loopback := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		p.release()
		return nil, os.NewSyscallError("setsockopt", err)
	}
	if err := unix.Bind(fd, loopback); err != nil {
		p.release()
		return nil, os.NewSyscallError("bind", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		p.release()
		return nil, os.NewSyscallError("getsockname", err)
	}
	p.addr = fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	return p, nil
}

// release gives the port back.
func (p *port) release() { _ = unix.Close(p.fd) }
