package badinput

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// Error codes of Kafka that the rows of Produce name.
const (
	corruptMessage         = 2
	messageTooLarge        = 10
	invalidRequiredAcks    = 21
	invalidTimestamp       = 32
	outOfOrderSequence     = 45
	invalidProducerEpoch   = 47
	txnIDNotAuthorized     = 53
	unsupportedCompression = 76
	invalidRecord          = 87
)

// edited is a batch of two records with one change under a right CRC.
func edited(edit func([]byte) []byte) peer.Batch {
	b := batch("one", "two")
	b.Edit = append(b.Edit, edit)
	return b
}

func TestRow27Acks(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("acks")
	for _, acks := range []int16{2, -2, 32767, -32768} {
		got := r.do(r.dial(), 9, produceReq(topic, acks, batch("x").Encode())).(*kmsg.ProduceResponse)
		r.code("acks", got.Topics[0].Partitions[0].ErrorCode, invalidRequiredAcks)
	}
	if end := r.end(topic); end != 0 {
		t.Errorf("%d records were stored", end)
	}
}

// acks=0 is never answered, and an error is told by closing.
func TestRow28NoAcks(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("acks0")
	c := r.dial()
	send := func(topic string, records []byte) {
		t.Helper()
		req := produceReq(topic, 0, records)
		req.SetVersion(9)
		if err := c.Send(c.Frame(req)); err != nil {
			t.Fatal(err)
		}
	}
	send(topic, batch("a").Encode())
	send(topic, batch("b").Encode())
	m := kmsg.NewPtrMetadataRequest()
	m.Topics = []kmsg.MetadataRequestTopic{}
	r.do(c, 9, m) // the next answer is to the next request
	for deadline := time.Now().Add(10 * time.Second); r.end(topic) != 2 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if end := r.end(topic); end != 2 {
		t.Errorf("%d of 2 records were stored", end)
	}
	for name, records := range map[string][]byte{"a bad CRC": edited(func(b []byte) []byte { return b }).Encode(), "no batch": {1, 2, 3}, "a control batch": edited(peer.Put(21, 2, 0x20)).Encode()} {
		if name == "a bad CRC" {
			records[17] ^= 1
		}
		send(topic, records)
		if n, err := c.WaitClosed(10 * time.Second); err != nil || n > 0 {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		c = r.dial()
	}
	send(topic+"-none", batch("a").Encode())
	if n, err := c.WaitClosed(10 * time.Second); err != nil || n > 0 {
		t.Errorf("unknown topic: %d bytes, %v", n, err)
	}
	if end := r.end(topic); end != 2 {
		t.Errorf("%d records are stored, want 2", end)
	}
}

// rejected produces each batch, wants the code, and wants nothing stored.
func (r *rig) rejected(topic string, batches map[string]peer.Batch, want ...int16) {
	r.Helper()
	before := r.end(topic)
	for name, b := range batches {
		code, _ := r.produce(topic, b)
		r.code(name, code, want...)
	}
	if end := r.end(topic); end != before {
		r.Errorf("%d records were stored", end-before)
	}
}

func TestRow29Checksum(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("crc")
	lie := func(f func([]byte) []byte) peer.Batch {
		b := batch("one", "two")
		b.Lie = append(b.Lie, f)
		return b
	}
	r.rejected(topic, map[string]peer.Batch{
		"CRC 0":             lie(peer.Put(17, 4, 0)),
		"a bit of a value":  lie(func(b []byte) []byte { b[len(b)-2] ^= 4; return b }),
		"a bit of the base": lie(func(b []byte) []byte { b[30] ^= 1; return b }),
	}, corruptMessage)
}

func TestRow30BatchLength(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("length")
	lengths := []int64{-1, -1 << 31, 0, 1, 48, 49, 60, 70, 1000}
	if !kafka { // Kafka answers -1
		lengths = append(lengths, 1<<31-1, 1<<31-12)
	}
	for _, n := range lengths {
		r.rejected(topic, map[string]peer.Batch{"batch length": edited(peer.Put(8, 4, n))}, corruptMessage, invalidRecord)
	}
	whole := batch("one", "two").Encode()
	for n := range len(whole) {
		code, _ := r.produceBytes(topic, whole[:n])
		r.code("batch cut", code, corruptMessage, invalidRecord)
	}
	if end := r.end(topic); end != 0 {
		t.Errorf("%d records were stored", end)
	}
}

func TestRow31Counts(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("counts")
	for _, n := range []int64{0, -1, 1, 3, 1_000_000, 1<<31 - 1, -1 << 31} {
		r.rejected(topic, map[string]peer.Batch{
			"count":             edited(peer.Put(57, 4, n)),
			"last offset delta": edited(peer.Put(23, 4, n-1)),
			"both":              edited(func(b []byte) []byte { return peer.Put(57, 4, n)(peer.Put(23, 4, n-1)(b)) }),
		}, invalidRecord)
	}
}

func TestRow32Magic(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("magic")
	for _, n := range []int64{0, 1} {
		r.rejected(topic, map[string]peer.Batch{"magic": edited(peer.Put(16, 1, n))}, invalidRecord)
	}
	for _, n := range []int64{3, 4, 127, -1, -128} {
		r.rejected(topic, map[string]peer.Batch{"magic": edited(peer.Put(16, 1, n))}, corruptMessage)
	}
}

// Kafka answers -1.
func TestRow33UnknownCodec(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("codec")
	want := int16(unsupportedCompression)
	if kafka {
		want = -1
	}
	for codec := int64(5); codec <= 7; codec++ {
		r.rejected(topic, map[string]peer.Batch{"codec": edited(peer.Put(21, 2, codec))}, want)
	}
}

func TestRow35TooLarge(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("large", "max.message.bytes", "10000")
	r.rejected(topic, map[string]peer.Batch{"10 MB": batch(strings.Repeat("x", 10<<20)), "a little": batch(strings.Repeat("x", 10000))}, messageTooLarge)
	standard, _ := r.create("standard")
	r.rejected(standard, map[string]peer.Batch{"above the default": batch(strings.Repeat("x", 1<<20+100))}, messageTooLarge)
}

func TestRow36ControlBatch(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("control")
	marker := peer.NewBatch(time.Now().UnixMilli(), peer.Record{Key: []byte{0, 0, 0, 1}, Value: []byte{0, 0, 0, 0, 0, 0}})
	marker.Edit = append(marker.Edit, peer.Put(21, 2, 0x20))
	r.rejected(topic, map[string]peer.Batch{"control bit": edited(peer.Put(21, 2, 0x20)), "a marker": marker}, invalidRecord)
}

// sequenced is a batch of n records of a producer.
func sequenced(id int64, epoch int16, sequence int32, n int) peer.Batch {
	b := batch(strings.Split(strings.Repeat("v,", n-1)+"v", ",")...)
	b.ProducerID, b.ProducerEpoch, b.Sequence = id, epoch, sequence
	return b
}

func TestRow37Producers(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("producers")
	txn := sequenced(77_001, 0, 0, 1)
	txn.Edit = append(txn.Edit, peer.Put(21, 2, 0x10))
	// One transactional batch without an id refuses the whole request.
	other, _ := r.create("beside")
	req := produceReq(topic, -1, txn.Encode())
	req.Topics = append(req.Topics, produceReq(other, -1, batch("x").Encode()).Topics...)
	for _, rt := range r.do(r.dial(), 9, req).(*kmsg.ProduceResponse).Topics {
		r.code("transactional bit", rt.Partitions[0].ErrorCode, txnIDNotAuthorized)
	}
	if a, b := r.end(topic), r.end(other); a != 0 || b != 0 {
		t.Errorf("%d and %d records were stored", a, b)
	}
	r.rejected(topic, map[string]peer.Batch{"sequence -1": sequenced(77_002, 0, -1, 1), "sequence -5": sequenced(77_002, 0, -5, 1)}, invalidRecord)
	first := r.produceOK(topic, sequenced(77_003, 4, 0, 3))
	for range 3 {
		if again := r.produceOK(topic, sequenced(77_003, 4, 0, 3)); again != first {
			t.Errorf("a repeat is at %d, the original at %d", again, first)
		}
	}
	r.rejected(topic, map[string]peer.Batch{"old epoch": sequenced(77_003, 3, 3, 1)}, invalidProducerEpoch)
	r.rejected(topic, map[string]peer.Batch{"gap": sequenced(77_003, 4, 4, 1), "overlap": sequenced(77_003, 4, 1, 3), "new epoch in the middle": sequenced(77_003, 5, 9, 1)}, outOfOrderSequence)
	if end := r.end(topic); end != 3 {
		t.Errorf("%d records are stored, want 3", end)
	}
}

func TestRow38Timestamps(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("times", "message.timestamp.before.max.ms", "3600000", "message.timestamp.after.max.ms", "60000")
	now := time.Now().UnixMilli()
	at := func(ts int64) peer.Batch { return peer.NewBatch(ts, peer.Values("x")...) }
	r.rejected(topic, map[string]peer.Batch{"too new": at(now + 600_000), "too old": at(now - 7_200_000), "the largest": at(1<<63 - 1), "zero": at(0), "below zero": at(-2)}, invalidTimestamp)
	r.produceOK(topic, at(-1)) // no timestamp
	r.produceOK(topic, at(now))
}

func TestRow39NoKey(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("compacted", "cleanup.policy", "compact")
	z := batch("one")
	z.Codec = 4
	r.rejected(topic, map[string]peer.Batch{"plain": batch("one"), "zstd": z}, invalidRecord)
}

func TestRow40TwoBatches(t *testing.T) {
	r := newRig(t)
	topic, _ := r.create("batches")
	one := batch("one").Encode()
	for name, records := range map[string][]byte{"two": append(one[:len(one):len(one)], one...), "none": {}} {
		code, _ := r.produceBytes(topic, records)
		r.code(name, code, invalidRecord)
	}
	if !kafka { // Kafka never answers
		code, _ := r.produceBytes(topic, nil)
		r.code("null", code, invalidRecord)
	}
	if end := r.end(topic); end != 0 {
		t.Errorf("%d records were stored", end)
	}
}

// bombs are small payloads that say they are, or become, gigabytes.
func bombs() map[string]peer.Batch {
	out := map[string]peer.Batch{}
	with := func(name string, codec int8, payload []byte) {
		b := batch("x")
		b.Codec, b.Payload = codec, payload
		out[name] = b
	}
	// One record whose value is 2,000,000,000 zeros.
	head := []byte{0, 0, 0, 1}
	const value = 2_000_000_000
	head = binary.AppendVarint(head, value)
	record := append(binary.AppendVarint(nil, int64(len(head)+value+1)), head...)

	// zstd: blocks of one byte repeated 131,072 times, four bytes each.
	zstd := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x58} // no content size; a window of 2 MiB
	block := func(last, kind, size uint32) []byte {
		h := last | kind<<1 | size<<3
		return []byte{byte(h), byte(h >> 8), byte(h >> 16)}
	}
	zstd = append(append(zstd, block(0, 0, uint32(len(record)))...), record...)
	for left := value + 1; left > 0; {
		n := min(left, 128<<10)
		last := uint32(0)
		if left -= n; left == 0 {
			last = 1
		}
		zstd = append(append(zstd, block(last, 1, uint32(n))...), 0)
	}
	with("zstd of 2 GB", 4, zstd)
	huge := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0xff}, zstd[6:]...)
	with("zstd with the largest window", 4, huge)
	sized := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)
	with("zstd that says 2^63 bytes", 4, append(sized, zstd[6:]...))

	// gzip at its best is a thousandfold: 500 MB in half a megabyte.
	const gz = 500_000_000
	ghead := binary.AppendVarint([]byte{0, 0, 0, 1}, gz)
	grecord := append(binary.AppendVarint(nil, int64(len(ghead)+gz+1)), ghead...)
	with("gzip of 500 MB", 1, peer.GzipZeros(grecord, gz+1))

	// lz4: a frame whose content size is a lie, and blocks that repeat.
	lz4 := []byte{0x04, 0x22, 0x4d, 0x18, 0x68, 0x70, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	lz4 = append(lz4, peer.LZ4HeaderChecksum(lz4[4:]))
	with("lz4 that says 2^63 bytes", 3, append(lz4, 0, 0, 0, 0))

	// snappy: the raw form begins with the length; xerial's with that of each block.
	raw := binary.AppendUvarint(nil, 1<<32-1)
	with("snappy that says 4 GB", 2, append(raw, 0xfe, 1, 0, 0xfe, 1, 0))
	xerial := append([]byte("\x82SNAPPY\x00"), 0, 0, 0, 1, 0, 0, 0, 1)
	with("xerial block of 2 GB", 2, binary.BigEndian.AppendUint32(xerial, 1<<31-1))
	inner := append(binary.AppendUvarint(nil, 1<<32-1), 0xfe, 1, 0)
	with("xerial block that says 4 GB", 2, append(binary.BigEndian.AppendUint32(xerial, uint32(len(inner))), inner...))

	// A bomb inside what looks like a record: decompressed once it is garbage.
	with("gzip in gzip", 1, peer.Compress(1, peer.GzipZeros(grecord, 1_000_000)))
	return out
}

func TestRow34DecompressionBombs(t *testing.T) {
	r := newRig(t)
	for _, config := range [][]string{nil, {"compression.type", "gzip"}} {
		topic, _ := r.create("bombs", config...)
		before := r.end(topic)
		for name, b := range bombs() {
			began := time.Now()
			code, _ := r.produce(topic, b)
			if kafka {
				t.Logf("%s: %d after %v", name, code, time.Since(began))
				continue
			}
			if name == "gzip of 500 MB" {
				// A record of many zeros is legal: whoever stores it must only do so
				// in bounded memory, which is checked at the end.
				r.code(name, code, 0, messageTooLarge, invalidRecord)
				before = r.end(topic)
				continue
			}
			r.code(name, code, messageTooLarge, invalidRecord, corruptMessage)
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("%s took %v", name, d)
			}
		}
		if end := r.end(topic); end != before && !kafka {
			t.Errorf("%d records were stored", end-before)
		}
	}
}
