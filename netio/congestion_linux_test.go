package netio

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// A connection within the host is sent without pacing, whatever the system's
// congestion control is.
func TestConnectionsWithinTheHostAreNotPaced(t *testing.T) {
	got := make(chan string, 1)
	s := serve(t, Config{Loops: 1}, handlerFuncs{opened: func(c *Conn) {
		name, err := unix.GetsockoptString(c.fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		if err != nil {
			t.Error(err)
		}
		got <- name
	}})
	dial(t, s)
	if name := <-got; name != unpaced {
		t.Errorf("congestion control %q, want %q", name, unpaced)
	}
}

func TestWithinHost(t *testing.T) {
	for _, c := range []struct {
		remote, local string
		want          bool
	}{
		{"127.0.0.1:5", "127.0.0.1:9092", true},
		{"127.8.0.1:5", "127.0.0.1:9092", true},
		{"[::1]:5", "[::1]:9092", true},
		{"10.0.0.7:5", "10.0.0.7:9092", true},
		{"[::ffff:10.0.0.7]:5", "10.0.0.7:9092", true},
		{"10.0.0.8:5", "10.0.0.7:9092", false},
		{"[2001:db8::1]:5", "[2001:db8::2]:9092", false},
	} {
		remote, _ := net.ResolveTCPAddr("tcp", c.remote)
		local, _ := net.ResolveTCPAddr("tcp", c.local)
		if got := withinHost(remote.AddrPort().Addr().Unmap(), local); got != c.want {
			t.Errorf("%s to %s: within the host: %v", c.remote, c.local, got)
		}
	}
}
