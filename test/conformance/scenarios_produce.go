package conformance

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/test/peer"
)

// edited is a two-record batch with one change, made before the CRC is computed.
func (s *script) edited(edit func([]byte) []byte) peer.Batch {
	b := s.batch("one", "two")
	b.Edit = append(b.Edit, edit)
	return b
}

// idempotent is a batch of n records of a producer.
func (s *script) idempotent(producer int64, epoch int16, sequence int32, n int) peer.Batch {
	b := s.batch(strings.Split(strings.Repeat("v,", n-1)+"v", ",")...)
	b.ProducerID, b.ProducerEpoch, b.Sequence = producer, epoch, sequence
	return b
}

// wrongRecord is a change to the encoded records of a batch of two, made plain
// (bit 0 of codecs) or before compressing with gzip (bit 1).
type wrongRecord struct {
	name   string
	codecs int
	change func(b []byte) []byte
}

func (s *script) wrongRecords(list []wrongRecord) {
	records := peer.EncodeRecords(peer.Values("one", "two"))
	for _, c := range list {
		for codec := int8(0); codec <= 1; codec++ {
			if c.codecs&(1<<codec) == 0 {
				continue
			}
			b := s.batch("one", "two")
			b.Payload = c.change(append([]byte(nil), records...))
			if codec != 0 {
				b.Codec, b.Payload = codec, peer.Compress(codec, b.Payload)
			}
			s.step("%s, codec %d", c.name, codec).ask(s.one(b))
		}
	}
}

// producer returns a fresh producer id from the broker.
func (s *script) producer() int64 {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 60000, -1, -1
	return s.quiet(4, req).(*kmsg.InitProducerIDResponse).ProducerID
}

var produceScenarios = []scenario{
	{"batches one after another", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.step("acks=all").ask(s.one(s.batch("one", "two")))
		s.step("acks=1").ask(s.produce(1, part{"a", 0, s.batch("three").Encode()}))
		s.step("with key and headers").ask(s.one(peer.NewBatch(s.base, peer.Record{Key: []byte("k"), Value: []byte("v"), Headers: []peer.Header{{Key: "h", Value: []byte("x")}, {Key: "n"}}}, peer.Record{Key: []byte("k")})))
		s.stored("a", 0)
	}},
	{"several topics and partitions", 0, 0, func(s *script) {
		s.topic("a", 2)
		s.topic("b", 1)
		one := s.batch("x").Encode
		s.step("all exist").ask(s.produce(-1, part{"a", 0, one()}, part{"a", 1, one()}, part{"b", 0, one()}))
		s.step("one topic unknown").ask(s.produce(-1, part{"a", 0, one()}, part{"none", 0, one()}, part{"b", 0, one()}))
		s.step("one partition unknown").ask(s.produce(-1, part{"a", 0, one()}, part{"a", 2, one()}, part{"a", -1, one()}))
		s.step("one batch bad").ask(s.produce(-1, part{"a", 0, one()}, part{"a", 1, s.edited(peer.Put(57, 4, 9)).Encode()}))
		s.step("nothing").ask(s.produce(-1))
	}},
	{"the same partition twice", 0, 0, func(s *script) {
		s.topic("a", 2)
		one := s.batch("x").Encode()
		s.step("next to each other").ask(s.produce(-1, part{"a", 0, one}, part{"a", 0, one}))
		req := s.produce(-1, part{"a", 0, one}, part{"b", 0, one}, part{"a", 0, one})
		s.step("as two topic entries").ask(req)
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
	}},
	{"topic names that cannot be", 0, 12, func(s *script) {
		for _, n := range []string{"=", "=.", "=..", "=a/b", "=" + strings.Repeat("x", 250)} {
			s.step("%.8q", n).ask(s.produce(-1, part{n, 0, s.batch("x").Encode()}))
		}
	}},
	{"acks", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, acks := range []int16{2, -2, 100} {
			s.step("acks=%d", acks).ask(s.produce(acks, part{"a", 0, s.batch("x").Encode()}))
		}
		s.silent(s.produce(0, part{"a", 0, s.batch("one", "two").Encode()}))
		s.step("after acks=0").ask(s.one(s.batch("three")))
		s.silent(s.produce(0, part{"none", 0, s.batch("x").Encode()}))
		s.step("acks=0 to an unknown topic").ended()
		s.silent(s.produce(0, part{"a", 0, s.edited(peer.Put(57, 4, 9)).Encode()}))
		s.step("acks=0 with a bad batch").ended()
	}},
	{"bytes that are no batch", 0, 0, func(s *script) {
		s.topic("a", 1)
		good := s.batch("one", "two").Encode()
		for _, c := range []struct {
			name    string
			records []byte
		}{
			{"empty", []byte{}}, {"60 bytes", good[:60]}, {"header only", good[:61]}, {"a byte short", good[:len(good)-1]},
			{"a byte too many", append(good[:len(good):len(good)], 0)}, {"12 zero bytes behind", append(good[:len(good):len(good)], make([]byte, 12)...)},
			{"two batches", append(good[:len(good):len(good)], good...)}, {"4 bytes", good[:4]},
		} {
			s.step("%s", c.name).ask(s.produce(-1, part{"a", 0, c.records}))
		}
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
	}},
	{"header fields that are wrong", 0, 0, func(s *script) {
		s.topic("a", 1)
		for _, c := range []struct {
			name     string
			at, size int
			value    int64
		}{
			{"base offset 5", 0, 8, 5}, {"base offset -1", 0, 8, -1}, {"magic 0", 16, 1, 0}, {"magic 1", 16, 1, 1}, {"magic 3", 16, 1, 3}, {"magic -1", 16, 1, -1},
			{"last offset delta 0", 23, 4, 0}, {"last offset delta 2", 23, 4, 2}, {"last offset delta -1", 23, 4, -1}, {"last offset delta -2", 23, 4, -2},
			{"count 0", 57, 4, 0}, {"count 1", 57, 4, 1}, {"count 3", 57, 4, 3}, {"count -1", 57, 4, -1},
			{"leader epoch 7", 12, 4, 7}, {"batch length 0", 8, 4, 0}, {"batch length 48", 8, 4, 48}, {"batch length -1", 8, 4, -1}, {"batch length too long", 8, 4, 1000}, {"batch length 1 less", 8, 4, 70},
			{"unused attribute bits", 21, 2, 0x7f80}, {"delete horizon flag", 21, 2, 0x40},
		} {
			s.step("%s", c.name).ask(s.one(s.edited(peer.Put(c.at, c.size, c.value))))
		}
		lie := s.batch("one", "two")
		lie.Lie = append(lie.Lie, peer.Put(17, 4, 12345))
		s.step("CRC").ask(s.one(lie))
		lie = s.batch("one", "two")
		lie.Lie = append(lie.Lie, func(b []byte) []byte { b[len(b)-2] ^= 1; return b })
		s.step("a bit of a record").ask(s.one(lie))
		s.step("count and delta").ask(s.one(s.edited(func(b []byte) []byte { return peer.Put(57, 4, 3)(peer.Put(23, 4, 2)(b)) })))
		s.step("count and delta below zero").ask(s.one(s.edited(func(b []byte) []byte { return peer.Put(57, 4, 0)(peer.Put(23, 4, -1)(b)) })))
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
	}},
	{"records that are wrong", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.wrongRecords([]wrongRecord{
			{"a byte less", 3, func(b []byte) []byte { return b[:len(b)-1] }},
			{"a byte more", 3, func(b []byte) []byte { return append(b, 0) }},
			{"length too long", 1, func(b []byte) []byte { b[0] = 126; return b }},
			{"length -1", 3, func(b []byte) []byte { b[0] = 1; return b }},
			{"length 0", 1, func(b []byte) []byte { b[0] = 0; return b }},
			{"value too long", 3, func(b []byte) []byte { b[5] = 100; return b }},
			{"value length -2", 3, func(b []byte) []byte { b[5] = 3; return b }},
			{"headers beyond the end", 3, func(b []byte) []byte { b[9] = 8; return b }},
			{"header count -1", 3, func(b []byte) []byte { b[9] = 1; return b }},
			{"attributes", 3, func(b []byte) []byte { b[1] = 0x7f; return b }},
		})
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
	}},
	{"records that Kafka lets through", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.wrongRecords([]wrongRecord{
			{"length too long", 2, func(b []byte) []byte { b[0] = 126; return b }},
			{"length 0", 2, func(b []byte) []byte { b[0] = 0; return b }},
			{"offset delta", 3, func(b []byte) []byte { b[3] = 10; return b }},
			{"offset deltas fall", 3, func(b []byte) []byte { b[3] = 2; return b }},
		})
	}},
	{"codecs", 0, 0, func(s *script) {
		s.topic("a", 1)
		for codec := int8(0); codec <= 4; codec++ {
			b := s.batch("one", "two", strings.Repeat("three ", 50))
			b.Codec = codec
			s.step("codec %d", codec).ask(s.one(b))
		}
		for codec := int64(5); codec <= 7; codec++ {
			s.step("unknown codec %d", codec).ask(s.one(s.edited(peer.Put(21, 2, codec))))
		}
		for codec := int8(1); codec <= 4; codec++ {
			b := s.batch("one")
			b.Codec, b.Payload = codec, []byte("this is not what it says to be")
			s.step("codec %d with other bytes", codec).ask(s.one(b))
			b.Payload = []byte{}
			s.step("codec %d with no bytes", codec).ask(s.one(b))
			whole := peer.Compress(codec, peer.EncodeRecords(peer.Values("one", strings.Repeat("two", 100))))
			b = s.batch("one", "two")
			b.Codec, b.Payload = codec, whole[:len(whole)-6]
			s.step("codec %d cut", codec).ask(s.one(b))
		}
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
	}},
	{"codecs are kept", 11, 11, func(s *script) {
		s.topic("a", 1)
		for codec := int8(0); codec <= 4; codec++ {
			b := s.batch("one", "two")
			b.Codec = codec
			s.step("codec %d", codec).ask(s.one(b))
		}
		s.stored("a", 0)
	}},
	{"control and transactional batches", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.step("control bit").ask(s.one(s.edited(peer.Put(21, 2, 0x20))))
		b := s.idempotent(s.producer(), 0, 0, 1)
		b.Edit = append(b.Edit, peer.Put(21, 2, 0x10))
		s.step("transactional bit without an id").ask(s.one(b))
		b = s.idempotent(s.producer(), 0, 0, 1)
		b.Edit = append(b.Edit, peer.Put(21, 2, 0x30))
		s.step("both bits without an id").ask(s.one(b))
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
	}},
	{"timestamps", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.topic("b", 1, "message.timestamp.before.max.ms", "10000000", "message.timestamp.after.max.ms", "1000")
		const hour = 3_600_000
		for _, c := range []struct {
			name string
			by   int64
		}{{"two hours ahead", 3 * hour}, {"half an hour ahead", hour + hour/2}, {"three hours ago", -2 * hour}, {"now and earlier", 0}} {
			for _, topic := range []string{"a", "b"} {
				b := peer.NewBatch(s.base+c.by, peer.Values("one", "two")...)
				s.step("%s into %s", c.name, topic).ask(s.produce(-1, part{topic, 0, b.Encode()}))
			}
		}
		mixed := peer.NewBatch(s.base, peer.Record{Value: []byte("good")}, peer.Record{Value: []byte("late"), Delta: 9 * hour}, peer.Record{Value: []byte("good"), Delta: 1})
		s.step("one record of three").ask(s.one(mixed))
		s.step("no timestamp").ask(s.one(peer.NewBatch(-1, peer.Record{Value: []byte("x")})))
		s.step("timestamp -5").ask(s.one(peer.NewBatch(-5, peer.Record{Value: []byte("x")})))
		s.step("the largest").ask(s.one(peer.NewBatch(1<<63-1, peer.Record{Value: []byte("x")})))
		s.step("says LogAppendTime").ask(s.one(s.edited(peer.Put(21, 2, 8))))
	}},
	{"the largest timestamp in the header is wrong", 11, 11, func(s *script) {
		s.topic("a", 1)
		s.step("too small").ask(s.one(s.edited(func(b []byte) []byte { return peer.Put(35, 8, s.base)(b) })))
		s.step("too large").ask(s.one(s.edited(func(b []byte) []byte { return peer.Put(35, 8, s.base+500)(b) })))
		z := s.edited(func(b []byte) []byte { return peer.Put(35, 8, s.base+500)(b) })
		z.Codec = 1
		s.step("too large, gzip").ask(s.one(z))
		s.step("-1").ask(s.one(s.edited(peer.Put(35, 8, -1))))
		s.stored("a", 0)
	}},
	{"LogAppendTime", 0, 0, func(s *script) {
		s.topic("a", 1, "message.timestamp.type", "LogAppendTime")
		s.step("plain").ask(s.one(s.batch("one", "two")))
		z := s.batch("one", "two")
		z.Codec = 1
		s.step("gzip").ask(s.one(z))
		s.step("says LogAppendTime").ask(s.one(s.edited(peer.Put(21, 2, 8))))
		s.step("ten years ahead").ask(s.one(peer.NewBatch(s.base+315_360_000_000, peer.Values("x")...)))
		s.stored("a", 0)
	}},
	{"too large", 0, 0, func(s *script) {
		s.topic("a", 1, "max.message.bytes", "1000")
		s.step("too large").ask(s.one(s.batch(strings.Repeat("x", 1000))))
		s.step("as large as allowed").ask(s.one(s.batch(strings.Repeat("x", 1000-peer.HeaderSize-10))))
		s.step("a byte larger").ask(s.one(s.batch(strings.Repeat("x", 1000-peer.HeaderSize-9))))
		z := s.batch(strings.Repeat("x", 5000))
		z.Codec = 1
		s.step("small when compressed").ask(s.one(z))
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
	}},
	{"larger than a segment", 11, 11, func(s *script) {
		s.topic("a", 1, "max.message.bytes", "4000000", "segment.bytes", "1048576")
		s.step("larger").ask(s.one(s.batch(strings.Repeat("x", 2_000_000))))
		s.step("smaller").ask(s.one(s.batch("x")))
	}},
	{"compacted topic", 0, 0, func(s *script) {
		s.topic("a", 1, "cleanup.policy", "compact")
		s.step("no key").ask(s.one(s.batch("one", "two")))
		s.step("one without").ask(s.one(peer.NewBatch(s.base, peer.Record{Key: []byte("k"), Value: []byte("v")}, peer.Record{Value: []byte("v")})))
		s.step("keys and a tombstone").ask(s.one(peer.NewBatch(s.base, peer.Record{Key: []byte("k"), Value: []byte("v")}, peer.Record{Key: []byte("k")})))
		s.step("empty key").ask(s.one(peer.NewBatch(s.base, peer.Record{Key: []byte{}, Value: []byte("v")})))
		z := peer.NewBatch(s.base, peer.Record{Key: []byte("k"), Value: []byte("v")}, peer.Record{Value: []byte("v")})
		z.Codec = 3
		s.step("one without, lz4").ask(s.one(z))
	}},
	{"the topic names the codec", 11, 11, func(s *script) {
		for _, codec := range []string{"gzip", "snappy", "lz4", "zstd", "uncompressed"} {
			s.topic(codec, 1, "compression.type", codec)
			s.step("plain into %s", codec).ask(s.produce(-1, part{codec, 0, s.batch("one", "two").Encode()}))
			for z := int8(1); z <= 4; z++ {
				b := s.idempotent(7000+int64(z), 0, 0, 2)
				b.Codec = z
				s.step("codec %d into %s", z, codec).ask(s.produce(-1, part{codec, 0, b.Encode()}))
			}
			s.stored(codec, 0)
		}
	}},
	{"idempotent producer", 0, 0, func(s *script) {
		s.topic("a", 2)
		p := s.producer()
		put := func(name string, epoch int16, sequence int32, n int) {
			s.step("%s", name).ask(s.one(s.idempotent(p, epoch, sequence, n)))
		}
		put("first", 0, 0, 2)
		put("the same again", 0, 0, 2)
		put("next", 0, 2, 3)
		put("the one before again", 0, 0, 2)
		put("overlap", 0, 1, 2)
		put("a part of a duplicate", 0, 2, 2)
		put("gap", 0, 6, 1)
		for i := range int32(5) {
			put("more", 0, 5+i, 1)
		}
		put("the fifth from the end again", 0, 5, 1)
		put("the sixth from the end again", 0, 2, 3)
		put("higher epoch, sequence 3", 1, 3, 1)
		put("higher epoch, sequence 0", 1, 0, 2)
		put("old epoch", 0, 10, 1)
		put("higher epoch again", 1, 0, 2)
		put("higher epoch, next", 1, 2, 1)
		s.step("on another partition any sequence").ask(s.produce(-1, part{"a", 1, s.idempotent(p, 0, 77, 1).Encode()}))
		s.step("and the next").ask(s.produce(-1, part{"a", 1, s.idempotent(p, 0, 78, 1).Encode()}))
		s.step("and a gap").ask(s.produce(-1, part{"a", 1, s.idempotent(p, 0, 80, 1).Encode()}))
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
	}},
	{"idempotent producer, numbers at the edge", 0, 0, func(s *script) {
		s.topic("a", 1)
		const top = 1<<31 - 1
		put := func(name string, epoch int16, sequence int32, n int) {
			s.step("%s", name).ask(s.one(s.idempotent(900_000_001, epoch, sequence, n)))
		}
		put("near the top", 0, top-2, 2)
		put("over the top", 0, top, 3)
		put("over the top again", 0, top, 3)
		put("behind the top", 0, 2, 1)
		put("behind the top again", 0, 2, 1)
		put("gap", 0, 4, 1)
		s.step("no sequence").ask(s.one(s.idempotent(900_000_002, 0, -1, 1)))
		s.step("sequence -2").ask(s.one(s.idempotent(900_000_002, 0, -2, 1)))
		s.step("epoch -1").ask(s.one(s.idempotent(900_000_002, -1, 0, 1)))
		s.step("epoch -1, next").ask(s.one(s.idempotent(900_000_002, -1, 1, 1)))
		s.step("producer -2").ask(s.one(s.idempotent(-2, 0, 0, 1)))
		s.step("sequence without a producer").ask(s.one(s.idempotent(-1, -1, 5, 1)))
		s.step("producer 0").ask(s.one(s.idempotent(0, 0, 0, 1)))
		s.step("producer 0 again").ask(s.one(s.idempotent(0, 0, 0, 1)))
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
	}},
	{"idempotent producer, compressed and LogAppendTime", 11, 11, func(s *script) {
		s.topic("a", 1, "message.timestamp.type", "LogAppendTime")
		p := s.producer()
		for _, name := range []string{"first", "again"} {
			b := s.idempotent(p, 0, 0, 3)
			b.Codec = 4
			s.step("%s", name).ask(s.one(b))
		}
		s.stored("a", 0)
	}},
	{"what frames no batch, beside good ones", 0, 0, func(s *script) {
		s.topic("a", 2)
		one := s.batch("x").Encode()
		transactional := s.idempotent(900_000_003, 0, 0, 1)
		transactional.Edit = append(transactional.Edit, peer.Put(21, 2, 0x10))
		for _, c := range []struct {
			name string
			edit func([]byte) []byte
		}{
			{"magic 3", peer.Put(16, 1, 3)}, {"magic 0", peer.Put(16, 1, 0)}, {"length 13", peer.Put(8, 4, 13)}, {"length 14", peer.Put(8, 4, 14)},
			{"length 48", peer.Put(8, 4, 48)}, {"length too long", peer.Put(8, 4, 1000)}, {"transactional", peer.Put(21, 2, 0x10)},
		} {
			bad := s.edited(c.edit).Encode()
			s.step("%s first", c.name).ask(s.produce(-1, part{"a", 0, bad}, part{"a", 1, one}, part{"none", 0, one}))
			s.step("%s last", c.name).ask(s.produce(1, part{"a", 0, one}, part{"a", 1, bad}))
			s.step("%s, of an unknown topic", c.name).ask(s.produce(-1, part{"a", 0, one}, part{"none", 0, bad}))
			s.step("%s before a transactional one", c.name).ask(s.produce(-1, part{"a", 0, bad}, part{"a", 1, transactional.Encode()}))
			s.step("%s with acks=2", c.name).ask(s.produce(2, part{"a", 0, one}, part{"a", 1, bad}))
			s.silent(s.produce(0, part{"a", 0, one}, part{"a", 1, bad}))
			s.step("%s with acks=0", c.name).ended()
		}
		for p := range int32(2) {
			s.step("end").askAt(4, s.listOffsets("a", p, -1))
		}
	}},
	{"acks that cannot be, beside other errors", 0, 0, func(s *script) {
		s.topic("a", 4)
		one := s.batch("x").Encode()
		zstd := s.batch("x")
		zstd.Codec = 4
		s.ask(s.produce(2, part{"a", 0, one}, part{"a", 1, append(one[:len(one):len(one)], one...)}, part{"a", 2, zstd.Encode()}, part{"a", 3, one[:60]}, part{"a", 4, one}, part{"none", 0, one}))
		s.step("a wrong checksum is not looked at").ask(s.produce(2, part{"a", 0, s.edited(peer.Put(57, 4, 9)).Encode()}))
	}},
	{"idempotent producer without an epoch", 0, 0, func(s *script) {
		s.topic("a", 1)
		put := func(name string, epoch int16, sequence int32, n int) {
			s.step("%s", name).ask(s.one(s.idempotent(900_000_004, epoch, sequence, n)))
		}
		put("epoch -2, not known yet", -2, 0, 1)
		put("epoch -1", -1, 5, 2)
		put("epoch -1, a gap", -1, 50, 2)
		put("epoch -1, again", -1, 50, 2)
		put("epoch -1, back", -1, 0, 1)
		put("epoch -2", -2, 1, 1)
		put("epoch 0 from 7", 0, 7, 1)
		put("epoch 0, a gap", 0, 9, 1)
		put("epoch -1 after all", -1, 8, 1)
		s.step("end").askAt(4, s.listOffsets("a", 0, -1))
	}},
	{"idempotent producer, other records under the same numbers", 0, 0, func(s *script) {
		s.topic("a", 1)
		first := s.idempotent(900_000_005, 0, 0, 2)
		s.step("first").ask(s.one(first))
		first.Base += 77
		s.step("again, later").ask(s.one(first))
		first.Codec = 3
		s.step("again, compressed").ask(s.one(first))
		s.stored("a", 0)
	}},
	{"attributes without meaning, where the topic names the codec", 11, 11, func(s *script) {
		s.topic("a", 1, "compression.type", "gzip")
		for _, attributes := range []int64{0x40, 0x80, 0x7f00, 1, 0x7fc1} {
			s.step("%x", attributes).ask(s.one(peer.Batch{
				Base: s.base, Records: peer.Values("one"), Codec: int8(attributes & 7), ProducerID: -1, ProducerEpoch: -1, Sequence: -1,
				Edit: []func([]byte) []byte{peer.Put(21, 2, attributes)},
			}))
		}
		s.stored("a", 0)
	}},
	{"a topic that was deleted", 0, 0, func(s *script) {
		s.topic("a", 1)
		s.ask(s.one(s.batch("x")))
		s.delete("a")
		s.step("after").ask(s.one(s.batch("x")))
	}},
}
