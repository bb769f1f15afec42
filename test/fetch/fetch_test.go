package fetch

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
	"ringmain/test/peer"
)

var (
	mib    = flag.Int("mib", envInt("FETCH_MIB", 24), "size of the topic (also FETCH_MIB)")
	rounds = flag.Int("rounds", 1, "how many times the topic's size each way of reading reads")
	worst  = flag.Float64("worst", 0, "how many times its undisturbed 99th percentile a paced produce may take; 0: not judged")
	seed   = flag.Uint64("seed", 0, "of what is produced and read; 0 takes one from the clock")
)

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func newRand(t testing.TB) *rand.Rand {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

func TestEveryByteAtEveryOffset(t *testing.T) {
	rng := newRand(t)
	// Answers end at the end of a segment: small ones put many ends into a small topic.
	b := harness.StartOwn(t, harness.Options{Overrides: []string{fmt.Sprintf("log.segment.bytes=%d", max(*mib/8, 2)<<20)}})
	create(t, b.Addr(), "large", "paced")
	c := fill(t, b.Addr(), "large", int64(*mib)<<20, rng)
	t.Logf("%d batches, %d records, %d bytes", len(c.batches), c.end(), c.bytes)
	scan(t, b.Addr(), c)

	undisturbed := startPaced(t, b.Addr(), "paced")
	time.Sleep(calm())
	alone := undisturbed.end(t)
	calmP99 := quantile(alone, 0.99)
	t.Logf("a paced produce alone: median %v, p99 %v (%d requests)", quantile(alone, 0.5), calmP99, len(alone))

	for _, cold := range []bool{false, true} {
		for _, piece := range []int{64 << 10, 1 << 20} {
			for _, conns := range []int{1, 8, 64} {
				name := fmt.Sprintf("%s pieces of %d KiB over %d connections", map[bool]string{false: "warm", true: "cold"}[cold], piece>>10, conns)
				t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
					if cold {
						dropCache(t, b.DataDir())
					}
					p := startPaced(t, b.Addr(), "paced")
					begun := time.Now()
					read := hammer(t, b.Addr(), c, piece, conns, int64(*rounds)*c.bytes, rng.Uint64())
					took := time.Since(begun)
					disturbed := p.end(t)
					p99 := quantile(disturbed, 0.99)
					ratio := float64(p99) / float64(calmP99)
					t.Logf("%d MiB in %.2f s; paced produce: median %v, p99 %v, %.1f times alone (%d requests)", read>>20, took.Seconds(), quantile(disturbed, 0.5), p99, ratio, len(disturbed))
					if *worst > 0 && ratio > *worst {
						t.Errorf("the p99 of a produce is %.1f times what it is alone", ratio)
					}
				})
			}
		}
	}
	scan(t, b.Addr(), c)
	if !b.Alive() {
		t.Fatal("the broker is gone")
	}
}

// calm is how long the undisturbed producer runs.
func calm() time.Duration { return time.Duration(min(max(*mib, 20), 200)) * 25 * time.Millisecond }

func create(t testing.TB, addr string, topics ...string) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(5)
	req.TimeoutMillis = 30000
	for _, name := range topics {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
		req.Topics = append(req.Topics, topic)
	}
	resp, err := dial(t, addr).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if topic.ErrorCode != 0 {
			t.Fatalf("creating %s: code %d", topic.Topic, topic.ErrorCode)
		}
	}
}

// scan reads the topic from its first to its last byte.
func scan(t testing.TB, addr string, c *corpus) {
	t.Helper()
	r := newReader(dial(t, addr))
	for offset := int64(0); offset < c.end(); {
		records, err := r.fetch(c.topic, offset, 1<<20)
		if err == nil {
			offset, err = c.check(records, offset, 1<<20)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// hammer reads at random offsets over so many connections until so many
// bytes have been read, while other connections read slowly and others vanish.
func hammer(t *testing.T, addr string, c *corpus, piece, conns int, most int64, seed uint64) int64 {
	var read atomic.Int64
	var rest, wg sync.WaitGroup
	over := make(chan struct{})
	for i := range conns {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			conn, err := peer.Dial(addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			r := newReader(conn)
			for read.Load() < most {
				offset := rng.Int64N(c.end())
				for range 1 + rng.IntN(8) { // some pieces in sequence, as consumers do
					records, err := r.fetch(c.topic, offset, piece)
					if err == nil {
						offset, err = c.check(records, offset, piece)
					}
					if err != nil {
						t.Error(err)
						return
					}
					read.Add(int64(len(records)))
					if offset == c.end() {
						break
					}
				}
			}
		})
	}
	for i := range 4 {
		rest.Go(func() { readSlowly(t, addr, c, rand.New(rand.NewPCG(seed, uint64(1000+i))), over) })
	}
	rest.Go(func() { vanishOften(t, addr, c, rand.New(rand.NewPCG(seed, 2000)), over) })
	wg.Wait()
	close(over)
	rest.Wait()
	return read.Load()
}

// readSlowly takes its answers some bytes at a time.
func readSlowly(t *testing.T, addr string, c *corpus, rng *rand.Rand, over <-chan struct{}) {
	conn, err := peer.Dial(addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	r := newReader(conn)
	r.from = trickle{from: conn, piece: 16 << 10, pause: time.Millisecond}
	for {
		offset := rng.Int64N(c.end())
		records, err := r.fetch(c.topic, offset, 1<<20)
		if err == nil {
			_, err = c.check(records, offset, 1<<20)
		}
		if err != nil {
			t.Error("slow reader: ", err)
			return
		}
		select {
		case <-over:
			return
		default:
		}
	}
}

// vanishOften resets connections in the middle of answers.
func vanishOften(t *testing.T, addr string, c *corpus, rng *rand.Rand, over <-chan struct{}) {
	for {
		offsets := make([]int64, 1+rng.IntN(4))
		for i := range offsets {
			offsets[i] = rng.Int64N(c.end())
		}
		conn, err := peer.Dial(addr)
		if err != nil {
			t.Error(err)
			return
		}
		// An answer has at least a batch of one record of one byte.
		if err := vanish(conn, c.topic, offsets, 1<<20, 1+rng.IntN(100)); err != nil {
			t.Error("vanishing reader: ", err)
			return
		}
		select {
		case <-over:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}
