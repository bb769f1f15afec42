package sendfile

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair returns a non-blocking socket descriptor and the connection at its other end.
func pair(t *testing.T) (int, net.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]) })
	if err := unix.SetNonblock(fds[0], true); err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fds[1]), "peer")
	defer file.Close()
	c, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return fds[0], c
}

func fileWith(t *testing.T, content []byte) int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return int(f.Fd())
}

func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*31 + i>>9)
	}
	return b
}

// both runs a test on the system's call and on copying.
func both(t *testing.T, test func(t *testing.T, send func(sock, file int, off *int64, n int) (int, error))) {
	t.Run("system", func(t *testing.T) { test(t, Send) })
	t.Run("copy", func(t *testing.T) { test(t, copyRange) })
}

// A transfer that a full socket cuts again and again goes on where it stopped.
func TestResumes(t *testing.T) {
	both(t, func(t *testing.T, send func(int, int, *int64, int) (int, error)) {
		const from, size = 12_345, 3 << 20
		data := content(from + size + 100)
		sock, peer := pair(t)
		file := fileWith(t, data)
		got := make(chan []byte, 1)
		start := make(chan struct{})
		go func() {
			<-start
			b := make([]byte, size)
			n, _ := io.ReadFull(peer, b)
			got <- b[:n]
		}()
		off, full := int64(from), 0
		for off < from+size {
			before := off
			n, err := send(sock, file, &off, int(from+size-off))
			if err == unix.EAGAIN {
				if n != 0 || off != before {
					t.Fatalf("EAGAIN with %d bytes, offset %d after %d", n, off, before)
				}
				if full++; full == 1 {
					close(start) // only now does the peer begin to read
				}
				if _, err := unix.Poll([]unix.PollFd{{Fd: int32(sock), Events: unix.POLLOUT}}, 1000); err != nil && err != unix.EINTR {
					t.Fatal(err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if n <= 0 || off != before+int64(n) {
				t.Fatalf("moved %d bytes, offset from %d to %d", n, before, off)
			}
		}
		if full == 0 {
			t.Fatal("the socket was never full: the test shows nothing")
		}
		if !bytes.Equal(<-got, data[from:from+size]) {
			t.Fatal("bytes differ")
		}
	})
}

func TestEndOfFile(t *testing.T) {
	both(t, func(t *testing.T, send func(int, int, *int64, int) (int, error)) {
		sock, peer := pair(t)
		file := fileWith(t, content(1000))
		off := int64(900)
		if n, err := send(sock, file, &off, 500); n != 100 || err != nil || off != 1000 {
			t.Fatalf("moved %d bytes to %d, %v; want the 100 there are", n, off, err)
		}
		if n, err := send(sock, file, &off, 400); n != 0 || err != nil || off != 1000 {
			t.Fatalf("at the end: %d bytes, offset %d, %v; want 0 and no error", n, off, err)
		}
		b := make([]byte, 100)
		if _, err := io.ReadFull(peer, b); err != nil || !bytes.Equal(b, content(1000)[900:]) {
			t.Fatalf("bytes differ: %v", err)
		}
	})
}

func TestPeerGone(t *testing.T) {
	both(t, func(t *testing.T, send func(int, int, *int64, int) (int, error)) {
		sock, peer := pair(t)
		file := fileWith(t, content(1000))
		peer.Close()
		var off int64
		if n, err := send(sock, file, &off, 500); err != unix.EPIPE || n != 0 || off != 0 {
			t.Fatalf("moved %d bytes to %d, %v; want EPIPE", n, off, err)
		}
	})
}

// Kernels differ in which special files sendfile(2) takes; what it refuses is
// copied, so the caller sees no difference.
func TestSpecialFile(t *testing.T) {
	sock, peer := pair(t)
	file := fileWith(t, content(5000))
	special, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip("no /proc here")
	}
	defer special.Close()
	var off int64
	n, err := Send(sock, int(special.Fd()), &off, 100)
	if err != nil || n == 0 || off != int64(n) {
		t.Fatalf("moved %d bytes to %d, %v", n, off, err)
	}
	if _, err := io.CopyN(io.Discard, peer, int64(n)); err != nil {
		t.Fatal(err)
	}
	off = 10
	if n, err := Send(sock, file, &off, 10); n != 10 || err != nil {
		t.Fatalf("afterwards: %d, %v", n, err)
	}
}
