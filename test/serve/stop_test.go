package serve

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
	"ringmain/test/peer"
)

func TestSignalsStopCleanlyAndKeepEverything(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	var want []string
	var cluster string
	for i, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if s == syscall.SIGHUP && signal.Ignored(syscall.SIGHUP) {
			continue // as under nohup, which the broker inherits and respects
		}
		p := begin(t, local("--data-dir", dir)...)
		r := p.ready()
		if cluster == "" {
			cluster = r.cluster
			create(t, r.kafka, "t", 1)
		}
		if r.cluster != cluster {
			t.Errorf("cluster %s became %s", cluster, r.cluster)
		}
		// acks=1 waits for no disk: the stop has to bring it there.
		cl := client(t, r.kafka, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
		for n := range 50 {
			v := fmt.Sprintf("%d/%d", i, n)
			if err := cl.ProduceSync(within(t), &kgo.Record{Topic: "t", Value: []byte(v)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			want = append(want, v)
		}
		cl.Close()
		p.signal(s)
		if code := p.wait(); code != 0 {
			t.Errorf("exit code %d after %v", code, s)
		}
		if _, err := os.Stat(filepath.Join(dir, "clean-shutdown")); err != nil {
			t.Errorf("after %v: %v", s, err)
		}
	}
	p := begin(t, local("--data-dir", dir)...)
	r := p.ready()
	if got := read(t, r.kafka, "t", 0, len(want)); !slices.Equal(got, want) {
		t.Errorf("after three stops the log has %q", got)
	}
	if e := describe(t, r.kafka, "t").Partitions[0].LeaderEpoch; e != 0 {
		t.Errorf("clean stops raised the leader epoch to %d", e)
	}
	p.stop()
}

// TestFailedStartLeavesACleanStopClean: the next one need not look for damage,
// nor tell clients that there may be some.
func TestFailedStartLeavesACleanStopClean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := beginIn(t, dir, local("--data-dir", "data")...)
	create(t, p.ready().kafka, "t", 1)
	p.stop()
	taken := occupied(t)
	refused(t, dir, 1, []string{"in use"}, "--data-dir", "data", "--listen", taken, "--http", "off")
	refused(t, dir, 1, []string{"in use"}, "--data-dir", "data", "--listen", "127.0.0.1:0", "--http", taken)
	p = beginIn(t, dir, local("--data-dir", "data")...)
	r := p.ready()
	if e := describe(t, r.kafka, "t").Partitions[0].LeaderEpoch; e != 0 {
		t.Errorf("the leader epoch is %d", e)
	}
	_ = p.cmd.Process.Kill()
	p.wait()
	// And an unclean one unclean.
	refused(t, dir, 1, []string{"in use"}, "--data-dir", "data", "--listen", taken, "--http", "off")
	p = beginIn(t, dir, local("--data-dir", "data")...)
	r = p.ready()
	if e := describe(t, r.kafka, "t").Partitions[0].LeaderEpoch; e != 1 {
		t.Errorf("after a kill the leader epoch is %d", e)
	}
	p.stop()
}

// TestSignalDuringTheStart: it ends the start, whenever it comes.
func TestSignalDuringTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for wait := range 12 {
		p := beginIn(t, dir, local("--data-dir", "data")...)
		time.Sleep(time.Duration(wait) * 4 * time.Millisecond)
		p.signal(syscall.SIGTERM)
		// Before the program looks for signals, the system ends it.
		if code := p.wait(); code != 0 && code != -1 {
			t.Errorf("exit code %d after a signal %d ms into the start", code, wait*4)
		}
		if out := p.output(); out != "" && !readyPattern.MatchString(out) {
			t.Errorf("standard output is %q", out)
		}
	}
	p := beginIn(t, dir, local("--data-dir", "data")...)
	p.ready()
	p.stop()
}

// TestNobodyReadsTheLog: scripts that read the ready line through a pipe close it
// then.
func TestNobodyReadsTheLog(t *testing.T) {
	t.Parallel()
	if os.Getenv("BROKER") != "" {
		t.Skip("needs a broker process of its own")
	}
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, append([]string{"serve"}, local("--log-level", "debug")...)...)
	cmd.Dir = t.TempDir()
	cmd.Stdout, cmd.Stderr = in, in // 2>&1 |
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	defer cmd.Process.Kill()
	var addr string
	for s := bufio.NewScanner(out); s.Scan(); {
		if m := readyPattern.FindStringSubmatch(s.Text() + "\n"); m != nil {
			addr = m[1]
			break
		}
	}
	out.Close()
	for range 3 { // each is worth a line in the log
		c, err := peer.Dial(addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Send([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.WaitClosed(patience); err != nil {
			t.Error(err)
		}
		c.Close()
	}
	create(t, addr, "t", 1)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the stop: %v", err)
	}
}

// TestDoubledSignalIsOne: timeout(1) signals a process and then its group.
func TestDoubledSignalIsOne(t *testing.T) {
	t.Parallel()
	p := begin(t, local()...)
	p.ready()
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestStopDoesNotWaitForLongPolls(t *testing.T) {
	t.Parallel()
	p := begin(t, local()...)
	r := p.ready()
	create(t, r.kafka, "t", 1)
	cl := client(t, r.kafka, kgo.FetchMaxWait(20*time.Second), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	polled := make(chan struct{})
	go func() { defer close(polled); cl.PollFetches(ctx) }()
	c, err := peer.Dial(r.kafka) // an idle connection
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	waitUntilParked(t, c)
	p.stop()
	if strings.Contains(p.errors(), cutOff) {
		t.Errorf("the stop waited: %s", p.errors())
	}
	cancel()
	<-polled
}

// waitUntilParked gives a consumer's fetch the time to arrive: as long as some
// requests of another connection take.
func waitUntilParked(t *testing.T, c *peer.Conn) {
	t.Helper()
	for range 20 {
		time.Sleep(10 * time.Millisecond)
		req := kmsg.NewPtrApiVersionsRequest()
		if _, err := c.Do(req); err != nil {
			t.Fatal(err)
		}
	}
}

// cutOff is what the log says of a stop that has waited for as long as it may.
const cutOff = "were cut off"

// smallSocket keeps the system from taking the whole of a stuck answer.
var smallSocket = []string{"--override", "socket.send.buffer.bytes=65536"}

// stuck makes an answer that its reader does not take, and returns when it is
// under way.
func stuck(t *testing.T, addr string) {
	t.Helper()
	create(t, addr, "t", 1)
	cl := client(t, addr)
	for range 16 {
		if err := cl.ProduceSync(within(t), &kgo.Record{Topic: "t", Value: make([]byte, 900_000)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	cl.Close()
	c, err := peer.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version = 13
	fetch.MaxBytes, fetch.MaxWaitMillis, fetch.SessionEpoch = 50<<20, 100, -1
	ft := kmsg.NewFetchRequestTopic()
	ft.TopicID = describe(t, addr, "t").ID
	fp := kmsg.NewFetchRequestTopicPartition()
	fp.PartitionMaxBytes, fp.CurrentLeaderEpoch = 50<<20, -1
	ft.Partitions = append(ft.Partitions, fp)
	fetch.Topics = append(fetch.Topics, ft)
	if err := c.Send(c.Frame(fetch)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

func TestSecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	p := begin(t, local(smallSocket...)...)
	stuck(t, p.ready().kafka)
	p.signal(syscall.SIGTERM)
	// Signals that the process meets within a moment are one.
	eventually(t, "it says that it stops", func() bool { return strings.Contains(p.errors(), "stopping") })
	select {
	case <-p.exited:
		t.Fatalf("it did not wait for an answer that is under way; standard error: %s", p.errors())
	case <-time.After(300 * time.Millisecond):
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 1 {
		t.Errorf("exit code %d after a second signal", code)
	}
	if strings.Contains(p.errors(), cutOff) {
		t.Error("after the second signal it waited for the answer that is under way")
	}
	if !strings.Contains(p.errors(), "second signal") {
		t.Error("standard error does not say why it ended")
	}
}

// TestStuckReaderDoesNotSpoilTheStop: it is cut off in the end, and that is no
// failure. It waits for half of the ten seconds after which containers are killed.
func TestStuckReaderDoesNotSpoilTheStop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := beginIn(t, dir, append([]string{"--data-dir", "data", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"}, smallSocket...)...)
	r := p.ready()
	stuck(t, r.kafka)
	p.signal(syscall.SIGTERM)
	eventually(t, "/readyz answers 503 while it stops, /healthz 200", func() bool {
		status, _, _ := get(t, "http://"+r.http+"/readyz")
		alive, _, _ := get(t, "http://"+r.http+"/healthz")
		return status == 503 && alive == 200
	})
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	if said := p.errors(); !strings.Contains(said, cutOff) || !strings.Contains(said, "after=5s") {
		t.Errorf("the log does not say that the answer was cut off after 5 s: %s", said)
	}
	if tree(t, filepath.Join(dir, "data"))["clean-shutdown"] == "" {
		t.Error("the stop was not clean")
	}
}

func TestKillRaisesEpochsByOneAndKeepsIDs(t *testing.T) {
	t.Parallel()
	b := harness.StartOwn(t, harness.Options{})
	cluster := b.Ready("cluster")
	id := create(t, b.Addr(), "t", 3)
	values := []string{"a", "b", "c"}
	produce(t, b.Addr(), "t", 2, values...)
	for kills := range 3 {
		b.Kill()
		if err := b.Restart(); err != nil {
			t.Fatal(err)
		}
		if b.Ready("cluster") != cluster {
			t.Errorf("cluster %s became %s", cluster, b.Ready("cluster"))
		}
		d := describe(t, b.Addr(), "t")
		if d.ID != id {
			t.Errorf("topic id %v became %v", id, d.ID)
		}
		for _, p := range d.Partitions {
			if p.LeaderEpoch != int32(kills+1) {
				t.Errorf("after %d kills partition %d has leader epoch %d", kills+1, p.Partition, p.LeaderEpoch)
			}
		}
		if got := read(t, b.Addr(), "t", 2, 3); !slices.Equal(got, values) {
			t.Errorf("after %d kills the log has %q", kills+1, got)
		}
	}
}

func TestStartOnAnotherPortIsAdvertised(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	var before string
	for range 2 {
		p := begin(t, local("--data-dir", dir)...)
		r := p.ready()
		if r.kafka == before {
			t.Skip("the system gave the same port twice")
		}
		if got := advertised(t, r.kafka); got != r.kafka {
			t.Errorf("on %s it advertises %s", r.kafka, got)
		}
		before = r.kafka
		p.stop()
	}
}
