package badinput

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

func TestRow01NegativeLength(t *testing.T) {
	r := newRig(t)
	r.closes("length -1", []byte{0xff, 0xff, 0xff, 0xff})
	r.closes("length -2^31", []byte{0x80, 0, 0, 0})
	r.closes("length -1 and bytes", append([]byte{0xff, 0xff, 0xff, 0xff}, make([]byte, 100)...))
}

func TestRow02LengthZero(t *testing.T) {
	newRig(t).closes("length 0", []byte{0, 0, 0, 0})
}

func TestRow03LargestLength(t *testing.T) {
	r := newRig(t)
	for range 50 {
		r.closes("length 2^31-1", []byte{0x7f, 0xff, 0xff, 0xff})
	}
}

func TestRow04LengthAboveLimit(t *testing.T) {
	newRig(t).closes("socket.request.max.bytes and one", binary.BigEndian.AppendUint32(nil, 104857601))
}

// Many peers announce large frames and send nothing more: nothing is reserved for
// them, and after connections.max.idle.ms they are gone. (Kafka reserves.)
func TestRow05BodyThatNeverComes(t *testing.T) {
	r := ownRig(t, "connections.max.idle.ms=4000")
	var conns []*peer.Conn
	for i := range 100 {
		c := r.dial()
		b := binary.BigEndian.AppendUint32(nil, 100<<20)
		if i%2 == 1 {
			b = append(b, header(0, 9, 1, "slow", true)...)
		}
		if err := c.Send(b); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for i, c := range conns {
		if _, err := c.WaitClosed(30 * time.Second); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	r.witness.Close()
	r.watch() // the first was idle too
}

// A peer that sends a byte now and then is not idle, but its frame has a deadline.
func TestRow06OneByteAtATime(t *testing.T) {
	r := ownRig(t, "connections.max.idle.ms=4000")
	c := r.dial()
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(1)
	for range 2000 {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr("x")
		req.Topics = append(req.Topics, topic)
	}
	whole := c.Frame(req)
	began := time.Now()
	for i := range whole {
		if err := c.Send(whole[i : i+1]); err != nil {
			if !errors.Is(err, peer.ErrClosed) {
				t.Fatal(err)
			}
			break
		}
		time.Sleep(50 * time.Millisecond) // the peer is slow: this is the input
		if time.Since(began) > 30*time.Second {
			t.Fatal("the connection still stands after 30 s")
		}
	}
	r.witness.Close()
	r.watch()
}

func TestRow07OtherProtocols(t *testing.T) {
	var r *rig
	if os.Getenv("BROKER") != "" {
		r = newRig(t)
	} else {
		r = ownRig(t) // its own, because such lines are logged at a limited rate
	}
	r.closes("HTTP", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	hello := append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, bytes.Repeat([]byte{7}, 506)...)
	r.closes("TLS", hello)
	if r.b.External() {
		return
	}
	for _, word := range []string{"HTTP", "TLS"} {
		// The line may be written a moment after the peer sees the end.
		for deadline := time.Now().Add(20 * time.Second); !strings.Contains(r.b.Stderr(), word); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the log has no hint at %s", word)
			}
		}
	}
}

func TestRow09FramesInAnyPieces(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	one := func() []byte {
		req := kmsg.NewPtrMetadataRequest()
		req.SetVersion(1)
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(strings.Repeat("x", 240))
		for range 4 {
			req.Topics = append(req.Topics, topic)
		}
		return c.Frame(req)
	}
	receive := func(correlation int32) {
		t.Helper()
		b, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if got := int32(binary.BigEndian.Uint32(b)); got != correlation {
			t.Fatalf("answer to %d, want %d", got, correlation)
		}
	}
	if err := c.Send(append(one(), one()...)); err != nil {
		t.Fatal(err)
	}
	receive(1)
	receive(2)
	c.Conn.(*net.TCPConn).SetNoDelay(true)
	for _, b := range one() {
		if err := c.Send([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	receive(3)
	// One and a half, then the rest.
	two := append(one(), one()...)
	cut := len(two) * 3 / 4
	if err := c.Send(two[:cut]); err != nil {
		t.Fatal(err)
	}
	receive(4)
	if err := c.Send(two[cut:]); err != nil {
		t.Fatal(err)
	}
	receive(5)
}

// A peer that sends 10,000 requests and reads nothing is slowed by stopping its
// reading; when it reads again every answer is there, in order.
func TestRow10DeepPipeline(t *testing.T) {
	r := newRig(t)
	big, _ := r.create("pipeline")
	for range 4 {
		r.produceOK(big, batch(strings.Repeat("x", 30000)))
	}
	c := r.dial()
	c.Timeout = 120 * time.Second
	const requests = 10000
	fetch := kmsg.NewPtrFetchRequest()
	fetch.SetVersion(11)
	fetch.ReplicaID, fetch.MaxBytes, fetch.SessionEpoch = -1, 1<<20, -1
	ft := kmsg.NewFetchRequestTopic()
	ft.Topic = big
	fp := kmsg.NewFetchRequestTopicPartition()
	fp.PartitionMaxBytes, fp.CurrentLeaderEpoch = 1, -1
	ft.Partitions = append(ft.Partitions, fp)
	fetch.Topics = append(fetch.Topics, ft)
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.SetVersion(0)

	var wg sync.WaitGroup
	wg.Add(1)
	sent := make(chan int, requests)
	go func() {
		defer wg.Done()
		defer close(sent)
		for i := range requests {
			var b []byte
			if i%2 == 0 {
				b = c.Frame(fetch)
			} else {
				b = c.Frame(versions)
			}
			if err := c.Send(b); err != nil {
				t.Errorf("sending request %d: %v", i+1, err)
				return
			}
			sent <- i
		}
	}()
	// Nothing is read until nothing more is taken: the broker has stopped reading,
	// or has all requests.
	quiet := 0
	for last := -1; quiet < 10; {
		if n := len(sent); n == last {
			quiet++
		} else {
			last, quiet = n, 0
		}
		time.Sleep(50 * time.Millisecond)
	}
	for i := int32(1); i <= requests; i++ {
		b, err := c.Receive()
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		if got := int32(binary.BigEndian.Uint32(b)); got != i {
			t.Fatalf("answer to request %d, want %d", got, i)
		}
		if i%2 == 1 && len(b) < 30000 {
			t.Fatalf("answer %d has %d bytes", i, len(b))
		}
	}
	wg.Wait()
}

func TestRow11BytesBehindTheBody(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	for _, version := range []int16{1, 9} {
		req := kmsg.NewPtrMetadataRequest()
		req.SetVersion(version)
		req.Topics = []kmsg.MetadataRequestTopic{}
		b := append(c.Frame(req), "these bytes are too many"...)
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		next := kmsg.NewPtrMetadataRequest()
		next.SetVersion(version)
		next.Topics = []kmsg.MetadataRequestTopic{}
		first := c.Correlation()
		if err := c.Send(append(b, c.Frame(next)...)); err != nil {
			t.Fatal(err)
		}
		for i := range int32(2) {
			a, err := c.Receive()
			if err != nil {
				t.Fatalf("v%d answer %d: %v", version, i+1, err)
			}
			if _, err := peer.Decode(next, first+i, a); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestRow12ShortHeader(t *testing.T) {
	r := newRig(t)
	for n := 1; n < 10; n++ {
		r.closes("header cut", length(header(18, 0, 1, "x", false)[:n]))
	}
}
