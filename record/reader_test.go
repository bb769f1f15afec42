package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// readAll reads a batch's records into memory of their own.
func readAll(t testing.TB, b Batch) []Record {
	t.Helper()
	r, err := NewReader(b)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []Record
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		rec.Key, rec.Value = bytes.Clone(rec.Key), bytes.Clone(rec.Value)
		var headers []Header
		for _, h := range rec.Headers {
			headers = append(headers, Header{h.Key, bytes.Clone(h.Value)})
		}
		rec.Headers = headers
		out = append(out, rec)
	}
}

func TestBuilderAndReaderRoundTrip(t *testing.T) {
	want := []Record{
		{Offset: 100, Timestamp: testNow},
		{Offset: 101, Timestamp: testNow - 5, Key: []byte{}, Value: []byte{}, Headers: []Header{{"", nil}, {"h", []byte{}}}},
		{Offset: 105, Timestamp: testNow + 5, Key: []byte("k"), Value: bytes.Repeat([]byte("v"), 300_000), Headers: []Header{{"h", []byte("x")}}},
		{Offset: 106, Timestamp: testNow, Value: []byte("last")},
	}
	for codec := None; codec <= Zstd; codec++ {
		b := NewBuilder()
		b.Codec, b.BaseOffset, b.LeaderEpoch = codec, 100, 9
		for _, r := range want {
			b.AddAt(int32(r.Offset-100), r.Timestamp, r.Key, r.Value, r.Headers...)
		}
		batch := b.Build()
		if got := readAll(t, batch); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read %v", codec, got)
		}
		if batch.BaseOffset() != 100 || batch.LastOffset() != 106 || batch.LeaderEpoch() != 9 || batch.Count() != 4 ||
			batch.MaxTimestamp() != testNow+5 || batch.BaseTimestamp() != testNow || !batch.ChecksumOK() || batch.Size() != len(batch) {
			t.Errorf("%s: %v", codec, batch)
		}
		b.LogAppendTime, b.AppendTimeMs = true, 77
		for _, r := range readAll(t, b.Build()) {
			if r.Timestamp != 77 {
				t.Errorf("%s: timestamp %d under LogAppendTime", codec, r.Timestamp)
			}
		}
	}
}

func TestReaderReportsDamage(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		b := NewBuilder()
		b.Codec = codec
		for i := range 200 {
			b.Add(testNow, nil, fmt.Append(nil, i))
		}
		batch := b.Build()
		cut := batch[:len(batch)-20]
		r, err := NewReader(cut)
		for err == nil {
			_, err = r.Next()
		}
		if err == io.EOF {
			t.Errorf("%s: a cut batch was read to its end", codec)
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v is no *Error", codec, err)
		}
	}
	if _, err := NewReader(make(Batch, HeaderSize-1)); !errors.Is(err, ErrIncomplete) {
		t.Errorf("half a header: %v", err)
	}
	if _, err := NewReader(change(twoRecords(None), setAttributes(7))); !errors.Is(err, ErrUnsupportedCodec) {
		t.Errorf("codec 7: %v", err)
	}
}

// Batches as real clients sent them: librdkafka 2 (kcat), the Java producer of
// 4.4, franz-go 1.22; 200 lines each, kcat's without the first few where it
// sent those in a batch of their own.
func TestCapturedBatches(t *testing.T) {
	files, err := filepath.Glob("testdata/*.batch")
	if err != nil || len(files) != 15 {
		t.Fatalf("%d captured batches, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".batch"), "-")
		codec, err := ParseCodec(name)
		if err != nil {
			t.Fatal(err)
		}
		var v Validator
		res, err := v.Validate(bytes.Clone(data), defaultRules(), Batch(data).MaxTimestamp(), 11)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if !bytes.Equal(res.Batch, data) {
			t.Errorf("%s: validation changed it", file)
		}
		if res.Batch.Codec() != codec {
			t.Errorf("%s: codec %s", file, res.Batch.Codec())
		}
		recs := readAll(t, res.Batch)
		for i, r := range recs {
			want := fmt.Sprintf("line %04d of the captured batch", 200-len(recs)+i)
			if string(r.Value) != want || r.Key != nil || r.Headers != nil || r.Offset != int64(i) || r.Timestamp < testNow {
				t.Errorf("%s: record %d is %+v", file, i, r)
				break
			}
		}
		if len(recs) < 190 {
			t.Errorf("%s: %d records", file, len(recs))
		}
	}
}
