package peer

import (
	"encoding/binary"
	"errors"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestBatchesRoundTripInEveryCodec(t *testing.T) {
	for codec := int8(0); codec <= 4; codec++ {
		b := NewBatch(1000, Record{Key: []byte("k"), Value: []byte("v"), Delta: 5, Headers: []Header{{"h", []byte("1")}, {"n", nil}}}, Record{Delta: 2})
		b.Codec, b.ProducerID, b.ProducerEpoch, b.Sequence = codec, 7, 1, 3
		two := append(b.Encode(), b.Encode()...)
		got, rest := Parse(append(two, two[:20]...))
		if len(got) != 2 || rest != 20 {
			t.Fatalf("codec %d: %d batches, %d bytes left", codec, len(got), rest)
		}
		s := got[1]
		if !s.ChecksumOK || s.Err != nil || s.Codec() != codec || s.Count != 2 || s.LastOffsetDelta != 1 || s.MaxTimestamp != 1005 || s.ProducerID != 7 || s.Sequence != 3 {
			t.Fatalf("codec %d: %+v", codec, s)
		}
		r := s.Records
		if string(r[0].Key) != "k" || string(r[0].Value) != "v" || r[0].Delta != 5 || len(r[0].Headers) != 2 || r[0].Headers[1].Value != nil || r[1].Key != nil || r[1].Value != nil {
			t.Fatalf("codec %d: %+v", codec, r)
		}
	}
}

func TestEditsKeepTheChecksumAndLiesBreakIt(t *testing.T) {
	b := NewBatch(0, Values("a")...)
	b.Edit = append(b.Edit, Put(57, 4, 9))
	if s, _ := Parse(b.Encode()); !s[0].ChecksumOK || s[0].Count != 9 || s[0].Err == nil {
		t.Fatalf("%+v", s[0])
	}
	b = NewBatch(0, Values("a")...)
	b.Lie = append(b.Lie, Put(35, 8, 1))
	if s, _ := Parse(b.Encode()); s[0].ChecksumOK || s[0].MaxTimestamp != 1 {
		t.Fatalf("%+v", s[0])
	}
}

func TestDecodeTakesNoByteTooMany(t *testing.T) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.SetVersion(1)
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.SetVersion(1)
	resp.ClusterID = "c"
	answer := append(binary.BigEndian.AppendUint32(nil, 7), 0)
	answer = resp.AppendTo(answer)
	if got, err := Decode(req, 7, answer); err != nil || got.(*kmsg.DescribeClusterResponse).ClusterID != "c" {
		t.Fatalf("%v %v", got, err)
	}
	for name, bad := range map[string][]byte{
		"a byte too many": append(answer[:len(answer):len(answer)], 0),
		"a byte short":    answer[:len(answer)-1],
		"no body":         answer[:4],
		"nothing":         answer[:2],
	} {
		if _, err := Decode(req, 7, bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Decode(req, 8, answer); err == nil {
		t.Error("another correlation id: no error")
	}
}

func TestClosedConnectionIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	c, err := Dial(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Do(kmsg.NewPtrMetadataRequest()); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %v", err)
	}
	if _, err := c.WaitClosed(DefaultTimeout); err != nil {
		t.Fatal(err)
	}
}

func TestLZ4HeaderChecksumIsThatOfAnEncoder(t *testing.T) {
	frame := Compress(3, make([]byte, 1000))
	end := 6
	if frame[4]&8 != 0 { // the frame names its content size
		end += 8
	}
	if got := LZ4HeaderChecksum(frame[4:end]); got != frame[end] {
		t.Fatalf("got %#x, the encoder wrote %#x", got, frame[end])
	}
}

func TestGzipZerosIsSmall(t *testing.T) {
	b := GzipZeros([]byte("x"), 10_000_000)
	if len(b) > 20_000 {
		t.Fatalf("%d bytes", len(b))
	}
	plain, err := decompressor().Decompress(b, 1)
	if err != nil || len(plain) != 10_000_001 || plain[0] != 'x' {
		t.Fatalf("%d bytes, %v", len(plain), err)
	}
}
