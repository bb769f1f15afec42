package replay

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/bench/load"
	"ringmain/bench/workload"
)

// versions are those that requests are sent in: the newest ones without tags that
// the brokers know, whose layout is the simplest.
type versions struct{ produce, fetch, metadata int16 }

// Newest and oldest versions that this package writes and reads.
var (
	newestVersions = versions{produce: 8, fetch: 11, metadata: 7}
	oldestVersions = versions{produce: 3, fetch: 4, metadata: 1}
)

// limit lowers v to what brokers know, who say for each key the range they speak.
func (v *versions) limit(known func(key int16) (low, high int16, ok bool)) error {
	for _, k := range []struct {
		name   string
		key    int16
		at     *int16
		oldest int16
	}{
		{"Produce", 0, &v.produce, oldestVersions.produce},
		{"Fetch", 1, &v.fetch, oldestVersions.fetch},
		{"Metadata", 3, &v.metadata, oldestVersions.metadata},
	} {
		low, high, ok := known(k.key)
		if !ok {
			return fmt.Errorf("a broker does not know %s requests", k.name)
		}
		newest := *k.at
		if *k.at = min(newest, high); *k.at < max(low, k.oldest) {
			return fmt.Errorf("a broker speaks versions %d to %d of %s; engine replay speaks %d to %d: use engine franz", low, high, k.name, k.oldest, newest)
		}
	}
	return nil
}

// correlationAt is where a request's correlation id lies, behind its size, key and
// version.
const correlationAt = 8

const clientID = "ringmain-bench"

func encode(r kmsg.Request, version int16) []byte {
	r.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, r, 0)
}

// produceHead is all of a produce request before the batch, whose size it announces
// as 0; there is nothing behind the batch.
func produceHead(p *load.Partition, s *workload.Spec, version int16) []byte {
	r := kmsg.NewPtrProduceRequest()
	r.Acks, r.TimeoutMillis = int16(s.Acks), produceTimeoutMs
	t := kmsg.NewProduceRequestTopic()
	t.Topic = p.Topic
	one := kmsg.NewProduceRequestTopicPartition()
	one.Partition, one.Records = p.Index, []byte{}
	t.Partitions = append(t.Partitions, one)
	r.Topics = append(r.Topics, t)
	return encode(r, version)
}

// produceTimeoutMs is how long a leader may wait for its replicas.
const produceTimeoutMs = 30_000

// announce writes the size of the batch that follows, and which request this is.
func announce(head []byte, correlation int32, batch int) {
	binary.BigEndian.PutUint32(head, uint32(len(head)-4+batch))
	binary.BigEndian.PutUint32(head[correlationAt:], uint32(correlation))
	binary.BigEndian.PutUint32(head[len(head)-4:], uint32(batch))
}

// produced is what an answer to a produce request of one partition says.
func produced(answer []byte, topic string) (code int16, offset int64, err error) {
	// correlation, topics, name, partitions, partition, code, offset
	at := 4 + 4 + 2 + len(topic) + 4 + 4
	if len(answer) < at+10 {
		return 0, 0, fmt.Errorf("an answer to a produce request has %d bytes only", len(answer))
	}
	if one := answer[4:]; binary.BigEndian.Uint32(one) != 1 || string(one[6:6+len(topic)]) != topic || binary.BigEndian.Uint32(answer[at-8:]) != 1 {
		return 0, 0, fmt.Errorf("an answer to a produce request is not about one partition of topic %q", topic)
	}
	return int16(binary.BigEndian.Uint16(answer[at:])), int64(binary.BigEndian.Uint64(answer[at+2:])), nil
}

// fetchRequest asks for some partitions of one leader.
type fetchRequest struct {
	frame   []byte
	offsets []int // where the offset of each partition lies
}

// newFetchRequest encodes a request outside of any session. The positions of the
// offsets are those at which requests for different offsets differ.
func newFetchRequest(partitions []*load.Partition, s *workload.Spec, version int16) fetchRequest {
	build := func(offset int64) []byte {
		r := kmsg.NewPtrFetchRequest()
		r.MaxWaitMillis = int32(s.FetchMaxWait.Milliseconds())
		r.MinBytes, r.MaxBytes = int32(s.FetchMinBytes), int32(s.FetchMaxBytes)
		r.SessionEpoch = -1
		for _, p := range partitions {
			one := kmsg.NewFetchRequestTopicPartition()
			one.Partition, one.FetchOffset, one.PartitionMaxBytes = p.Index, offset, int32(s.FetchMaxBytes)
			if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != p.Topic {
				t := kmsg.NewFetchRequestTopic()
				t.Topic = p.Topic
				r.Topics = append(r.Topics, t)
			}
			t := &r.Topics[len(r.Topics)-1]
			t.Partitions = append(t.Partitions, one)
		}
		return encode(r, version)
	}
	f := fetchRequest{frame: build(0)}
	ones := build(-1) // every byte of an offset differs
	for i := 0; i < len(ones); i++ {
		if ones[i] != f.frame[i] {
			f.offsets = append(f.offsets, i)
			i += 7
		}
	}
	return f
}

func (f *fetchRequest) setOffset(i int, offset int64) {
	binary.BigEndian.PutUint64(f.frame[f.offsets[i]:], uint64(offset))
}

func (f *fetchRequest) setCorrelation(id int32) {
	binary.BigEndian.PutUint32(f.frame[correlationAt:], uint32(id))
}

// fetched is one partition in an answer to a fetch.
type fetched struct {
	topic     []byte
	partition int32
	code      int16
	end       int64 // high watermark
	records   []byte
}

// readFetch reads an answer and calls each for its partitions, i counting them. The
// code of the whole answer is 0 or an error of the request.
func readFetch(answer []byte, version int16, each func(i int, f fetched) error) (code int16, err error) {
	a := answerReader{b: answer}
	a.skip(4 + 4) // correlation, throttle
	if version >= 7 {
		code = a.int16()
		a.skip(4) // session
	}
	i := 0
	for topics := a.int32(); topics > 0 && !a.short; topics-- {
		topic := a.skip(int(a.int16()))
		for partitions := a.int32(); partitions > 0 && !a.short; partitions-- {
			f := fetched{topic: topic, partition: a.int32(), code: a.int16(), end: a.int64()}
			a.skip(8) // last stable offset
			if version >= 5 {
				a.skip(8) // log start offset
			}
			if aborted := a.int32(); aborted > 0 {
				a.skip(16 * int(aborted))
			}
			if version >= 11 {
				a.skip(4) // preferred replica
			}
			f.records = a.skip(int(a.int32()))
			if a.short {
				break
			}
			if err := each(i, f); err != nil {
				return code, err
			}
			i++
		}
	}
	if a.short {
		return code, fmt.Errorf("an answer to a fetch of %d bytes ends early", len(answer))
	}
	return code, nil
}

// answerReader reads fields one after the other; what is not there is 0, and short
// is set.
type answerReader struct {
	b     []byte
	short bool
}

func (a *answerReader) skip(n int) []byte {
	n = max(n, 0) // a null string or null records
	if n > len(a.b) {
		a.short, a.b = true, nil
		return nil
	}
	taken := a.b[:n:n]
	a.b = a.b[n:]
	return taken
}

func (a *answerReader) int16() int16 {
	if b := a.skip(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (a *answerReader) int32() int32 {
	if b := a.skip(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (a *answerReader) int64() int64 {
	if b := a.skip(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// helloRequest asks which versions a broker speaks, the first thing that any client
// says.
func helloRequest() []byte { return encode(kmsg.NewPtrApiVersionsRequest(), 0) }

// metadataRequest asks who leads the topics of the load.
func metadataRequest(partitions []load.Partition, version int16) []byte {
	r := kmsg.NewPtrMetadataRequest()
	r.Topics = []kmsg.MetadataRequestTopic{} // nil would be all
	var names []string
	for i := range partitions {
		if name := partitions[i].Topic; !slices.Contains(names, name) {
			names = append(names, name)
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(name)
			r.Topics = append(r.Topics, t)
		}
	}
	r.AllowAutoTopicCreation = false
	return encode(r, version)
}
