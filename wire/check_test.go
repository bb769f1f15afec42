package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The table against kmsg: whatever kmsg writes is accepted and taken to the
// last byte, read back equal, and tolerates bytes behind it.
func TestCheckTakesWhatKmsgWrites(t *testing.T) {
	eachVersion(t, func(t *testing.T, r *rand.Rand, key, version int16) {
		for range 200 {
			req := randomRequest(r, key, version)
			body := req.AppendTo(nil)
			n, err := check(key, version, body)
			if err != nil {
				t.Fatalf("%x refused: %v", body, err)
			}
			if n != len(body) {
				t.Fatalf("%x: took %d of %d bytes", body, n, len(body))
			}
			got, err := Decode(key, version, append(body[:n:n], "trailing"...))
			if err != nil {
				t.Fatalf("with trailing bytes: %v", err)
			}
			if again := got.AppendTo(nil); !bytes.Equal(again, body) {
				t.Fatalf("decoded to another request:\n%x\n%x", body, again)
			}
		}
	})
}

// TestTableMatchesKmsg compares versions: kmsg flexibility must be ours.
func TestTableMatchesKmsg(t *testing.T) {
	for _, key := range servedKeys() {
		req := kmsg.RequestForKey(key)
		for v := range req.MaxVersion() + 1 {
			req.SetVersion(v)
			if req.IsFlexible() != Flexible(key, v) {
				t.Errorf("%s version %d: kmsg says flexible %v", Name(key), v, req.IsFlexible())
			}
		}
		if _, last, _ := Versions(key); last > req.MaxVersion() {
			t.Errorf("%s: table goes to %d, kmsg to %d", Name(key), last, req.MaxVersion())
		}
	}
}

func TestCheckRefusesCutBodies(t *testing.T) {
	eachVersion(t, func(t *testing.T, r *rand.Rand, key, version int16) {
		for range 20 {
			body := randomRequest(r, key, version).AppendTo(nil)
			for n := range body {
				if err := Check(key, version, body[:n]); !errors.Is(err, ErrMalformed) {
					t.Fatalf("%d of %d bytes of %x: %v", n, len(body), body, err)
				}
				if _, err := Decode(key, version, body[:n:n]); err == nil {
					t.Fatalf("Decode of %d of %d bytes succeeded", n, len(body))
				}
			}
		}
	})
}

// Any bytes may be a count or a length. Each place in turn is made to promise
// very much; nothing may be allocated for it, by the guard or by kmsg behind it.
func TestDecodeAllocatesNothingForPromises(t *testing.T) {
	promises := [][]byte{
		{0x7f, 0xff, 0xff, 0xff}, {0x00, 0x0f, 0x42, 0x40}, {0x7f, 0xff},
		{0xff, 0xff, 0xff, 0xff, 0x0f}, {0xff, 0xff, 0xff, 0xff, 0x07}, {0xc1, 0x84, 0x3d},
	}
	eachVersion(t, func(t *testing.T, r *rand.Rand, key, version int16) {
		body := randomRequest(r, key, version).AppendTo(nil)
		var before, after runtime.MemStats
		calls := uint64(0)
		runtime.ReadMemStats(&before)
		for at := range body {
			for _, p := range promises {
				bad := bytes.Clone(body)
				copy(bad[at:], p)
				Decode(key, version, bad)
				calls++
			}
		}
		runtime.ReadMemStats(&after)
		// What the request itself takes, and the text of an error. One promise
		// believed would be some MB.
		limit := calls * uint64(4096+40*len(body))
		if got := after.TotalAlloc - before.TotalAlloc; got > limit {
			t.Errorf("%d bytes allocated by %d calls", got, calls)
		}
	})
}

func TestCheckAllocatesNothing(t *testing.T) {
	eachVersion(t, func(t *testing.T, r *rand.Rand, key, version int16) {
		body := randomRequest(r, key, version).AppendTo(nil)
		if n := testing.AllocsPerRun(10, func() { Check(key, version, body) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func uvarint(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func cat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Rows 11, 18, 19 and 21 to 24 of the catalogue of bad input, for the guard.
func TestCheckRefuses(t *testing.T) {
	metadata := func(version int16) (int16, int16) { return 3, version }
	flags := []byte{1, 0, 0, 0} // Metadata 9: three booleans, no tags
	for _, c := range []struct {
		name string
		key  func(int16) (int16, int16)
		v    int16
		body []byte
		want string
	}{
		{"array count 2^31-1", metadata, 1, []byte{0x7f, 0xff, 0xff, 0xff}, tooMany},
		{"array count above what is left", metadata, 1, []byte{0, 0, 0, 9, 0, 0}, badCount},
		{"array count -2", metadata, 1, []byte{0xff, 0xff, 0xff, 0xfe}, badLength},
		{"null array where none may be", metadata, 0, []byte{0xff, 0xff, 0xff, 0xff}, nullValue},
		{"compact count 2^32-2", metadata, 9, []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, tooMany},
		{"compact null string", metadata, 9, cat([]byte{2, 0, 0}, flags), nullValue},
		{"null string", metadata, 1, []byte{0, 0, 0, 1, 0xff, 0xff}, nullValue},
		{"string length -2", metadata, 1, []byte{0, 0, 0, 1, 0xff, 0xfe}, badLength},
		{"string longer than the rest", metadata, 1, []byte{0, 0, 0, 1, 0, 5, 'a'}, endsEarly},
		{"compact string of 32768 bytes", metadata, 9, cat([]byte{2}, uvarint(32769), make([]byte, 32768), []byte{0}, flags), longString},
		{"varint of six bytes", metadata, 9, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, badVarint},
		{"varint of 33 bits", metadata, 9, []byte{0xff, 0xff, 0xff, 0xff, 0x1f}, badVarint},
		{"varint that does not end", metadata, 9, []byte{0xff, 0xff}, endsEarly},
		{"tag count 2^31", metadata, 9, cat([]byte{1, 1, 0, 0}, uvarint(1<<31)), tooManyTags},
		{"tag count above what is left", metadata, 9, []byte{1, 1, 0, 0, 3, 1, 0}, badCount},
		{"tag longer than the rest", metadata, 9, []byte{1, 1, 0, 0, 1, 5, 9, 'x'}, endsEarly},
		{"tag twice", metadata, 9, []byte{1, 1, 0, 0, 2, 5, 0, 5, 0}, unsorted},
		{"tags out of order", metadata, 9, []byte{1, 1, 0, 0, 2, 5, 0, 4, 0}, unsorted},
	} {
		key, version := c.key(c.v)
		err := Check(key, version, c.body)
		if !errors.Is(err, ErrMalformed) || !bytes.Contains([]byte(err.Error()), []byte(c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if err := Check(3, 9, cat([]byte{2}, uvarint(32768), make([]byte, 32767), []byte{0}, flags)); err != nil {
		t.Errorf("a compact string of 32767 bytes: %v", err)
	}
	good := cat([]byte{1, 1, 0, 0, 2}, []byte{4, 2, 'a', 'b'}, []byte{5, 0}, []byte("trailing"))
	if err := Check(3, 9, good); err != nil {
		t.Errorf("two unknown tags in order: %v", err)
	}
}

func TestCheckRefusesTagsOfOtherVersions(t *testing.T) {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaState.ID = 3
	for version := int16(12); version <= 18; version++ {
		req.SetVersion(version)
		err := Check(1, version, req.AppendTo(nil))
		if (err == nil) != (version >= 15) {
			t.Errorf("replica state in version %d: %v", version, err)
		}
	}
	// A tag of the right version must have exactly the size it declares.
	req.SetVersion(15)
	body := req.AppendTo(nil)
	body = body[:len(body)-15] // tags: count, tag, size 13, id, epoch, tags
	if err := Check(1, 15, cat(body, []byte{1, 1, 14}, make([]byte, 14))); !errors.Is(err, ErrMalformed) {
		t.Errorf("replica state of 14 bytes: %v", err)
	}
}

// A million arrays of a million: bounded by the bytes, at once.
func TestCheckBoundsNestedArrays(t *testing.T) {
	body := []byte{0x00, 0x0f, 0x42, 0x40} // CreateTopics 2: 10^6 topics
	for range 30 {
		body = append(body, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x0f, 0x42, 0x40)
	}
	if err := Check(19, 2, body); !errors.Is(err, ErrMalformed) {
		t.Errorf("nested promises: %v", err)
	}
	// Counts that are kept, in more elements than a real request has.
	var many []byte
	topics := 3
	many = binary.BigEndian.AppendUint32(many, uint32(topics))
	for range topics {
		many = append(many, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		many = binary.BigEndian.AppendUint32(many, 900_000) // configs of 4 bytes
		many = append(many, make([]byte, 4*900_000)...)
	}
	many = append(many, 0, 0, 0, 0, 0)
	if err := Check(19, 2, many); !errors.Is(err, ErrMalformed) {
		t.Errorf("2.7 million configs: %v", err)
	}
	// Integers are elements too: many answers have a struct for each.
	partitions := func(n int) []byte {
		req := kmsg.NewPtrDescribeProducersRequest()
		rt := kmsg.NewDescribeProducersRequestTopic()
		rt.Partitions = make([]int32, n)
		req.Topics = append(req.Topics, rt)
		return req.AppendTo(nil)
	}
	if err := Check(61, 0, partitions(maxElements-1)); err != nil {
		t.Errorf("%d partitions: %v", maxElements-1, err)
	}
	if err := Check(61, 0, partitions(maxElements)); !errors.Is(err, ErrMalformed) {
		t.Errorf("%d partitions: %v", maxElements, err)
	}
	produce := func(n int) []byte {
		req := kmsg.NewPtrProduceRequest()
		req.SetVersion(9)
		rt := kmsg.NewProduceRequestTopic()
		rt.Partitions = make([]kmsg.ProduceRequestTopicPartition, n)
		req.Topics = append(req.Topics, rt)
		return req.AppendTo(nil)
	}
	var head ProduceHead
	if err := WalkProduce(9, produce(maxElements-1), &head, nil); err != nil {
		t.Errorf("produce to %d partitions: %v", maxElements-1, err)
	}
	if err := WalkProduce(9, produce(maxElements), &head, nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("produce to %d partitions: %v", maxElements, err)
	}
}

func TestDecodeAliasesBytesButNotStrings(t *testing.T) {
	req := kmsg.NewPtrProduceRequest()
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "topic"
	part := kmsg.NewProduceRequestTopicPartition()
	part.Records = []byte("records")
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	req.SetVersion(9)
	body := req.AppendTo(nil)
	got, err := Decode(0, 9, body)
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	p := got.(*kmsg.ProduceRequest)
	if p.Topics[0].Topic != "topic" {
		t.Errorf("topic is %q after the frame was reused", p.Topics[0].Topic)
	}
	if !reflect.DeepEqual(p.Topics[0].Partitions[0].Records, make([]byte, 7)) {
		t.Error("records were copied")
	}
}

func TestUnknownKeysAndVersions(t *testing.T) {
	if err := Check(4, 0, nil); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("key 4: %v", err)
	}
	for _, c := range [][2]int16{{0, 2}, {0, 14}, {1, 3}, {3, -1}, {3, 14}, {18, 6}} {
		if err := Check(c[0], c[1], nil); !errors.Is(err, ErrUnsupportedVersion) {
			t.Errorf("key %d version %d: %v", c[0], c[1], err)
		}
	}
	if _, err := Decode(1000, 0, nil); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("key 1000: %v", err)
	}
}

func BenchmarkCheckFetch(b *testing.B) {
	req := kmsg.NewPtrFetchRequest()
	topic := kmsg.NewFetchRequestTopic()
	topic.Partitions = append(topic.Partitions, kmsg.NewFetchRequestTopicPartition())
	req.Topics = append(req.Topics, topic)
	req.SetVersion(16)
	body := req.AppendTo(nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(1, 16, body); err != nil {
			b.Fatal(err)
		}
	}
}
