package fetch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ringmain/test/peer"
)

// paced is a producer of a small batch at a steady pace, on a connection and in a
// process of its own: among the goroutines of busy readers it would measure how
// long this process takes to notice an answer.
type paced struct {
	cmd  *exec.Cmd
	stop io.Closer
	out  io.Reader
}

const (
	pace     = 5 * time.Millisecond
	pacedEnv = "FETCH_PACED_PRODUCER" // address and topic, for the process
)

func TestMain(m *testing.M) {
	if addr, topic, ok := strings.Cut(os.Getenv(pacedEnv), " "); ok {
		if err := producePaced(addr, topic); err != nil {
			fmt.Fprintln(os.Stderr, "paced producer:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func startPaced(t testing.TB, addr, topic string) *paced {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), pacedEnv+"="+addr+" "+topic)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); err != nil {
		cmd.Wait()
		t.Fatalf("the paced producer did not begin: %q, %v", line, err)
	}
	return &paced{cmd: cmd, stop: in, out: out}
}

// producePaced is the process: it says that it has begun, produces until standard
// input ends, and then writes how long each request took, in nanoseconds.
func producePaced(addr, topic string) error {
	conn, err := peer.Dial(addr)
	if err != nil {
		return err
	}
	batch := peer.NewBatch(0, peer.Values(string(make([]byte, 1024)))...).Encode()
	for range 20 { // the first ones create files and connections
		if _, err := conn.Do(produceRequest(topic, batch)); err != nil {
			return err
		}
	}
	fmt.Println("begun")
	over := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	var took []time.Duration
	begun := time.Now()
	for i := 1; ; i++ {
		due := begun.Add(time.Duration(i) * pace)
		select {
		case <-over:
			out := bufio.NewWriter(os.Stdout)
			for _, d := range took {
				fmt.Fprintln(out, int64(d))
			}
			return out.Flush()
		case <-time.After(time.Until(due)):
		}
		// What the timer adds is not the broker's; but a request held up by the one
		// before it counts from when it was due.
		if now := time.Now(); now.Sub(due) < pace {
			due = now
		}
		if _, err := conn.Do(produceRequest(topic, batch)); err != nil {
			return err
		}
		took = append(took, time.Since(due))
	}
}

// end stops the producer and gives its latencies, sorted.
func (p *paced) end(t testing.TB) []time.Duration {
	t.Helper()
	p.stop.Close()
	var took []time.Duration
	for s := bufio.NewScanner(p.out); s.Scan(); {
		n, err := strconv.ParseInt(s.Text(), 10, 64)
		if err != nil {
			t.Fatalf("the paced producer wrote %q", s.Text())
		}
		took = append(took, time.Duration(n))
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("the paced producer: %v", err)
	}
	slices.Sort(took)
	return took
}

// quantile of sorted latencies; 0 of none.
func quantile(took []time.Duration, q float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	return took[int(q*float64(len(took)-1))]
}
