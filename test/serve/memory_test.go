package serve

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
	"ringmain/test/peer"
)

const (
	// largeRequest is the default of socket.request.max.bytes.
	largeRequest = 100 << 20
	// settled is how far above its level before the resident memory may stay.
	settled = 24 << 20
	// burstPeak bounds how far it may rise: the two requests that half of
	// ringmain.inflight.bytes has room for, and what the others wait with.
	burstPeak = 320 << 20
)

// Many large requests at once are bounded while they come and leave nothing behind.
func TestLargeRequestsGiveTheirMemoryBack(t *testing.T) {
	for _, c := range []struct {
		name        string
		connections int
		maxMessage  string
		code        int16
	}{
		{"refused", 64, "1048588", kerr.MessageTooLarge.Code},
		{"stored", 3, "200000000", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := harness.StartOwn(t, harness.Options{Overrides: []string{"message.max.bytes=" + c.maxMessage}})
			if _, err := b.RSS(); err != nil {
				t.Skip(err)
			}
			create(t, b.Addr(), "large", 1)
			// One request before the measurement, so that what is made once is there.
			if err := produceOf(1<<10).send(b.Addr(), 0); err != nil {
				t.Fatal(err)
			}
			before := rss(t, b)
			if err := b.ResetPeak(); err != nil {
				t.Fatal(err)
			}
			request := produceOf(largeRequest)
			var all sync.WaitGroup
			for range c.connections {
				all.Go(func() {
					if err := request.send(b.Addr(), c.code); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			begun := time.Now()
			peak, err := b.PeakRSS()
			if err != nil {
				t.Fatal(err)
			}
			if peak-before > burstPeak {
				t.Errorf("resident memory rose from %d to %d MiB", before>>20, peak>>20)
			}
			eventually(t, "resident memory falls back", func() bool { return rss(t, b)-before <= settled })
			t.Logf("resident: %d MiB before, %d at the peak, %d within %v", before>>20, peak>>20, rss(t, b)>>20, time.Since(begun))
		})
	}
}

func rss(t *testing.T, b *harness.Broker) int64 {
	t.Helper()
	n, err := b.RSS()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// encoded is a request as it is sent, made once however many connections send it.
type encoded struct {
	request *kmsg.ProduceRequest
	frame   []byte
}

// produceOf is a request of one batch, n bytes long or a little shorter.
func produceOf(n int) encoded {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9)
	req.Acks, req.TimeoutMillis = 1, 10_000
	rp := kmsg.NewProduceRequestTopicPartition()
	const around = 200 // headers of request, batch and record
	rp.Records = peer.NewBatch(time.Now().UnixMilli(), peer.Values(strings.Repeat("x", n-around))...).Encode()
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.Partitions = "large", append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return encoded{req, new(peer.Conn).Frame(req)}
}

// send sends the request on a connection of its own and checks the answer's code.
func (e encoded) send(addr string, code int16) error {
	c, err := peer.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	c.Timeout = 2 * time.Minute // it waits for the others
	if err := c.Send(e.frame); err != nil {
		return err
	}
	answer, err := c.Receive()
	if err != nil {
		return err
	}
	resp, err := peer.Decode(e.request, 1, answer)
	if err != nil {
		return err
	}
	if got := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode; got != code {
		return fmt.Errorf("the answer has code %d, want %d", got, code)
	}
	return nil
}
