package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
)

func eachFetchVersion(t *testing.T, f func(t *testing.T, r *rand.Rand, version int16)) {
	for version := int16(4); version <= 18; version++ {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			f(t, rand.New(rand.NewPCG(2, uint64(version))), version)
		})
	}
}

func randomFetchPartition(r *rand.Rand) FetchPartition {
	p := NewFetchPartition(r.Int32(), int16(r.Int32()))
	p.HighWatermark, p.LastStable, p.LogStart = r.Int64(), r.Int64(), r.Int64()
	p.PreferredReader = r.Int32()
	if r.IntN(2) == 0 {
		p.Aborted = []AbortedTransaction{}
		for range r.IntN(3) {
			p.Aborted = append(p.Aborted, AbortedTransaction{r.Int64(), r.Int64()})
		}
	}
	if r.IntN(3) == 0 {
		p.DivergingEpoch = EpochEndOffset{r.Int32(), r.Int64()}
	}
	if r.IntN(3) == 0 {
		p.CurrentLeader = Leader{r.Int32(), r.Int32()}
	}
	if r.IntN(3) == 0 {
		p.SnapshotID = SnapshotID{r.Int64(), r.Int32()}
	}
	p.RecordsLen = []int{-1, 0, 1, 10, 126, 127, 20_000}[r.IntN(7)]
	return p
}

func kmsgFetchPartition(version int16, p FetchPartition, records []byte) kmsg.FetchResponseTopicPartition {
	k := kmsg.NewFetchResponseTopicPartition()
	k.Partition, k.ErrorCode = p.Index, p.ErrorCode
	k.HighWatermark, k.LastStableOffset, k.LogStartOffset = p.HighWatermark, p.LastStable, p.LogStart
	k.PreferredReadReplica = p.PreferredReader
	if p.Aborted != nil {
		k.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	}
	for _, a := range p.Aborted {
		ka := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
		ka.ProducerID, ka.FirstOffset = a.ProducerID, a.FirstOffset
		k.AbortedTransactions = append(k.AbortedTransactions, ka)
	}
	if version >= 12 {
		k.DivergingEpoch.Epoch, k.DivergingEpoch.EndOffset = p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset
		k.CurrentLeader.LeaderID, k.CurrentLeader.LeaderEpoch = p.CurrentLeader.ID, p.CurrentLeader.Epoch
		k.SnapshotID.EndOffset, k.SnapshotID.Epoch = p.SnapshotID.EndOffset, p.SnapshotID.Epoch
	}
	k.RecordBatches = records
	return k
}

func TestFetchWriterWritesWhatKmsgWrites(t *testing.T) {
	var w FetchWriter // used again and again, as a connection does
	eachFetchVersion(t, func(t *testing.T, r *rand.Rand, version int16) {
		for range 200 {
			want := kmsg.NewPtrFetchResponse()
			want.SetVersion(version)
			want.ThrottleMillis, want.ErrorCode, want.SessionID = r.Int32(), int16(r.Int32()), r.Int32()
			topics := r.IntN(4)
			w.Begin([]byte("before"), version, 77, want.ThrottleMillis, want.ErrorCode, want.SessionID, topics)
			var records [][]byte
			for range topics {
				kt := kmsg.NewFetchResponseTopic()
				kt.Topic, kt.TopicID = randomString(r), model.NewTopicID()
				parts := r.IntN(4)
				w.Topic(kt.Topic, kt.TopicID, parts)
				for range parts {
					p := randomFetchPartition(r)
					var rec []byte
					if p.RecordsLen >= 0 {
						rec = bytes.Repeat([]byte{byte(r.Uint32())}, p.RecordsLen)
					}
					if p.RecordsLen > 0 {
						records = append(records, rec)
					}
					w.Partition(&p)
					kt.Partitions = append(kt.Partitions, kmsgFetchPartition(version, p, rec))
				}
				want.Topics = append(want.Topics, kt)
			}
			nodes := randomNodes(r)
			if version >= 16 {
				for _, n := range nodes {
					b := kmsg.NewFetchResponseBroker()
					b.NodeID, b.Host, b.Port, b.Rack = n.NodeID, n.Host, n.Port, orNull(n.Rack)
					want.Brokers = append(want.Brokers, b)
				}
			}
			if buf := w.End(nodes); !bytes.HasPrefix(buf, []byte("before")) {
				t.Fatal("what was in the buffer is gone")
			}
			var got []byte
			for i := range w.Pieces() {
				p := w.Piece(i)
				got = append(got, p.Bytes...)
				if p.Hole > 0 {
					if len(records[0]) != p.Hole {
						t.Fatalf("hole of %d bytes for %d bytes of records", p.Hole, len(records[0]))
					}
					got = append(got, records[0]...)
					records = records[1:]
				}
			}
			if len(records) > 0 {
				t.Fatalf("%d partitions' records have no hole", len(records))
			}
			if len(got) != w.Size() {
				t.Fatalf("size %d of %d bytes", w.Size(), len(got))
			}
			if !bytes.Equal(got, AppendResponse(nil, 77, want)) {
				t.Fatalf("got  %x\nwant %x", got, AppendResponse(nil, 77, want))
			}
		}
	})
}

func TestFetchWriterAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 4096)
	p := NewFetchPartition(3, 0)
	p.RecordsLen = 1000
	p.CurrentLeader = Leader{1, 2}
	for _, version := range []int16{4, 11, 12, 16, 18} {
		var w FetchWriter
		run := func() {
			w.Begin(buf, version, 1, 0, 0, 5, 2)
			for range 2 {
				w.Topic("topic", model.TopicID{}, 3)
				for range 3 {
					w.Partition(&p)
				}
			}
			w.End(nil)
		}
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("version %d: %v allocations", version, n)
		}
	}
}

func BenchmarkFetchWriter(b *testing.B) {
	var w FetchWriter
	buf := make([]byte, 0, 4096)
	p := NewFetchPartition(3, 0)
	p.RecordsLen = 64 << 10
	b.ReportAllocs()
	for b.Loop() {
		w.Begin(buf, 16, 1, 0, 0, 5, 1)
		w.Topic("topic", model.TopicID{}, 1)
		w.Partition(&p)
		w.End(nil)
	}
}
