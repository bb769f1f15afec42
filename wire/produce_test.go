package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
)

func eachProduceVersion(t *testing.T, f func(t *testing.T, r *rand.Rand, version int16)) {
	for version := int16(3); version <= 13; version++ {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			f(t, rand.New(rand.NewPCG(1, uint64(version))), version)
		})
	}
}

func TestWalkProduceReadsWhatKmsgWrites(t *testing.T) {
	eachProduceVersion(t, func(t *testing.T, r *rand.Rand, version int16) {
		for range 300 {
			body := randomRequest(r, 0, version).AppendTo(nil)
			want := kmsg.NewPtrProduceRequest()
			want.SetVersion(version)
			if err := want.ReadFrom(body); err != nil {
				t.Fatal(err)
			}
			var head ProduceHead
			var got []ProducePartition
			err := WalkProduce(version, append(body, "trailing"...), &head, func(p ProducePartition) error {
				got = append(got, p)
				return nil
			})
			if err != nil {
				t.Fatalf("%x: %v", body, err)
			}
			wantHead := ProduceHead{Acks: want.Acks, TimeoutMs: want.TimeoutMillis, Topics: len(want.Topics)}
			if want.TransactionID != nil {
				wantHead.TransactionalID, wantHead.Transactional = *want.TransactionID, true
			}
			var parts []ProducePartition
			for _, topic := range want.Topics {
				for _, p := range topic.Partitions {
					part := ProducePartition{Index: p.Partition, Records: p.Records}
					if version >= 13 {
						part.TopicID = topic.TopicID
					} else {
						part.Topic = []byte(topic.Topic)
					}
					parts = append(parts, part)
				}
				wantHead.Partitions += len(topic.Partitions)
			}
			if head != wantHead {
				t.Fatalf("head %+v, want %+v", head, wantHead)
			}
			if !reflect.DeepEqual(got, parts) {
				t.Fatalf("partitions\n%v, want\n%v", got, parts)
			}
		}
	})
}

// Whatever the walk refuses, the guard refuses, and the other way round; and
// nothing is delivered of a request that is refused.
func TestWalkProduceAgreesWithCheck(t *testing.T) {
	eachProduceVersion(t, func(t *testing.T, r *rand.Rand, version int16) {
		for range 50 {
			body := randomRequest(r, 0, version).AppendTo(nil)
			for n := range body {
				walkAgreesWithCheck(t, version, body[:n:n])
				bad := bytes.Clone(body)
				bad[n] ^= byte(1 << r.IntN(8))
				walkAgreesWithCheck(t, version, bad)
				bad[n] = byte(r.Uint32())
				walkAgreesWithCheck(t, version, bad)
			}
		}
	})
}

func walkAgreesWithCheck(t *testing.T, version int16, body []byte) {
	t.Helper()
	var head ProduceHead
	calls := 0
	err := WalkProduce(version, body, &head, func(ProducePartition) error { calls++; return nil })
	checked := Check(0, version, body)
	if (err == nil) != (checked == nil) {
		t.Fatalf("version %d, %x: walk says %v, check says %v", version, body, err, checked)
	}
	if err != nil && calls > 0 {
		t.Fatalf("version %d, %x: %d partitions delivered of a malformed request", version, body, calls)
	}
	if err == nil && calls != head.Partitions {
		t.Fatalf("version %d: %d partitions of %d", version, calls, head.Partitions)
	}
}

func TestWalkProduceStopsAtCallersError(t *testing.T) {
	req := kmsg.NewPtrProduceRequest()
	req.Topics = make([]kmsg.ProduceRequestTopic, 3)
	for i := range req.Topics {
		req.Topics[i].Partitions = make([]kmsg.ProduceRequestTopicPartition, 2)
	}
	req.SetVersion(9)
	stop := errors.New("stop")
	calls := 0
	err := WalkProduce(9, req.AppendTo(nil), new(ProduceHead), func(ProducePartition) error {
		if calls++; calls == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}
	for _, v := range []int16{-1, 2, 14} {
		if err := WalkProduce(v, nil, new(ProduceHead), nil); !errors.Is(err, ErrUnsupportedVersion) {
			t.Errorf("version %d: %v", v, err)
		}
	}
}

func TestWalkProduceAllocatesNothing(t *testing.T) {
	eachProduceVersion(t, func(t *testing.T, r *rand.Rand, version int16) {
		body := produceBody(version, 3, 4)
		var head ProduceHead
		n := 0
		allocs := testing.AllocsPerRun(100, func() {
			err := WalkProduce(version, body, &head, func(p ProducePartition) error { n += len(p.Records); return nil })
			if err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations", allocs)
		}
	})
}

func produceBody(version int16, topics, partitions int) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Acks = -1
	for i := range topics {
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic, topic.TopicID = fmt.Sprintf("topic-%d", i), model.NewTopicID()
		for p := range partitions {
			part := kmsg.NewProduceRequestTopicPartition()
			part.Partition, part.Records = int32(p), make([]byte, 1000)
			topic.Partitions = append(topic.Partitions, part)
		}
		req.Topics = append(req.Topics, topic)
	}
	req.SetVersion(version)
	return req.AppendTo(nil)
}

func randomResults(r *rand.Rand) (results []ProduceResult, nodes []NodeEndpoint) {
	for range r.IntN(4) {
		topic, id := []byte(randomString(r)), model.NewTopicID()
		for range 1 + r.IntN(4) {
			p := ProduceResult{
				Topic: topic, TopicID: id, Index: r.Int32(), ErrorCode: int16(r.Int32()),
				BaseOffset: r.Int64(), LogAppendTimeMs: -1, LogStartOffset: r.Int64(), CurrentLeader: NoLeader,
				ErrorMessage: randomString(r),
			}
			for range r.IntN(3) {
				p.RecordErrors = append(p.RecordErrors, RecordError{r.Int32(), randomString(r)})
			}
			if r.IntN(2) == 0 {
				p.CurrentLeader = Leader{r.Int32(), r.Int32()}
			}
			results = append(results, p)
		}
	}
	return results, randomNodes(r)
}

func randomNodes(r *rand.Rand) (nodes []NodeEndpoint) {
	for range r.IntN(3) {
		nodes = append(nodes, NodeEndpoint{r.Int32(), randomString(r), r.Int32(), randomString(r)})
	}
	return nodes
}

// orNull is the text as kmsg has it, with "" for null.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func TestProduceResponseIsWhatKmsgWrites(t *testing.T) {
	eachProduceVersion(t, func(t *testing.T, r *rand.Rand, version int16) {
		for range 300 {
			results, nodes := randomResults(r)
			want := kmsg.NewPtrProduceResponse()
			want.SetVersion(version)
			want.ThrottleMillis = 17
			for i, p := range results {
				if i == 0 || !bytes.Equal(results[i-1].Topic, p.Topic) || version >= 13 && results[i-1].TopicID != p.TopicID {
					topic := kmsg.NewProduceResponseTopic()
					topic.Topic, topic.TopicID = string(p.Topic), p.TopicID
					want.Topics = append(want.Topics, topic)
				}
				topic := &want.Topics[len(want.Topics)-1]
				part := kmsg.NewProduceResponseTopicPartition()
				part.Partition, part.ErrorCode = p.Index, p.ErrorCode
				part.BaseOffset, part.LogAppendTime, part.LogStartOffset = p.BaseOffset, p.LogAppendTimeMs, p.LogStartOffset
				part.ErrorMessage = orNull(p.ErrorMessage)
				for _, e := range p.RecordErrors {
					re := kmsg.NewProduceResponseTopicPartitionErrorRecord()
					re.RelativeOffset, re.ErrorMessage = e.BatchIndex, orNull(e.Message)
					part.ErrorRecords = append(part.ErrorRecords, re)
				}
				if version >= 10 {
					part.CurrentLeader.LeaderID, part.CurrentLeader.LeaderEpoch = p.CurrentLeader.ID, p.CurrentLeader.Epoch
				}
				topic.Partitions = append(topic.Partitions, part)
			}
			if version >= 10 {
				for _, n := range nodes {
					b := kmsg.NewProduceResponseBroker()
					b.NodeID, b.Host, b.Port, b.Rack = n.NodeID, n.Host, n.Port, orNull(n.Rack)
					want.Brokers = append(want.Brokers, b)
				}
			}
			got := AppendProduceResponse([]byte("before"), version, 42, 17, results, nodes)[6:]
			if !bytes.Equal(got, AppendResponse(nil, 42, want)) {
				t.Fatalf("got  %x\nwant %x", got, AppendResponse(nil, 42, want))
			}
		}
	})
}

func TestProduceResponseAllocatesNothing(t *testing.T) {
	results := make([]ProduceResult, 20)
	for i := range results {
		results[i] = ProduceResult{Topic: []byte{'a' + byte(i/5)}, Index: int32(i), CurrentLeader: NoLeader}
	}
	buf := make([]byte, 0, 4096)
	for _, version := range []int16{3, 8, 9, 10, 13} {
		if n := testing.AllocsPerRun(100, func() { AppendProduceResponse(buf, version, 1, 0, results, nil) }); n != 0 {
			t.Errorf("version %d: %v allocations", version, n)
		}
	}
}

func BenchmarkWalkProduce(b *testing.B) {
	for _, n := range []int{1, 50} {
		b.Run(fmt.Sprintf("partitions=%d", n), func(b *testing.B) {
			body := produceBody(9, 1, n)
			var head ProduceHead
			b.ReportAllocs()
			for b.Loop() {
				if err := WalkProduce(9, body, &head, func(ProducePartition) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
