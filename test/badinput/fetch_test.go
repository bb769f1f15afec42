package badinput

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	offsetOutOfRange     = 1
	clusterNotAuthorized = 31
	invalidPartitions    = 37
	invalidReplication   = 38
	policyViolation      = 44
	noSuchSession        = 70
	badSessionEpoch      = 71
	throttled            = 89
)

func fetchReq(topic string, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxBytes, req.MinBytes, req.SessionEpoch = -1, 1<<20, 1, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = offset, 1<<20, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func TestRow41FetchBounds(t *testing.T) {
	r := newRig(t)
	for _, offset := range []int64{-1, 2, 1 << 62, -1 << 63} {
		got := r.do(r.dial(), 11, fetchReq(r.topic, offset)).(*kmsg.FetchResponse)
		r.code(fmt.Sprint("offset ", offset), got.Topics[0].Partitions[0].ErrorCode, offsetOutOfRange)
	}
	for _, n := range []int32{-1, -1 << 31, 0, 1, 1<<31 - 1} {
		if kafka && n < 0 {
			continue // Kafka answers -1
		}
		req := fetchReq(r.topic, 0)
		req.MaxBytes, req.MinBytes = n, 1
		req.Topics[0].Partitions[0].PartitionMaxBytes = n
		got := r.do(r.dial(), 11, req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
		r.code(fmt.Sprint("max bytes ", n), got.ErrorCode, 0)
		if n > 0 && len(got.RecordBatches) == 0 {
			t.Errorf("max bytes %d: no batch", n)
		}
	}
	// The longest wait for nothing must not keep the broker from anything.
	waiting := fetchReq(r.topic, 1)
	waiting.MaxWaitMillis, waiting.MinBytes = 1<<31-1, 1<<31-1
	waiting.SetVersion(11)
	c := r.dial()
	if err := c.Send(c.Frame(waiting)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	now := fetchReq(r.topic, 0)
	now.MaxWaitMillis = 1<<31 - 1
	began := time.Now()
	r.code("longest wait with data", r.do(r.dial(), 11, now).(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode, 0)
	negative := fetchReq(r.topic, 1)
	negative.MaxWaitMillis = -5
	r.code("negative wait", r.do(r.dial(), 11, negative).(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode, 0)
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
	session := fetchReq(r.topic, 0)
	session.SessionID, session.SessionEpoch = 987654321, 1
	r.code("unknown session", r.do(r.dial(), 11, session).(*kmsg.FetchResponse).ErrorCode, noSuchSession)
	c = r.dial()
	session.SessionID, session.SessionEpoch = 0, 0
	id := r.do(c, 11, session).(*kmsg.FetchResponse).SessionID
	if id == 0 {
		t.Fatal("no session was made")
	}
	session.SessionID, session.SessionEpoch = id, 5
	r.code("wrong epoch", r.do(c, 11, session).(*kmsg.FetchResponse).ErrorCode, badSessionEpoch)
	session.SessionEpoch = 1
	r.code("right epoch", r.do(c, 11, session).(*kmsg.FetchResponse).ErrorCode, 0)
}

// Many sessions: their number is bounded, and requests are answered all the same.
func TestRow41ManySessions(t *testing.T) {
	r := ownRig(t)
	c := r.dial()
	for range 3000 {
		req := fetchReq(r.topic, 0)
		req.SessionEpoch = 0
		if got := r.do(c, 11, req).(*kmsg.FetchResponse); got.ErrorCode != 0 || len(got.Topics) != 1 {
			t.Fatalf("error %d, %d topics", got.ErrorCode, len(got.Topics))
		}
	}
}

// A client that says it is a replica gets nothing. Kafka without an authorizer takes it.
func TestRow42ReplicaID(t *testing.T) {
	r := newRig(t)
	if kafka {
		t.Skip("Kafka without an authorizer serves it")
	}
	for _, replica := range []int32{0, 1, 5, 1 << 30} {
		req := fetchReq(r.topic, 0)
		req.ReplicaID = replica
		got := r.do(r.dial(), 11, req).(*kmsg.FetchResponse)
		code := got.ErrorCode
		for _, rt := range got.Topics {
			if len(rt.Partitions[0].RecordBatches) > 0 {
				t.Errorf("replica %d got records", replica)
			}
			code = max(code, rt.Partitions[0].ErrorCode)
		}
		r.code(fmt.Sprint("replica ", replica), code, clusterNotAuthorized)
		req = fetchReq(r.topic, 0)
		req.Topics[0].TopicID = r.id
		req.ReplicaState.ID, req.ReplicaState.Epoch = replica, 1
		got = r.do(r.dial(), 16, req).(*kmsg.FetchResponse)
		code = got.ErrorCode
		for _, rt := range got.Topics {
			code = max(code, rt.Partitions[0].ErrorCode)
		}
		r.code(fmt.Sprint("replica state ", replica), code, clusterNotAuthorized)
	}
}

func TestRow43PartitionCounts(t *testing.T) {
	r := newRig(t)
	create := func(partitions int32, replication int16) int16 {
		t.Helper()
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 20000
		n := kmsg.NewCreateTopicsRequestTopic()
		n.Topic, n.NumPartitions, n.ReplicationFactor = fmt.Sprintf("bad-count-%x", time.Now().UnixNano()), partitions, replication
		req.Topics = append(req.Topics, n)
		return r.do(r.dial(), 5, req).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode
	}
	for _, n := range []int32{0, -5, -1 << 31} {
		r.code(fmt.Sprint(n, " partitions"), create(n, 1), invalidPartitions)
	}
	for _, n := range []int32{1_000_000_000, 1<<31 - 1, 20_001} {
		r.code(fmt.Sprint(n, " partitions"), create(n, 1), policyViolation)
	}
	for _, n := range []int16{0, -2, 2, 32767} {
		r.code(fmt.Sprint(n, " replicas"), create(1, n), invalidReplication)
	}
}

// A million topics in one request: refused as a whole, before any is made.
func TestRow43MillionTopics(t *testing.T) {
	r := newRig(t)
	if kafka {
		t.Skip("needs a larger heap than the test's Kafka has")
	}
	r.slack = 512 << 20 // a million topics are decoded, and as many answers encoded
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 20000
	for i := range 1_000_000 {
		n := kmsg.NewCreateTopicsRequestTopic()
		n.Topic, n.NumPartitions, n.ReplicationFactor = fmt.Sprintf("m-%d", i), 1, 1
		req.Topics = append(req.Topics, n)
	}
	c := r.dial()
	c.Timeout = 120 * time.Second
	got := r.do(c, 5, req).(*kmsg.CreateTopicsResponse)
	if len(got.Topics) != 1_000_000 {
		t.Fatalf("%d answers", len(got.Topics))
	}
	for _, rt := range []kmsg.CreateTopicsResponseTopic{got.Topics[0], got.Topics[999_999]} {
		r.code("a million topics", rt.ErrorCode, policyViolation, throttled)
	}
}
