package fetch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// stored is what is remembered of one batch. A gigabyte of batches is not kept.
type stored struct {
	base int64 // offset of the first record
	next int64 // offset behind the last record
	size int   // bytes
	hash uint64
}

// corpus is what was produced to one partition.
type corpus struct {
	topic   string
	seed    maphash.Seed
	batches []stored
	bytes   int64
}

func (c *corpus) end() int64 { return c.batches[len(c.batches)-1].next }

// at is the index of the batch that holds an offset.
func (c *corpus) at(offset int64) int {
	return sort.Search(len(c.batches), func(i int) bool { return c.batches[i].next > offset })
}

// hashOf covers a batch as a client gets it: all of it, but for the leader epoch,
// which is the broker's.
func (c *corpus) hashOf(b []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.Write(b[:12])
	h.Write(b[16:])
	return h.Sum64()
}

// check compares an answer's records with what was produced. It gives the offset
// behind them.
func (c *corpus) check(records []byte, offset int64, most int) (next int64, err error) {
	i := c.at(offset)
	if len(records) == 0 {
		return 0, fmt.Errorf("no records at offset %d of %d", offset, c.end())
	}
	if len(records) > max(most, c.batches[i].size) {
		return 0, fmt.Errorf("%d bytes at offset %d: at most %d were asked for, and the first batch has %d", len(records), offset, most, c.batches[i].size)
	}
	for len(records) > 0 {
		if i == len(c.batches) {
			return 0, fmt.Errorf("%d bytes behind the last batch", len(records))
		}
		want := c.batches[i]
		if len(records) < want.size {
			return 0, fmt.Errorf("batch at offset %d is cut: %d of %d bytes", want.base, len(records), want.size)
		}
		b := records[:want.size]
		if base := int64(binary.BigEndian.Uint64(b)); base != want.base {
			return 0, fmt.Errorf("a batch with base offset %d where that of %d was due", base, want.base)
		}
		if c.hashOf(b) != want.hash {
			return 0, fmt.Errorf("batch at offset %d (%d bytes) differs from what was produced", want.base, want.size)
		}
		records, next = records[want.size:], want.next
		i++
	}
	return next, nil
}

// fill produces about so many bytes to partition 0 of topic.
func fill(t testing.TB, addr, topic string, total int64, rng *rand.Rand) *corpus {
	t.Helper()
	c := &corpus{topic: topic, seed: maphash.MakeSeed()}
	conn := dial(t, addr)
	noise := make([]byte, 1<<20)
	for i := 0; i+8 <= len(noise); i += 8 {
		binary.LittleEndian.PutUint64(noise[i:], rng.Uint64())
	}
	const inFlight = 8
	waiting := 0
	var expected []int64
	receive := func() {
		answer, err := conn.Receive()
		if err != nil {
			t.Fatalf("producing: %v", err)
		}
		req := kmsg.NewPtrProduceRequest()
		req.SetVersion(produceVersion)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		resp.SetVersion(produceVersion)
		if err := resp.ReadFrom(answer[4:]); err != nil {
			t.Fatalf("producing: %v", err)
		}
		p := resp.Topics[0].Partitions[0]
		if p.ErrorCode != 0 || p.BaseOffset != expected[0] {
			t.Fatalf("producing: code %d at offset %d, want %d", p.ErrorCode, p.BaseOffset, expected[0])
		}
		expected = expected[1:]
		waiting--
	}
	next := int64(0)
	for c.bytes < total {
		batch := peer.NewBatch(0, someRecords(rng, noise)...).Encode()
		count := int64(binary.BigEndian.Uint32(batch[57:]))
		if waiting == inFlight {
			receive()
		}
		if err := conn.Send(conn.Frame(produceRequest(topic, batch))); err != nil {
			t.Fatalf("producing: %v", err)
		}
		waiting++
		expected = append(expected, next)
		binary.BigEndian.PutUint64(batch, uint64(next))
		c.batches = append(c.batches, stored{base: next, next: next + count, size: len(batch), hash: c.hashOf(batch)})
		c.bytes += int64(len(batch))
		next += count
	}
	for waiting > 0 {
		receive()
	}
	return c
}

// someRecords gives the records of a batch: mostly some kilobytes in all, at times
// a single byte, at times close to the largest batch that a topic takes.
func someRecords(rng *rand.Rand, noise []byte) []peer.Record {
	count, size := 1+rng.IntN(40), 1+rng.IntN(1500)
	switch rng.IntN(20) {
	case 0:
		count, size = 1, 1
	case 1:
		count, size = 1, 700_000+rng.IntN(300_000)
	case 2:
		count, size = 500, 200
	}
	values := make([]string, count)
	for i := range values {
		from := rng.IntN(len(noise) - size + 1)
		values[i] = string(noise[from : from+size])
	}
	return peer.Values(values...)
}

func TestCheckFindsEveryKindOfDamage(t *testing.T) {
	c := &corpus{seed: maphash.MakeSeed()}
	var all []byte
	for i := range 3 {
		b := peer.NewBatch(0, peer.Values("some", "values")...).Encode()
		binary.BigEndian.PutUint64(b, uint64(2*i))
		c.batches = append(c.batches, stored{base: int64(2 * i), next: int64(2*i + 2), size: len(b), hash: c.hashOf(b)})
		all = append(all, b...)
	}
	size := c.batches[0].size
	if next, err := c.check(all, 1, len(all)); err != nil || next != 6 {
		t.Fatalf("intact records: %d, %v", next, err)
	}
	flipped := bytes.Clone(all)
	flipped[size+70] ^= 1
	for what, records := range map[string][]byte{
		"nothing": nil, "cut": all[:len(all)-1], "swapped": append(bytes.Clone(all[size:]), all[:size]...),
		"flipped": flipped, "too much": append(bytes.Clone(all), all[:size]...), "a gap": append(bytes.Clone(all[:size]), all[2*size:]...),
	} {
		if _, err := c.check(records, 1, len(records)); err == nil {
			t.Errorf("%s was not found", what)
		}
	}
	if _, err := c.check(all, 0, len(all)-1); err == nil {
		t.Error("more than was asked for was not found")
	}
}
