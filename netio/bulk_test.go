package netio

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

const pings = 500

// pingEnv makes TestPing a process that sends small requests one after the other to
// the address in it.
const pingEnv = "NETIO_PING"

func TestPing(t *testing.T) {
	addr := os.Getenv(pingEnv)
	if addr == "" {
		t.Skip("the process of another test")
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	for range pings {
		write(t, c, fetch(0, 1)) // odd: answered on the loop
		read(t, c)
	}
}

// While many connections send files, a small request is read and answered after a
// few slices of theirs, not after one slice of each. What leaves meanwhile is
// counted, not the time, which says more about the machine; the requests come from
// a process of their own, because in this one they would wait for the readers.
func TestBulkIsBoundedForAllTogether(t *testing.T) {
	const fileSize, senders = 4 << 20, 64
	f := newCountedFile(t, make([]byte, fileSize))
	s := fetchServer(t, Config{Loops: 1}, f, nil)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range senders {
		c := dial(t, s)
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.Write(fetch(0, fileSize)); err != nil {
					t.Error(err)
					return
				}
				if _, err := io.CopyN(io.Discard, c, fileSize+12); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	eventually(t, "all to be sending", func() bool { return s.Stats().BytesOut > senders*fileSize/2 })
	before := s.Stats().BytesOut
	cmd := exec.Command(os.Args[0], "-test.run=^TestPing$")
	cmd.Env = append(os.Environ(), pingEnv+"="+s.Addr("PLAINTEXT"))
	out, err := cmd.CombinedOutput()
	each := (s.Stats().BytesOut - before) / pings
	close(stop)
	readers.Wait()
	if err != nil {
		t.Fatalf("%v: %s", err, strings.TrimSpace(string(out)))
	}
	said := fmt.Sprintf("%d KiB left for others during a small request; a slice of each is %d KiB", each>>10, senders*defaultSendBudget>>10)
	if each > senders*defaultSendBudget {
		t.Error(said)
	}
	t.Log(said)
	wantReleased(t, f)
}
