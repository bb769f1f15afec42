package data

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// side is one of the two brokers, and what it has given the script.
type side struct {
	addr    string
	conn    *peer.Conn
	quiet   *peer.Conn
	ids     map[string][16]byte // topic -> id
	names   map[[16]byte]string
	session int32
	began   time.Time
	took    time.Duration // of the last answer
}

// waited tells whether the last answer took the whole of a wait; a broker's clock may be
// coarse.
func (d *side) waited(wait time.Duration) bool { return d.took > wait*9/10 }

// script is one random sequence. kafka is the first side, ours the second.
type script struct {
	t      testing.TB
	rnd    *rand.Rand
	prefix string
	base   int64 // two hours ago, ms
	begun  int64
	sides  [2]*side
	log    []string
	made   []string
	loose  bool // records may differ in how many come (byte limits)
	blind  bool // what is said of single partitions is not compared
	// cleansed: whether a batch has a delete horizon depends on which passes over the log
	// met a tombstone in it.
	cleansed bool
	// meanwhile is done on each side while it has a request.
	meanwhile func(d *side)

	packed bool // how large a stored batch is depends on the compressor
	failed bool
	asked  int
}

func newScript(t testing.TB, kafka, ours, prefix string, seed uint64) *script {
	now := time.Now().UnixMilli()
	s := &script{t: t, rnd: rand.New(rand.NewPCG(seed, 77)), prefix: prefix, base: now - 2*time.Hour.Milliseconds(), begun: now}
	for i, addr := range []string{kafka, ours} {
		s.sides[i] = &side{addr: addr, ids: map[string][16]byte{}, names: map[[16]byte]string{}}
	}
	return s
}

func (s *script) n(n int) int { return s.rnd.IntN(n) }

// one in n.
func (s *script) one(n int) bool { return s.rnd.IntN(n) == 0 }

// pick gives one of the values.
func pick[T any](s *script, values ...T) T { return values[s.rnd.IntN(len(values))] }

func (s *script) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// differ reports a difference with all that led to it.
func (s *script) differ(format string, args ...any) {
	s.failed = true
	for len(s.log) < 3 {
		s.log = append(s.log, "-")
	}
	s.t.Errorf("%s\n  steps before:\n    %s", fmt.Sprintf(format, args...), strings.Join(append(s.log[:min(3, len(s.log)):3], s.log[max(3, len(s.log)-14):]...), "\n    "))
}

func (s *script) both(do func(d *side)) {
	var w sync.WaitGroup
	for _, d := range s.sides {
		w.Add(1)
		go func() { defer w.Done(); do(d) }()
	}
	w.Wait()
}

// until waits for what a side does in its own time, a minute at most.
func (s *script) until(d *side, what string, done func() bool) {
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Errorf("%s: waited a minute for %s", d.addr, what)
			return
		}
	}
}

func dial(addr string) (*peer.Conn, error) {
	var err error
	for range 50 {
		var c *peer.Conn
		if c, err = peer.Dial(addr); err == nil {
			c.ClientID, c.Timeout = "likeness", 40*time.Second
			return c, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, err
}

// ask sends what request gives for each side at a version to both, and compares the
// answers. It gives Kafka's and ours, nil where the broker hung up.
func (s *script) ask(version int16, what string, request func(d *side) kmsg.Request) [2]kmsg.Response {
	s.note("v%d %s", version, what)
	s.asked++
	var out [2]kmsg.Response
	var errs [2]error
	s.both(func(d *side) {
		i := 0
		if d == s.sides[1] {
			i = 1
		}
		req := request(d)
		req.SetVersion(version)
		if d.conn == nil {
			if d.conn, errs[i] = dial(d.addr); errs[i] != nil {
				return
			}
		}
		d.began = time.Now()
		var done chan struct{}
		if s.meanwhile != nil {
			done = make(chan struct{})
			go func() {
				defer close(done)
				time.Sleep(parked / 5) // both orders are right; this one is wanted
				s.meanwhile(d)
			}()
		}
		out[i], errs[i] = d.conn.Do(req)
		d.took = time.Since(d.began)
		if done != nil {
			<-done
		}
		if errs[i] != nil {
			d.conn.Close()
			d.conn = nil
			if errors.Is(errs[i], peer.ErrClosed) {
				out[i], errs[i] = nil, nil
			}
		}
	})
	for i, err := range errs {
		if err != nil {
			s.differ("side %d, %s: %v", i, what, err)
			return out
		}
	}
	s.compare(what, out)
	return out
}

// calm sends a request to one side without comparing.
func (s *script) calm(d *side, version int16, req kmsg.Request) kmsg.Response {
	if d.quiet == nil {
		c, err := dial(d.addr)
		if err != nil {
			panic(err)
		}
		d.quiet = c
	}
	req.SetVersion(version)
	resp, err := d.quiet.Do(req)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", kmsg.NameForKey(req.Key()), err))
	}
	return resp
}

// name is the real name of a topic.
func (s *script) name(topic string) string { return s.prefix + topic }

func (d *side) id(topic string) [16]byte {
	if id, ok := d.ids[topic]; ok {
		return id
	}
	id := [16]byte{0xdd, 0x11, 0x22, 0x33, 0x44, 0x55, 0x46, 0x77, 0x88}
	copy(id[9:], topic)
	return id
}

// topic makes a topic on both sides and waits until it is served.
func (s *script) topic(name string, partitions int32, configs ...string) {
	s.note("topic %s, %d partitions %v", name, partitions, configs)
	s.both(func(d *side) {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 20000
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = s.name(name), partitions, 1
		// Old times are tried, and nothing may happen by itself.
		all := append([]string{}, configs...)
		for i, quiet := 0, []string{"retention.ms", "-1", "segment.ms", "9223372036854775807", "min.compaction.lag.ms", "9000000000"}; i < len(quiet); i += 2 {
			if !slices.Contains(configs, quiet[i]) {
				all = append(all, quiet[i:i+2]...)
			}
		}
		for i := 0; i < len(all); i += 2 {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = all[i], &all[i+1]
			t.Configs = append(t.Configs, c)
		}
		req.Topics = append(req.Topics, t)
		resp := s.calm(d, 7, req).(*kmsg.CreateTopicsResponse)
		if code := resp.Topics[0].ErrorCode; code != 0 {
			panic(fmt.Sprintf("making topic %s %v: error %d", name, configs, code))
		}
		d.ids[name], d.names[resp.Topics[0].TopicID] = resp.Topics[0].TopicID, name
		for p := range partitions {
			s.until(d, "the new topic to be led", func() bool { return s.offset(d, name, p, -1).ErrorCode == 0 })
		}
	})
	s.made = append(s.made, name)
}

// offset asks one side for an offset without comparing.
func (s *script) offset(d *side, topic string, partition int32, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	return s.calm(d, 4, s.listOffsets(topic, partition, timestamp)).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
}

// remove deletes a topic on both sides and waits until it is unknown.
func (s *script) remove(topic string) {
	s.note("delete topic %s", topic)
	s.both(func(d *side) {
		s.unmake(d, topic)
		s.until(d, "the topic to be unknown", func() bool { return s.offset(d, topic, 0, -1).ErrorCode == 3 })
		s.until(d, "its id to be unknown, a moment later", func() bool {
			resp := s.calm(d, 13, s.fetch(whole(), from(topic, 0, 0))(d)).(*kmsg.FetchResponse)
			return resp.Topics[0].Partitions[0].ErrorCode == 100
		})
	})
}

func (s *script) unmake(d *side, topics ...string) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 20000
	for _, t := range topics {
		req.TopicNames = append(req.TopicNames, s.name(t))
	}
	s.calm(d, 5, req)
}

// end closes the connections and deletes what was made.
func (s *script) end() {
	s.both(func(d *side) {
		if len(s.made) > 0 {
			s.unmake(d, s.made...)
		}
		if d.conn != nil {
			d.conn.Close()
		}
		if d.quiet != nil {
			d.quiet.Close()
		}
	})
}
