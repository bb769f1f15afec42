package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// payload makes a batch of one record, whose compressed bytes are given.
func payload(codec Codec, compressed []byte) Batch {
	b := NewBuilder()
	b.Codec, b.count = codec, 1
	b.baseTimestamp, b.maxTimestamp = testNow, testNow
	return b.seal(append(make([]byte, HeaderSize), compressed...))
}

// zerosHead begins a record whose value is n zero bytes; n zero bytes and the
// header count, which is zero too, must follow.
func zerosHead(n int) []byte {
	fields := join([]byte{0, 0, 0}, varint(-1), varint(int64(n)))
	return join(varint(int64(len(fields)+n+1)), fields)
}

// zstdZeros is a zstd frame of head and n zero bytes, in about n/32768 bytes.
// window is log2 of the window that its header asks for.
func zstdZeros(head []byte, n int, window byte) []byte {
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (window - 10) << 3}
	block := func(size, kind, last int) {
		v := size<<3 | kind<<1 | last
		b = append(b, byte(v), byte(v>>8), byte(v>>16))
	}
	block(len(head), 0, 0)
	b = append(b, head...)
	for n > 0 {
		step := min(n, 128<<10)
		last := 0
		if n -= step; n == 0 {
			last = 1
		}
		block(step, 1, last) // one byte, repeated
		b = append(b, 0)
	}
	return b
}

func compressed(t testing.TB, codec Codec, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := newSink(codec, 1)
	if err != nil {
		t.Fatal(err)
	}
	w.Reset(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// allocated runs f and returns how many bytes it allocated in all, which bounds
// what it ever held.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Bombs and lies (row 34), and what looks like them and must pass. Everything
// runs in memory that has nothing to do with what was promised.
func TestDecompressionIsBounded(t *testing.T) {
	const mib = 1 << 20
	single := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0} // zstd, single segment: a content size of 8 bytes follows
	huge := binary.LittleEndian.AppendUint64(single, 1<<40)
	lie := binary.LittleEndian.AppendUint64(single, 100*mib)
	oneBlock := []byte{1, 0, 0} // last, raw, empty
	record := zerosHead(10)
	snappyOf := func(declared uint64, elements ...byte) []byte {
		return append(binary.AppendUvarint(nil, declared), elements...)
	}
	framed := func(size uint32, block []byte) []byte {
		head := append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
		return append(binary.BigEndian.AppendUint32(head, size), block...)
	}
	for _, c := range []struct {
		name  string
		batch Batch
		want  Kind // 0: accepted
		mem   uint64
	}{
		{"gzip, 200 MiB of zeros", payload(Gzip, compressed(t, Gzip, join(zerosHead(200*mib), make([]byte, 200*mib+1)))), 0, 2 * mib},
		{"lz4, 200 MiB of zeros", payload(LZ4, compressed(t, LZ4, join(zerosHead(200*mib), make([]byte, 200*mib+1)))), 0, 2 * mib},
		{"snappy framed, 50 MiB of zeros", payload(Snappy, compressed(t, Snappy, join(zerosHead(50*mib), make([]byte, 50*mib+1)))), 0, 2 * mib},
		{"snappy raw, 20 MiB of zeros", payload(Snappy, snappy.Encode(nil, join(zerosHead(20*mib), make([]byte, 20*mib+1)))), 0, 25 * mib},
		{"snappy raw, 70 MiB of zeros", payload(Snappy, snappy.Encode(nil, join(zerosHead(70*mib), make([]byte, 70*mib+1)))), ErrTooLarge, 2 * mib},
		{"zstd, 600 MiB of zeros", payload(Zstd, zstdZeros(zerosHead(600*mib), 600*mib+1, 21)), 0, 12 * mib},
		{"zstd, 10 GiB of zeros", payload(Zstd, zstdZeros(zerosHead(1<<31-100), 10<<30, 21)), ErrTooLarge, 12 * mib},
		{"zstd, window of 128 MiB, small", payload(Zstd, zstdZeros(zerosHead(mib), mib+1, 27)), 0, 8 * mib},
		{"zstd, window of 128 MiB, 20 MiB of zeros", payload(Zstd, zstdZeros(zerosHead(20*mib), 20*mib+1, 27)), 0, 80 * mib},
		{"zstd, window of 128 MiB, 600 MiB of zeros", payload(Zstd, zstdZeros(zerosHead(600*mib), 600*mib+1, 27)), ErrTooLarge, 128 * mib},
		{"zstd, window of 1 GiB", payload(Zstd, zstdZeros(zerosHead(10), 11, 30)), ErrInvalid, 12 * mib},
		{"zstd, window of 2 TiB", payload(Zstd, zstdZeros(zerosHead(10), 11, 41)), ErrInvalid, 12 * mib},
		{"zstd, second frame with window of 128 MiB", payload(Zstd, join(zstdZeros(nil, 5, 21), zstdZeros(zerosHead(10), 11, 27))), ErrInvalid, 12 * mib},
		{"zstd, declares 1 TiB", payload(Zstd, join(huge, oneBlock)), ErrTooLarge, mib},
		{"zstd, declares 100 MiB, has none", payload(Zstd, join(lie, oneBlock)), ErrTooLarge, mib},
		{"zstd, declares 20 MiB, has none", payload(Zstd, join(binary.LittleEndian.AppendUint64(single, 20*mib), oneBlock)), ErrInvalid, 80 * mib},
		{"snappy declares 4 GiB", payload(Snappy, snappyOf(1<<32-1, 0, 'x')), ErrInvalid, mib},
		{"snappy declares 2^40", payload(Snappy, snappyOf(1<<40, 0, 'x')), ErrInvalid, mib},
		{"snappy declares more than it has", payload(Snappy, snappyOf(30*mib, 0, 'x')), ErrInvalid, mib},
		{"snappy copies from offset 0, as S2 does", payload(Snappy, snappyOf(5, 0, 'x', 1, 0)), ErrInvalid, mib},
		{"snappy framed, block of 2 GiB", payload(Snappy, framed(1<<31, []byte("x"))), ErrInvalid, mib},
		{"snappy framed, empty blocks for ever", payload(Snappy, join(framed(1, []byte{0}), bytes.Repeat([]byte{0, 0, 0, 1, 0}, 1000))), ErrInvalid, mib},
		{"gzip cut", payload(Gzip, compressed(t, Gzip, record)[:15]), ErrInvalid, mib},
		{"nothing, as gzip", payload(Gzip, nil), ErrInvalid, mib},
		{"nothing, as snappy", payload(Snappy, nil), ErrInvalid, mib},
		{"nothing, as lz4", payload(LZ4, nil), ErrInvalid, mib},
		{"nothing, as zstd", payload(Zstd, nil), ErrInvalid, 12 * mib},
	} {
		rules := defaultRules()
		rules.MaxMessageBytes = 100 * mib
		var v Validator
		var err error
		mem := allocated(func() { _, err = v.Validate(c.batch, rules, testNow, 11) })
		if c.want == 0 && err != nil || c.want != 0 && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if mem > c.mem {
			t.Errorf("%s: %d KiB allocated, want at most %d", c.name, mem>>10, c.mem>>10)
		}
		// A validator is as good as new afterwards, and has not kept much.
		if _, err := v.Validate(twoRecords(batchCodec(c.batch)), rules, testNow, 11); err != nil {
			t.Errorf("after %s: %v", c.name, err)
		}
		if n := cap(v.dec.snappy.block) + cap(v.dec.lz4.block); n > 2*keepBlock {
			t.Errorf("after %s: %d bytes kept", c.name, n)
		}
	}
}

func batchCodec(b Batch) Codec { return b.Codec() }

// The highest levels of real encoders, which ask for the largest windows.
func TestZstdAtItsHighestLevel(t *testing.T) {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(128<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 9<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	data := join(rawRecord([]byte{0, 0, 0}, varint(-1), varint(int64(len(noise))), noise, varint(0)))
	w.Write(data)
	w.Close()
	rules := defaultRules()
	rules.MaxMessageBytes = 100 << 20
	var v Validator
	if _, err := v.Validate(payload(Zstd, out.Bytes()), rules, testNow, 11); err != nil {
		t.Error(err)
	}
}

// Frames as the lz4 library writes them, with all that is optional, and what
// Kafka's clients do not read.
func TestLZ4Frames(t *testing.T) {
	data := join(zerosHead(200_000), make([]byte, 200_001))
	write := func(opts ...lz4.Option) []byte {
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		if err := w.Apply(append(opts, lz4.ConcurrencyOption(1))...); err != nil {
			t.Fatal(err)
		}
		w.Write(data)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	all := write(lz4.BlockChecksumOption(true), lz4.ChecksumOption(true), lz4.SizeOption(uint64(len(data))), lz4.BlockSizeOption(lz4.Block64Kb))
	with := func(at int, bits byte) []byte {
		b := bytes.Clone(all)
		b[at] ^= bits
		b[14] = byte(xxh32Sum(b[4:14]) >> 8)
		return b
	}
	flip := func(at int) []byte {
		b := bytes.Clone(all)
		b[(at+len(b))%len(b)] ^= 1
		return b
	}
	for _, c := range []struct {
		name  string
		frame []byte
		ok    bool
	}{
		{"plain", write(lz4.ChecksumOption(false)), true},
		{"4 MiB blocks", write(lz4.BlockSizeOption(lz4.Block4Mb)), true},
		{"everything", all, true},
		{"our own", compressed(t, LZ4, data), true},
		{"header checksum wrong", flip(14), false},
		{"block checksum wrong", flip(30), false},
		{"content checksum wrong", flip(-1), false},
		{"content size too small", with(6, 1), false},
		{"content size 2^60", with(13, 0x10), false},
		{"dependent blocks", with(4, lz4Independent), false},
		{"dictionary", with(4, 1), false},
		{"reserved bit", with(4, 2), false},
		{"version 2", with(4, lz4VersionMask), false},
		{"block size 3", with(5, 0x70), false},
		{"reserved bits of the block descriptor", with(5, 1), false},
		{"cut in the header", all[:10], false},
		{"cut in a block", all[:40], false},
		{"no end mark", all[:len(all)-8], false},
		{"bytes behind", join(all, []byte("x")), false},
		{"two frames", join(all, all), false},
	} {
		var v Validator
		_, err := v.Validate(payload(LZ4, c.frame), defaultRules(), testNow, 11)
		if c.ok && err != nil || !c.ok && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestXXH32(t *testing.T) {
	// From the algorithm's description: sums of nothing and of known texts.
	for text, want := range map[string]uint32{
		"": 0x02cc5d05, "a": 0x550d7456, "abc": 0x32d153ff,
		"Nobody inspects the spammish repetition": 0xe2293b2f,
	} {
		if got := xxh32Sum([]byte(text)); got != want {
			t.Errorf("%q: %#x, want %#x", text, got, want)
		}
	}
	r := rand.New(rand.NewPCG(3, 3))
	data := make([]byte, 1000)
	for range 100 {
		var x xxh32
		x.reset()
		for rest := data; len(rest) > 0; {
			n := min(len(rest), r.IntN(50))
			x.write(rest[:n])
			rest = rest[n:]
		}
		if x.sum() != xxh32Sum(data) {
			t.Fatal("sum depends on the pieces")
		}
	}
}

// Our streams against the libraries' own readers.
func TestSinksWriteWhatOthersRead(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		data := make([]byte, r.IntN(300_000))
		for i := range data {
			data[i] = byte(r.IntN(1 + r.IntN(40)))
		}
		got, err := io.ReadAll(lz4.NewReader(bytes.NewReader(compressed(t, LZ4, data))))
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("lz4: %d of %d bytes, %v", len(got), len(data), err)
		}
		frame := compressed(t, Snappy, data)
		got = nil
		for frame = frame[xerialHeader:]; len(frame) > 0; {
			n := binary.BigEndian.Uint32(frame)
			block, err := snappy.Decode(nil, frame[4:4+n])
			if err != nil || len(block) > xerialBlock {
				t.Fatalf("snappy block of %d: %v", len(block), err)
			}
			got = append(got, block...)
			frame = frame[4+n:]
		}
		if !bytes.Equal(got, data) {
			t.Fatal("snappy: other bytes")
		}
	}
}
