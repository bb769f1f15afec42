package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/load"
	"ringmain/bench/workload"
)

// decodeRequest reads a frame as a broker does, without the code that wrote it.
func decodeRequest(t testing.TB, frame []byte, into kmsg.Request) (correlation int32) {
	t.Helper()
	if size := binary.BigEndian.Uint32(frame); int(size) != len(frame)-4 {
		t.Fatalf("a request of %d bytes announces %d", len(frame)-4, size)
	}
	if key := int16(binary.BigEndian.Uint16(frame[4:])); key != into.Key() {
		t.Fatalf("the request's key is %d", key)
	}
	version := int16(binary.BigEndian.Uint16(frame[6:]))
	into.SetVersion(version)
	if into.IsFlexible() {
		t.Fatalf("version %d has tags", version)
	}
	name := int(binary.BigEndian.Uint16(frame[12:]))
	if got := string(frame[14 : 14+name]); got != clientID {
		t.Fatalf("the client is %q", got)
	}
	if err := into.ReadFrom(frame[14+name:]); err != nil {
		t.Fatalf("version %d: %v", version, err)
	}
	return int32(binary.BigEndian.Uint32(frame[correlationAt:]))
}

func TestFetchRequestsAskForTheOffsetsThatWereSet(t *testing.T) {
	all := []*load.Partition{
		{Topic: "a", Index: 0}, {Topic: "a", Index: 255}, {Topic: "a", Index: 1 << 20},
		{Topic: "b-" + strings.Repeat("x", 200), Index: -1 & 0x7fff}, {Topic: "c", Index: 3}, {Topic: "a", Index: 7},
	}
	s := specOf(t, workload.Fetch, "fetch_max_bytes", "12345", "fetch_min_bytes", "77", "fetch_max_wait", "250ms")
	for version := oldestVersions.fetch; version <= newestVersions.fetch; version++ {
		for n := 1; n <= len(all); n++ {
			partitions := all[:n]
			f := newFetchRequest(partitions, s, version)
			if len(f.offsets) != n {
				t.Fatalf("version %d, %d partitions: %d offsets were found", version, n, len(f.offsets))
			}
			for _, first := range []int64{0, 1, 0x0102030405060708, math.MaxInt64 - 10, -1} {
				for i := range partitions {
					f.setOffset(i, first+int64(i))
				}
				f.setCorrelation(int32(first))
				var r kmsg.FetchRequest
				if id := decodeRequest(t, f.frame, &r); id != int32(first) {
					t.Fatalf("it is request %d", id)
				}
				if r.Version != version || r.ReplicaID != -1 || r.MaxWaitMillis != 250 || r.MinBytes != 77 || r.MaxBytes != 12345 || version >= 7 && r.SessionEpoch != -1 {
					t.Fatalf("version %d: %+v", version, r)
				}
				i := 0
				for _, topic := range r.Topics {
					for _, p := range topic.Partitions {
						if topic.Topic != partitions[i].Topic || p.Partition != partitions[i].Index || p.FetchOffset != first+int64(i) || p.PartitionMaxBytes != 12345 {
							t.Fatalf("version %d, part %d: topic %q, %+v", version, i, topic.Topic, p)
						}
						i++
					}
				}
				if i != n {
					t.Fatalf("version %d: it asks for %d partitions, not %d", version, i, n)
				}
			}
		}
	}
}

func TestProduceRequestsCarryTheirBatch(t *testing.T) {
	for version := oldestVersions.produce; version <= newestVersions.produce; version++ {
		for _, acks := range []string{"all", "1", "0"} {
			s := specOf(t, workload.Produce, "acks", acks, "record_size", "100", "batch_bytes", "1000")
			head := produceHead(&load.Partition{Topic: "t", Index: 300}, s, version)
			for i, p := range newPatterns(s, 0, false) {
				announce(head, int32(i), len(p.batch))
				var r kmsg.ProduceRequest
				if id := decodeRequest(t, slices.Concat(head, p.batch), &r); id != int32(i) {
					t.Fatalf("it is request %d, not %d", id, i)
				}
				if r.Version != version || r.Acks != int16(s.Acks) || r.TransactionID != nil || len(r.Topics) != 1 || r.Topics[0].Topic != "t" || len(r.Topics[0].Partitions) != 1 {
					t.Fatalf("version %d: %+v", version, r)
				}
				if one := r.Topics[0].Partitions[0]; one.Partition != 300 || !slices.Equal(one.Records, p.batch) {
					t.Fatalf("version %d: partition %d with %d bytes, not %d", version, one.Partition, len(one.Records), len(p.batch))
				}
			}
		}
	}
}

func TestOtherRequests(t *testing.T) {
	var hello kmsg.ApiVersionsRequest
	decodeRequest(t, helloRequest(), &hello)
	for version := oldestVersions.metadata; version <= newestVersions.metadata; version++ {
		var r kmsg.MetadataRequest
		decodeRequest(t, metadataRequest([]load.Partition{{Topic: "a"}, {Topic: "b"}, {Topic: "a", Index: 1}}, version), &r)
		if len(r.Topics) != 2 || *r.Topics[0].Topic != "a" || *r.Topics[1].Topic != "b" || version >= 4 && r.AllowAutoTopicCreation {
			t.Errorf("version %d: %+v", version, r)
		}
		// Of nothing is nothing, and not everything.
		r = kmsg.MetadataRequest{}
		decodeRequest(t, metadataRequest(nil, version), &r)
		if r.Topics == nil {
			t.Errorf("version %d asks for all topics", version)
		}
	}
}

// answerOf is an answer as it comes from the wire, without its size.
func answerOf(correlation int32, version int16, r kmsg.Response) []byte {
	r.SetVersion(version)
	return r.AppendTo(binary.BigEndian.AppendUint32(nil, uint32(correlation)))
}

// fetchAnswer has all that can be in an answer to a fetch.
func fetchAnswer(code int16) *kmsg.FetchResponse {
	r := kmsg.NewPtrFetchResponse()
	r.ThrottleMillis, r.ErrorCode, r.SessionID = 5, code, 99
	part := func(index int32, change func(*kmsg.FetchResponseTopicPartition)) kmsg.FetchResponseTopicPartition {
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.HighWatermark, p.LastStableOffset, p.LogStartOffset, p.PreferredReadReplica = index, int64(index)+100, 3, 4, 5
		change(&p)
		return p
	}
	for _, name := range []string{"a", "long-" + strings.Repeat("x", 200)} {
		t := kmsg.NewFetchResponseTopic()
		t.Topic = name
		t.Partitions = append(t.Partitions,
			part(7, func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = []byte("some records") }),
			part(1, func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches = nil }),
			part(2, func(p *kmsg.FetchResponseTopicPartition) { p.ErrorCode, p.RecordBatches = 1, []byte{} }),
			part(3, func(p *kmsg.FetchResponseTopicPartition) {
				for range 3 {
					p.AbortedTransactions = append(p.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: 1, FirstOffset: 2})
				}
				p.RecordBatches = []byte("records of transactions")
			}))
		r.Topics = append(r.Topics, t)
	}
	empty := kmsg.NewFetchResponseTopic()
	empty.Topic = "empty"
	r.Topics = append(r.Topics, empty)
	return r
}

// seen is what readFetch has found, in words.
func seen(answer []byte, version int16) (parts []string, code int16, err error) {
	code, err = readFetch(answer, version, func(i int, f fetched) error {
		parts = append(parts, fmt.Sprintf("%d: %s/%d code %d to %d: %q", i, f.topic, f.partition, f.code, f.end, f.records))
		return nil
	})
	return parts, code, err
}

func TestAnswersToFetchesAreRead(t *testing.T) {
	for version := oldestVersions.fetch; version <= newestVersions.fetch; version++ {
		r := fetchAnswer(70)
		got, code, err := seen(answerOf(1, version, r), version)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if version >= 7 && code != 70 || version < 7 && code != 0 {
			t.Errorf("version %d: code %d", version, code)
		}
		var want []string
		for _, topic := range r.Topics {
			for _, p := range topic.Partitions {
				want = append(want, fmt.Sprintf("%d: %s/%d code %d to %d: %q", len(want), topic.Topic, p.Partition, p.ErrorCode, p.HighWatermark, p.RecordBatches))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("version %d: %q, want %q", version, got, want)
		}
	}
}

func TestTruncatedAnswersAreErrors(t *testing.T) {
	for version := oldestVersions.fetch; version <= newestVersions.fetch; version++ {
		r := fetchAnswer(0)
		r.Topics = r.Topics[:2] // behind the last byte nothing is missing
		whole := answerOf(1, version, r)
		for n := range whole {
			if _, _, err := seen(whole[:n], version); err == nil {
				t.Fatalf("version %d: %d of %d bytes are an answer", version, n, len(whole))
			}
		}
	}
}

func TestReadFetchStopsWhereItIsTold(t *testing.T) {
	stop := errors.New("enough")
	calls := 0
	_, err := readFetch(answerOf(1, 11, fetchAnswer(0)), 11, func(i int, _ fetched) error {
		if calls++; i == 2 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func FuzzReadFetch(f *testing.F) {
	for version := oldestVersions.fetch; version <= newestVersions.fetch; version++ {
		whole := answerOf(1, version, fetchAnswer(0))
		f.Add(whole, version)
		f.Add(whole[:len(whole)/2], version)
	}
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0}, int16(4))
	f.Fuzz(func(t *testing.T, answer []byte, version int16) {
		version = oldestVersions.fetch + (version&0x7fff)%(newestVersions.fetch-oldestVersions.fetch+1)
		bytes, last := 0, -1
		_, _ = readFetch(answer, version, func(i int, f fetched) error {
			if i != last+1 {
				t.Fatalf("part %d came behind part %d", i, last)
			}
			last = i
			bytes += len(f.records) + len(f.topic)
			return nil
		})
		if last >= len(answer) {
			t.Fatalf("%d bytes have %d partitions", len(answer), last+1)
		}
	})
}

func TestAnswersToProducesAreRead(t *testing.T) {
	for version := oldestVersions.produce; version <= newestVersions.produce; version++ {
		r := kmsg.NewPtrProduceResponse()
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic = "orders"
		one := kmsg.NewProduceResponseTopicPartition()
		one.Partition, one.ErrorCode, one.BaseOffset = 12, 6, 1<<40
		one.ErrorMessage = kmsg.StringPtr("somebody else leads it")
		topic.Partitions = append(topic.Partitions, one)
		r.Topics = append(r.Topics, topic)
		answer := answerOf(3, version, r)
		code, offset, err := produced(answer, "orders")
		if err != nil || code != 6 || offset != 1<<40 || errorName(code) != "NOT_LEADER_FOR_PARTITION" {
			t.Errorf("version %d: code %d, offset %d, %v", version, code, offset, err)
		}
		for n := range 4 + 4 + 2 + len("orders") + 4 + 4 + 2 + 8 {
			if _, _, err := produced(answer[:n], "orders"); err == nil {
				t.Errorf("version %d: %d bytes are an answer", version, n)
			}
		}
		if _, _, err := produced(answer, "parcel"); err == nil {
			t.Errorf("version %d: an answer about another topic was taken", version)
		}
		r.Topics = nil
		if _, _, err := produced(append(answerOf(3, version, r), make([]byte, 100)...), "orders"); err == nil {
			t.Errorf("version %d: an answer about nothing was taken", version)
		}
	}
	if name := errorName(12345); name != "ERROR_12345" && !strings.Contains(name, "UNKNOWN") {
		t.Errorf("a code that nobody knows is called %q", name)
	}
}

func TestVersionsAreThoseThatBothKnow(t *testing.T) {
	broker := func(produceLow, produceHigh, fetchLow, fetchHigh int16) func(int16) (int16, int16, bool) {
		return func(key int16) (int16, int16, bool) {
			switch key {
			case 0:
				return produceLow, produceHigh, true
			case 1:
				return fetchLow, fetchHigh, true
			}
			return 0, 12, true
		}
	}
	for _, c := range []struct {
		brokers []func(int16) (int16, int16, bool)
		want    versions
		says    string
	}{
		{[]func(int16) (int16, int16, bool){broker(0, 99, 0, 99)}, newestVersions, ""},
		{[]func(int16) (int16, int16, bool){broker(0, 7, 0, 10), broker(3, 99, 4, 5)}, versions{7, 5, 7}, ""},
		{[]func(int16) (int16, int16, bool){broker(0, 3, 0, 4)}, versions{3, 4, 7}, ""},
		{[]func(int16) (int16, int16, bool){broker(0, 2, 0, 99)}, versions{}, "versions 0 to 2 of Produce; engine replay speaks 3 to 8"},
		{[]func(int16) (int16, int16, bool){broker(0, 9, 12, 17)}, versions{}, "versions 12 to 17 of Fetch; engine replay speaks 4 to 11"},
		{[]func(int16) (int16, int16, bool){func(key int16) (int16, int16, bool) { return 0, 9, key != 1 }}, versions{}, "does not know Fetch"},
	} {
		v := newestVersions
		var err error
		for _, b := range c.brokers {
			if err = v.limit(b); err != nil {
				break
			}
		}
		switch {
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("got %v, want %q", err, c.says)
		case c.says == "" && (err != nil || v != c.want):
			t.Errorf("%+v, %v; want %+v", v, err, c.want)
		}
	}
}
