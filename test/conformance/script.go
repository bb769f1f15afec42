package conformance

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// api is a request that the broker serves, its versions, and the scenarios for it.
type api struct {
	name      string // Kafka's name; also that of the golden file
	key       int16
	min, max  int16
	scenarios []scenario
}

// scenario is one script. It is run once for each version of its API in from..to
// (to 0: the last one), each time on topics of its own.
type scenario struct {
	name     string
	from, to int16
	run      func(s *script)
}

// step is one recorded answer.
type step struct {
	name   string
	answer any // masked: maps, slices, strings, numbers, booleans
}

// script is a scenario that runs against a broker at one version.
type script struct {
	t      testing.TB
	v      int16
	addr   string
	prefix string // of the topic names of this run
	base   int64  // a time an hour ago, milliseconds
	begun  int64

	conn   *peer.Conn
	second *peer.Conn
	steps  []step
	label  string

	ids      map[[16]byte]string // topic id -> name in the script
	byName   map[string][16]byte
	labels   map[string]map[int64]string // kind -> value -> label
	members  map[string]string           // generated part of a member id -> label
	callers  []*caller
	made     map[string]bool // topics that there are
	onlyOurs bool
	marks    int
	// lastSession is the fetch session that the script's requests are in.
	lastSession int32
	patient     bool // Kafka answers a change before it is visible: wait for it
}

func newScript(t testing.TB, addr string, version int16, patient bool) *script {
	var r [4]byte
	rand.Read(r[:])
	now := time.Now().UnixMilli()
	return &script{
		t: t, v: version, addr: addr, patient: patient,
		prefix: "gold-" + hex.EncodeToString(r[:]) + "-",
		base:   steady(now - time.Hour.Milliseconds()), begun: now,
		ids: map[[16]byte]string{}, byName: map[string][16]byte{}, labels: map[string]map[int64]string{}, members: map[string]string{}, made: map[string]bool{},
	}
}

// steady gives a time near ms whose last byte never changes. Where a batch's length
// is wrong, that byte is taken for the magic of the next one: Kafka's answer to such
// a batch must not hang on the millisecond at which a script began.
func steady(ms int64) int64 { return ms&^0xff | 0x40 }

func (s *script) close() {
	for _, c := range []*peer.Conn{s.conn, s.second} {
		if c != nil {
			c.Close()
		}
	}
	for _, c := range s.callers {
		c.Close()
	}
}

func (s *script) dial() *peer.Conn {
	c, err := peer.Dial(s.addr)
	if err != nil {
		s.t.Fatalf("connect: %v", err)
	}
	c.ClientID = "conformance"
	return c
}

// main is the connection that the script's requests use; a new one after the
// broker has hung up.
func (s *script) main() *peer.Conn {
	if s.conn == nil {
		s.conn = s.dial()
	}
	return s.conn
}

// step names the answers that follow.
func (s *script) step(format string, args ...any) *script {
	s.label = fmt.Sprintf(format, args...)
	return s
}

// name is the real name of a topic of the script. An empty name, and one that
// begins with "=", stand for themselves.
func (s *script) name(topic string) string {
	if topic == "" {
		return ""
	}
	if as, ok := strings.CutPrefix(topic, "="); ok {
		return as
	}
	return s.prefix + topic
}

// id is the id of a topic made by topic; one that was never made has one of its own.
func (s *script) id(topic string) [16]byte {
	if id, ok := s.byName[topic]; ok {
		return id
	}
	id := [16]byte{0xdd, 0x11, 0x22, 0x33, 0x44, 0x55, 0x46, 0x77, 0x88}
	copy(id[9:], topic)
	s.byName[topic], s.ids[id] = id, topic
	return id
}

// topic makes a topic and waits until every partition is led. Configs are key, value pairs.
func (s *script) topic(name string, partitions int32, configs ...string) string {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 20000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = s.name(name), partitions, 1
	for i := 0; i < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], &configs[i+1]
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp := s.quiet(7, req).(*kmsg.CreateTopicsResponse)
	if code := resp.Topics[0].ErrorCode; code != 0 {
		s.t.Fatalf("making topic %s: error %d", name, code)
	}
	s.byName[name], s.ids[resp.Topics[0].TopicID] = resp.Topics[0].TopicID, name
	for p := range partitions {
		s.ready(name, p)
	}
	s.made[name] = true
	return s.name(name)
}

// ready waits until a partition is served: a broker may answer CreateTopics before.
func (s *script) ready(topic string, partition int32) {
	for deadline := time.Now().Add(20 * time.Second); ; {
		if code := s.listOffset(topic, partition, -1).ErrorCode; code == 0 {
			return
		} else if !s.patient || time.Now().After(deadline) {
			s.t.Fatalf("partition %s-%d is not served: error %d", topic, partition, code)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// listOffset asks for an offset without recording it.
func (s *script) listOffset(topic string, partition int32, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = s.name(topic)
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, timestamp
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return s.quiet(4, req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
}

// quiet sends a request at a version and does not record the answer.
func (s *script) quiet(version int16, req kmsg.Request) kmsg.Response {
	if s.second == nil {
		s.second = s.dial()
	}
	req.SetVersion(version)
	resp, err := s.second.Do(req)
	if err != nil {
		s.t.Fatalf("%s v%d: %v", kmsg.NameForKey(req.Key()), version, err)
	}
	return resp
}

// ask sends a request at the version under test and records the answer, or that
// there was none because the broker hung up.
func (s *script) ask(req kmsg.Request) kmsg.Response { return s.askAt(s.v, req) }

// askAt is ask at a version of the caller's.
func (s *script) askAt(version int16, req kmsg.Request) kmsg.Response {
	s.t.Helper()
	req.SetVersion(version)
	resp, err := s.main().Do(req)
	s.record(resp, err)
	return resp
}

// ours is ask for requests about everything there is: what concerns topics of
// other scripts is left out of the record.
func (s *script) ours(req kmsg.Request) kmsg.Response {
	s.t.Helper()
	s.onlyOurs = true
	defer func() { s.onlyOurs = false }()
	return s.ask(req)
}

// answerTo records the answer to the request that was sent last.
func (s *script) answerTo(req kmsg.Request) {
	s.t.Helper()
	b, err := s.main().Receive()
	var resp kmsg.Response
	if err == nil {
		resp, err = peer.Decode(req, s.main().Correlation(), b)
	}
	s.record(resp, err)
}

// delete deletes a topic and waits until the broker no longer knows it.
func (s *script) delete(topic string) {
	delete(s.made, topic)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames, req.TimeoutMillis = []string{s.name(topic)}, 20000
	if code := s.quiet(5, req).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode; code != 0 {
		s.t.Fatalf("deleting topic %s: error %d", topic, code)
	}
	for deadline := time.Now().Add(20 * time.Second); s.listOffset(topic, 0, -1).ErrorCode != 3; {
		if !s.patient || time.Now().After(deadline) {
			s.t.Fatalf("topic %s is still there", topic)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// deleteRecords moves the log start of a partition without recording the answer.
func (s *script) deleteRecords(topic string, partition int32, offset int64) {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 20000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = s.name(topic)
	t.Partitions = append(t.Partitions, kmsg.DeleteRecordsRequestTopicPartition{Partition: partition, Offset: offset})
	req.Topics = append(req.Topics, t)
	if code := s.quiet(2, req).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0].ErrorCode; code != 0 {
		s.t.Fatalf("deleting records of %s-%d: error %d", topic, partition, code)
	}
}

// settle waits until a changed config is described as changed: a broker may answer
// the change before. An empty value means that the key is no longer set.
func (s *script) settle(kind kmsg.ConfigResourceType, name, key, value string) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		resp := s.quiet(4, s.configs(kind, name, key)).(*kmsg.DescribeConfigsResponse)
		own := ""
		for _, c := range resp.Resources[0].Configs {
			if c.Value != nil && (c.Source != kmsg.ConfigSourceDefaultConfig && c.Source != kmsg.ConfigSourceStaticBrokerConfig) {
				own = *c.Value
			}
		}
		if own == value || (value == "" && kind == brokerResource && name != "") {
			return
		}
		if !s.patient || time.Now().After(deadline) {
			s.t.Fatalf("%s of %q is %q, not %q", key, name, own, value)
		}
	}
}

// settled waits until what was changed before is visible: what comes first is
// visible first, so a topic made now tells.
func (s *script) settled() {
	if s.patient {
		s.marks++
		s.topic(fmt.Sprint("mark", s.marks), 1)
	}
}

// silent sends a request that has no answer (acks=0).
func (s *script) silent(req kmsg.Request) {
	req.SetVersion(s.v)
	if err := s.main().Send(s.main().Frame(req)); err != nil {
		s.t.Fatalf("send: %v", err)
	}
}

// ended records whether the broker has hung up: it has when closed is the record.
func (s *script) ended() {
	c := s.main()
	c.SetReadDeadline(time.Now().Add(c.Timeout))
	n, err := c.Read(make([]byte, 1))
	if n > 0 {
		s.t.Fatalf("an answer where none is allowed")
	}
	if _, waited := c.WaitClosed(time.Second); waited != nil {
		s.t.Fatalf("the connection was not closed: %v", err)
	}
	s.record(nil, peer.ErrClosed)
}

func (s *script) record(resp kmsg.Response, err error) {
	s.t.Helper()
	st := step{name: s.label}
	switch {
	case errors.Is(err, peer.ErrClosed):
		st.answer = "closed"
		s.conn.Close()
		s.conn = nil
	case err != nil:
		s.t.Fatalf("step %d %s: %v", len(s.steps)+1, s.label, err)
	default:
		st.answer = s.mask(resp)
	}
	s.steps = append(s.steps, st)
}

// until waits for a condition that the broker brings about by itself.
func (s *script) until(what string, seen func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !seen(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("not seen within 20 s: %s", what)
		}
	}
}
