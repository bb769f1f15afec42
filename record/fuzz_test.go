package record

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// FuzzValidate gives the validator any bytes, under any rules. With fix, the
// checksum is made right first, so that the bytes behind it are reached. What
// is accepted must be readable to the end and valid again.
func FuzzValidate(f *testing.F) {
	files, err := filepath.Glob("testdata/*.batch")
	if err != nil {
		f.Fatal(err)
	}
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint16(i), true)
	}
	for codec := None; codec <= Zstd; codec++ {
		f.Add([]byte(twoRecords(codec)), uint16(codec)<<8, true)
	}
	f.Add([]byte(twoRecords(None)), uint16(0xfff), false)
	f.Fuzz(func(t *testing.T, records []byte, bits uint16, fix bool) {
		rules := defaultRules()
		rules.MaxMessageBytes = 1 << 20
		rules.Compacted = bits&1 != 0
		rules.LogAppendTime = bits&2 != 0
		if bits&4 != 0 {
			rules.TimestampBeforeMaxMs = 1000
		}
		rules.CompressionProducer = bits&8 == 0
		rules.Compression = Codec(bits >> 4 & 7)
		if !rules.Compression.Known() {
			rules.Compression = None
		}
		in := bytes.Clone(records)
		if fix && len(in) >= HeaderSize {
			b := Batch(in)
			if size := b.Size(); size >= HeaderSize && size <= len(in) {
				b[:size].sign()
			}
		}
		Heavy(in, rules)
		var v Validator
		res, err := v.Validate(in, rules, testNow, int16(bits>>7&15))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *Error", err)
			}
			return
		}
		b := res.Batch
		framed, err := First(b)
		if err != nil || len(framed) != len(b) || !b.ChecksumOK() {
			t.Fatalf("accepted %v: %v", b, err)
		}
		if len(b) > int(rules.MaxMessageBytes) || b.MaxTimestamp() != res.MaxTimestamp {
			t.Fatalf("accepted %v", b)
		}
		r, err := NewReader(b)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var n int64
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("accepted, but record %d: %v", n, err)
			}
			if rec.Offset != b.BaseOffset()+n || rules.Compacted && rec.Key == nil {
				t.Fatalf("accepted record %d: %+v", n, rec)
			}
			n++
		}
		if n != int64(b.Count()) {
			t.Fatalf("%d records of %d", n, b.Count())
		}
		if _, _, err := FindMaxTimestamp(b); err != nil {
			t.Fatal(err)
		}
		if rules.LogAppendTime {
			return // a client may not send such
		}
		kept := bytes.Clone(b)
		again, err := v.Validate(b, rules, testNow, 11)
		if err != nil || !bytes.Equal(again.Batch, kept) {
			t.Fatalf("not accepted again: %v", err)
		}
	})
}
