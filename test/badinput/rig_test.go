package badinput

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/harness"
	"ringmain/test/peer"
)

// slack is how much the resident memory may rise while a test sends its input. It
// covers buffers that are pooled and kept, and is far below what any of the inputs
// asks for.
const slack = 96 << 20

// kafka says that the broker is an Apache Kafka, laxer where a test says so.
var kafka = os.Getenv("KAFKA") != ""

// rig is a broker with a connection and a topic that must survive what a test does.
type rig struct {
	*testing.T
	b       *harness.Broker
	witness *peer.Conn
	topic   string
	id      [16]byte
	before  int64
	slack   int64
}

// shared is the broker that tests without settings of their own use.
var shared *harness.Broker

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		if err := shared.Stop(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, "stopping the broker:", err)
			code = 1
		}
		shared.Close()
	}
	os.Exit(code)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	if shared == nil {
		b, err := harness.Launch(harness.Options{})
		if err != nil {
			t.Fatal(err)
		}
		shared = b
	}
	return rigOn(t, shared)
}

// ownRig starts a broker with settings; skipped for an external one.
func ownRig(t *testing.T, overrides ...string) *rig {
	t.Helper()
	return rigOn(t, harness.StartOwn(t, harness.Options{Overrides: overrides}))
}

func rigOn(t *testing.T, b *harness.Broker) *rig {
	r := &rig{T: t, b: b, slack: slack}
	r.watch()
	r.topic, r.id = r.create("kept")
	r.produceOK(r.topic, peer.NewBatch(time.Now().UnixMilli(), peer.Values("kept")...))
	if !b.External() {
		if err := b.ResetPeak(); err != nil {
			t.Fatal(err)
		}
		r.before = r.must64(b.RSS())
	}
	t.Cleanup(r.unharmed)
	return r
}

// watch opens the connection that must survive; the check at the end closes it.
func (r *rig) watch() {
	r.Helper()
	c, err := peer.Dial(r.b.Addr())
	if err != nil {
		r.Fatal(err)
	}
	r.witness = c
}

// unharmed is checked after every test.
func (r *rig) unharmed() {
	if r.Failed() {
		r.Logf("end of the broker's standard error:\n%s", r.b.Stderr())
		return
	}
	// The connection from before still answers, in order, and the record is there.
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(11)
	req.ReplicaID, req.MaxBytes, req.SessionEpoch = -1, 1<<20, -1
	ft := kmsg.NewFetchRequestTopic()
	ft.Topic = r.topic
	fp := kmsg.NewFetchRequestTopicPartition()
	fp.PartitionMaxBytes, fp.CurrentLeaderEpoch = 1<<20, -1
	ft.Partitions = append(ft.Partitions, fp)
	req.Topics = append(req.Topics, ft)
	resp, err := r.witness.Do(req)
	if err != nil {
		r.Errorf("another connection was harmed: %v", err)
		return
	}
	batches, _ := peer.Parse(resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches)
	if len(batches) == 0 || len(batches[0].Records) != 1 || string(batches[0].Records[0].Value) != "kept" {
		r.Errorf("the record stored before is not there: %+v", batches)
	}
	r.witness.Close()
	if r.b.External() {
		return
	}
	if !r.b.Alive() {
		r.Errorf("the broker is gone")
		return
	}
	if peak := r.must64(r.b.PeakRSS()); peak-r.before > r.slack {
		r.Errorf("resident memory rose from %d to %d MiB", r.before>>20, peak>>20)
	}
	for line := range strings.Lines(r.b.Stdout()) {
		if !strings.HasPrefix(line, "ringmain ready ") {
			r.Errorf("standard output has %q", line)
		}
	}
}

func (r *rig) must64(n int64, err error) int64 {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	return n
}

func (r *rig) dial() *peer.Conn {
	r.Helper()
	c, err := peer.Dial(r.b.Addr())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { c.Close() })
	return c
}

// do sends a request and returns the answer; anything else fails the test.
func (r *rig) do(c *peer.Conn, version int16, req kmsg.Request) kmsg.Response {
	r.Helper()
	req.SetVersion(version)
	resp, err := c.Do(req)
	if err != nil {
		r.Fatalf("%s v%d: %v", kmsg.NameForKey(req.Key()), version, err)
	}
	return resp
}

// create makes a topic of one partition with a fresh name and waits until it is served.
func (r *rig) create(name string, configs ...string) (string, [16]byte) {
	r.Helper()
	name = fmt.Sprintf("bad-%s-%x", name, time.Now().UnixNano())
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 20000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1, 1
	for i := 0; i+1 < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], &configs[i+1]
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp := r.do(r.witness, 7, req).(*kmsg.CreateTopicsResponse)
	r.code("creating a topic", resp.Topics[0].ErrorCode, 0)
	for deadline := time.Now().Add(20 * time.Second); kafka && r.end(name) < 0; {
		if time.Now().After(deadline) {
			r.Fatalf("%s is not served", name)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return name, resp.Topics[0].TopicID
}

// end is the end offset of partition 0, or -1 on an error.
func (r *rig) end(topic string) int64 {
	r.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = -1, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	got := r.do(r.witness, 4, req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	if got.ErrorCode != 0 {
		return -1
	}
	return got.Offset
}

func produceReq(topic string, acks int16, records ...[]byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 20000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	for _, b := range records {
		t.Partitions = append(t.Partitions, kmsg.ProduceRequestTopicPartition{Records: b})
	}
	req.Topics = append(req.Topics, t)
	return req
}

// produce sends one batch with acks=all and returns the error code and base offset.
func (r *rig) produce(topic string, b peer.Batch) (int16, int64) {
	r.Helper()
	return r.produceBytes(topic, b.Encode())
}

func (r *rig) produceBytes(topic string, records []byte) (int16, int64) {
	r.Helper()
	c := r.dial()
	defer c.Close()
	p := r.do(c, 9, produceReq(topic, -1, records)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return p.ErrorCode, p.BaseOffset
}

func (r *rig) produceOK(topic string, b peer.Batch) int64 {
	r.Helper()
	code, offset := r.produce(topic, b)
	r.code("produce", code, 0)
	return offset
}

// batch is a batch of now.
func batch(values ...string) peer.Batch {
	return peer.NewBatch(time.Now().UnixMilli(), peer.Values(values...)...)
}

// code fails the test unless got is one of want.
func (r *rig) code(what string, got int16, want ...int16) {
	r.Helper()
	for _, w := range want {
		if got == w {
			return
		}
	}
	name := func(c int16) string {
		if e, ok := errors.AsType[*kerr.Error](kerr.ErrorForCode(c)); ok && c != 0 {
			return fmt.Sprintf("%s(%d)", e.Message, c)
		}
		return fmt.Sprintf("NONE(%d)", c)
	}
	var names []string
	for _, w := range want {
		names = append(names, name(w))
	}
	r.Errorf("%s: %s, want %s", what, name(got), strings.Join(names, " or "))
}

// closes sends bytes on a connection of their own and fails the test unless the
// broker hangs up without an answer.
func (r *rig) closes(what string, frame []byte) {
	r.Helper()
	c := r.dial()
	defer c.Close()
	if err := c.Send(frame); err != nil && !errors.Is(err, peer.ErrClosed) {
		r.Fatalf("%s: %v", what, err)
	}
	n, err := c.WaitClosed(10 * time.Second)
	if err != nil {
		r.Errorf("%s: %v", what, err)
	} else if n != 0 {
		r.Errorf("%s: %d bytes were answered", what, n)
	}
}

// length puts a frame's length in front of it.
func length(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// header is a request header of version 1, or 2 when flexible.
func header(key, version int16, correlation int32, client string, flexible bool) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	b = binary.BigEndian.AppendUint16(b, uint16(len(client)))
	b = append(b, client...)
	if flexible {
		b = append(b, 0)
	}
	return b
}

// frame is a whole request of given body bytes.
func frame(key, version int16, flexible bool, body ...byte) []byte {
	return length(append(header(key, version, 1, "bad", flexible), body...))
}
