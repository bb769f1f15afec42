package badinput

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// counts that lie, in both forms of array.
func TestRow21HugeCounts(t *testing.T) {
	r := newRig(t)
	for _, count := range []uint32{1<<31 - 1, 1_000_001, 1000, 1 << 31, 0xfffffffe} {
		n := binary.BigEndian.AppendUint32(nil, count)
		if count < 1<<31 { // below zero is null there, which means every topic
			r.closes("Metadata v1", frame(3, 1, false, append(n, make([]byte, 12)...)...))
		}
		r.closes("CreateTopics v2", frame(19, 2, false, append(n, make([]byte, 12)...)...))
		r.closes("Produce v3", frame(0, 3, false, append(append([]byte{0xff, 0xff, 0, 1, 0, 0, 0, 1}, n...), make([]byte, 12)...)...))
		r.closes("Fetch v4", frame(1, 4, false, append(append(make([]byte, 17), n...), make([]byte, 12)...)...))
		r.closes("ListOffsets v1", frame(2, 1, false, append(append([]byte{0xff, 0xff, 0xff, 0xff}, n...), make([]byte, 12)...)...))
		r.closes("DescribeConfigs v1", frame(32, 1, false, append(n, make([]byte, 12)...)...))
		compact := binary.AppendUvarint(nil, uint64(count)+1)
		if count < 1<<31 {
			r.closes("Metadata v9", frame(3, 9, true, append(compact, make([]byte, 12)...)...))
		}
		r.closes("CreateTopics v5", frame(19, 5, true, append(compact, make([]byte, 12)...)...))
		r.closes("Produce v9", frame(0, 9, true, append(append([]byte{0, 0, 1, 0, 0, 0, 1}, compact...), make([]byte, 12)...)...))
		r.closes("Fetch v12", frame(1, 12, true, append(append(append([]byte{}, make([]byte, 25)...), compact...), make([]byte, 12)...)...))
	}
}

// A million topics that each announce a million partitions, in a frame of a few
// megabytes: what is taken is bounded by the bytes that are there.
func TestRow22NestedCounts(t *testing.T) {
	r := newRig(t)
	body := []byte{0xff, 0xff, 0, 1, 0, 0, 0, 1}
	body = binary.BigEndian.AppendUint32(body, 1_000_000)
	body = append(body, bytes.Repeat([]byte{0, 1, 'a', 0, 0x0f, 0x42, 0x40}, 300_000)...)
	r.closes("Produce v3", frame(0, 3, false, body...))
	body = binary.BigEndian.AppendUint32(nil, 1_000_000)
	body = append(body, bytes.Repeat([]byte{0, 1, 'a', 0, 0, 0, 1, 0, 1, 0, 0x0f, 0x42, 0x40}, 200_000)...)
	r.closes("CreateTopics v2", frame(19, 2, false, body...))
}

func TestRow23NullWhereNoneMayBe(t *testing.T) {
	r := newRig(t)
	r.closes("null topic list in Produce v9", frame(0, 9, true, 0, 0, 1, 0, 0, 0, 1, 0, 0))
	r.closes("null name in CreateTopics v5", frame(19, 5, true, 2, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0))
	r.closes("null name in Metadata v9", frame(3, 9, true, 2, 0, 0, 0, 0, 0, 0))
	r.closes("null topic list in CreateTopics v2", frame(19, 2, false, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0))
	r.closes("null name in Metadata v1", frame(3, 1, false, 0, 0, 0, 1, 0xff, 0xff))
}

func TestRow24LongStrings(t *testing.T) {
	r := newRig(t)
	r.closes("string longer than the rest", frame(3, 1, false, 0, 0, 0, 1, 0x7f, 0xff, 'a'))
	r.closes("string of length -2", frame(3, 1, false, 0, 0, 0, 1, 0xff, 0xfe, 'a'))
	r.closes("compact string longer than the rest", frame(3, 9, true, 2, 100, 'a', 0, 0, 0, 0, 0))
	r.closes("compact string of 2^31 bytes", frame(3, 9, true, 2, 0x81, 0x80, 0x80, 0x80, 0x08, 'a', 0, 0, 0, 0, 0))
	long := append([]byte{2, 0x81, 0x80, 2}, make([]byte, 32768)...) // a length of three bytes
	r.closes("compact string of 32768 bytes", frame(3, 9, true, append(long, 0, 0, 0, 0, 0)...))
	r.closes("client id longer than the rest", length([]byte{0, 3, 0, 1, 0, 0, 0, 1, 0x7f, 0xff, 'a'}))
	r.closes("records longer than the rest", frame(0, 3, false, 0xff, 0xff, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 'a', 0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 1))
}

func TestRow25TopicNames(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"", ".", "..", strings.Repeat("x", 250), "a/b", "a b", "\xff\xfe", "nul\x00", "../../etc", "a\nb", "ü"} {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 20000
		n := kmsg.NewCreateTopicsRequestTopic()
		n.Topic, n.NumPartitions, n.ReplicationFactor = name, 1, 1
		req.Topics = append(req.Topics, n)
		r.code("CreateTopics of a bad name", r.do(r.dial(), 5, req).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode, 17)
		m := kmsg.NewPtrMetadataRequest()
		m.AllowAutoTopicCreation = true
		mt := kmsg.NewMetadataRequestTopic()
		mt.Topic = &name
		m.Topics = append(m.Topics, mt)
		r.code("Metadata of a bad name", r.do(r.dial(), 9, m).(*kmsg.MetadataResponse).Topics[0].ErrorCode, 17)
	}
}

// The same partition twice in one request is never appended twice.
func TestRow26Duplicates(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("twice")
	b := batch("once").Encode()
	resp := r.do(r.dial(), 9, produceReq(topic, -1, b, b)).(*kmsg.ProduceResponse)
	for _, rt := range resp.Topics {
		for _, p := range rt.Partitions {
			r.code("Produce of one partition twice", p.ErrorCode, 0, 42)
		}
	}
	if end := r.end(topic); end > 1 {
		t.Errorf("the batch was appended %d times", end)
	}
	req := produceReq(topic, -1, b)
	req.Topics = append(req.Topics, produceReq(topic, -1, b).Topics...)
	before := r.end(topic)
	r.do(r.dial(), 9, req)
	if end := r.end(topic); end > before+1 {
		t.Errorf("two entries of one topic: the batch was appended %d times", end-before)
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.TimeoutMillis = 20000
	n := kmsg.NewCreateTopicsRequestTopic()
	n.Topic, n.NumPartitions, n.ReplicationFactor = topic+"-new", 1, 1
	create.Topics = append(create.Topics, n, n)
	for _, ct := range r.do(r.dial(), 5, create).(*kmsg.CreateTopicsResponse).Topics {
		r.code("CreateTopics of one name twice", ct.ErrorCode, 42)
	}
}
