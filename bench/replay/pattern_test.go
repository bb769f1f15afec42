package replay

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"ringmain/bench/audit"
	"ringmain/bench/workload"
	"ringmain/record"
)

// specOf is a workload with some settings of its own.
func specOf(t testing.TB, kind workload.Kind, settings ...string) *workload.Spec {
	t.Helper()
	s := workload.Defaults(kind)
	for i := 0; i < len(settings); i += 2 {
		if err := s.Set(settings[i], settings[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return &s
}

// eachRecord reads a batch with the broker's own reader.
func eachRecord(t testing.TB, b record.Batch, do func(record.Record)) {
	t.Helper()
	if whole, err := record.First(b); err != nil || len(whole) != len(b) {
		t.Fatalf("a pattern of %d bytes is no batch: %v", len(b), err)
	}
	if !b.ChecksumOK() {
		t.Fatal("the checksum is wrong")
	}
	r, err := record.NewReader(b)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for n := int32(0); ; n++ {
		rec, err := r.Next()
		if err == io.EOF && n == b.Count() {
			return
		}
		if err != nil {
			t.Fatalf("record %d of %d: %v", n, b.Count(), err)
		}
		do(rec)
	}
}

func TestPatternsAreAsTheWorkloadSays(t *testing.T) {
	for name, settings := range map[string][]string{
		"as they are by default":        nil,
		"one record each":               {"batch_bytes", "1", "record_size", "100"},
		"a record larger than a batch":  {"batch_bytes", "1000", "record_size", "5000"},
		"records without a byte":        {"batch_bytes", "2KiB", "record_size", "0"},
		"uniform sizes":                 {"record_size", "uniform:1:3000", "batch_bytes", "20000"},
		"normal sizes":                  {"record_size", "normal:500:200", "batch_bytes", "20000"},
		"listed sizes":                  {"record_size", "list:10=5,10000=1", "batch_bytes", "20000"},
		"short keys":                    {"keys", "uniform:1000", "key_size", "4", "record_size", "50", "batch_bytes", "4000"},
		"long keys":                     {"keys", "zipf:1000", "key_size", "200", "record_size", "50", "batch_bytes", "4000"},
		"gzip":                          {"codec", "gzip", "compressibility", "0.5"},
		"snappy":                        {"codec", "snappy", "compressibility", "0.5"},
		"lz4":                           {"codec", "lz4", "compressibility", "0.5"},
		"zstd":                          {"codec", "zstd", "level", "3", "compressibility", "0.5"},
		"so large that few are kept":    {"batch_bytes", "4MiB", "record_size", "100KiB"},
		"one byte more than it can be":  {"batch_bytes", "1099", "record_size", "1024"},
		"keys in records without bytes": {"keys", "uniform:10", "record_size", "0", "batch_bytes", "500"},
	} {
		t.Run(name, func(t *testing.T) {
			s := specOf(t, workload.Produce, settings...)
			patterns := newPatterns(s, 3, false)
			if len(patterns) == 0 || len(patterns) > maxPatterns {
				t.Fatalf("there are %d", len(patterns))
			}
			different := map[string]bool{}
			for _, p := range patterns {
				different[string(p.batch)] = true
				if p.batch.Count() < 1 {
					t.Fatal("a batch is empty")
				}
				if p.batch.Count() > 1 && len(p.batch) > s.BatchBytes {
					t.Errorf("%d records in %d bytes; a batch is to have %d", p.batch.Count(), len(p.batch), s.BatchBytes)
				}
				if s.Codec == "none" && len(p.batch)+s.Record.Max()+s.Key.Bytes+16 < s.BatchBytes {
					t.Errorf("a batch of %d bytes has room for more: it may have %d", len(p.batch), s.BatchBytes)
				}
				if p.batch.Codec().String() != s.Codec {
					t.Errorf("it is compressed with %v", p.batch.Codec())
				}
				if p.batch.ProducerID() != -1 || p.batch.BaseOffset() != 0 {
					t.Errorf("it is of producer %d, at offset %d", p.batch.ProducerID(), p.batch.BaseOffset())
				}
				eachRecord(t, p.batch, func(rec record.Record) {
					if n := len(rec.Value); n < s.Record.Min() || n > s.Record.Max() {
						t.Fatalf("a value of %d bytes", n)
					}
					if want := s.Key.Form != workload.NoKeys; want && len(rec.Key) != s.Key.Bytes || !want && rec.Key != nil {
						t.Fatalf("a key %q", rec.Key)
					}
				})
			}
			if s.Record.Max() > 8 && len(different) != len(patterns) {
				t.Errorf("of %d only %d are different", len(patterns), len(different))
			}
		})
	}
}

func TestOneSeedGivesOneSetOfPatterns(t *testing.T) {
	s := specOf(t, workload.Produce, "record_size", "uniform:10:500", "keys", "zipf:100", "batch_bytes", "4KiB", "seed", "42")
	values := func(loop uint64) (all []byte) {
		for _, p := range newPatterns(s, loop, false) {
			eachRecord(t, p.batch, func(r record.Record) { all = append(append(all, r.Key...), r.Value...) })
		}
		return all
	}
	if !bytes.Equal(values(1), values(1)) {
		t.Error("the same seed gives other records")
	}
	if bytes.Equal(values(1), values(2)) {
		t.Error("two loops send the same records")
	}
}

func TestStampsAreThoseThatTheAccountReads(t *testing.T) {
	for name, settings := range map[string][]string{
		"equal records":   {"record_size", "100", "batch_bytes", "2000"},
		"one record":      {"record_size", "36", "batch_bytes", "1"},
		"with keys":       {"record_size", "uniform:36:300", "keys", "uniform:100", "key_size", "70", "batch_bytes", "5000"},
		"long ones":       {"record_size", "uniform:36:20000", "batch_bytes", "100000"},
		"many in a batch": {"record_size", "36", "batch_bytes", "64KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range newPatterns(specOf(t, workload.Produce, settings...), 0, true) {
				var before [][]byte
				eachRecord(t, p.batch, func(r record.Record) { before = append(before, bytes.Clone(r.Value)) })
				for _, first := range []uint64{0, 1<<40 + 7} {
					want := audit.Stamp{Run: 9, Producer: 4, Partition: 77, Sequence: first, Sent: 12345 * time.Hour}
					p.stamp(want)
					p.number(1<<40+1, 300, 1<<31-1)
					p.seal()
					if p.batch.ProducerID() != 1<<40+1 || p.batch.ProducerEpoch() != 300 || p.batch.BaseSequence() != 1<<31-1 {
						t.Fatalf("it is of producer %d in epoch %d from %d on", p.batch.ProducerID(), p.batch.ProducerEpoch(), p.batch.BaseSequence())
					}
					n := 0
					eachRecord(t, p.batch, func(r record.Record) {
						got, err := audit.ReadStamp(r.Value)
						if err != nil || got != want {
							t.Fatalf("record %d: %v, %v; want %v", n, got, err, want)
						}
						if !bytes.Equal(r.Value[audit.StampBytes:], before[n][audit.StampBytes:]) {
							t.Fatalf("record %d: what is behind the stamp has changed", n)
						}
						want.Sequence++
						n++
					})
				}
			}
		})
	}
}

// Records are as old as they are sent, so that retention by time does not take a long
// load's for older than they are.
func TestBatchesAreDated(t *testing.T) {
	s := workload.Defaults(workload.Produce)
	s.Codec = "lz4"
	p := &newPatterns(&s, 1, false)[0]
	binary.BigEndian.PutUint64(p.batch[baseTimestampAt:], 0)
	binary.BigEndian.PutUint64(p.batch[maxTimestampAt:], 0)
	before := time.Now().UnixMilli()
	p.date(5 * time.Second)
	p.seal()
	if !p.batch.ChecksumOK() || p.batch.BaseTimestamp() < before || p.batch.MaxTimestamp() != p.batch.BaseTimestamp() || p.dated != 5*time.Second {
		t.Errorf("%v, dated %v: times %d and %d", p.batch, p.dated, p.batch.BaseTimestamp(), p.batch.MaxTimestamp())
	}
	r, err := record.NewReader(p.batch)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if rec, err := r.Next(); err != nil || rec.Timestamp < before {
		t.Errorf("a record of time %d, %v", rec.Timestamp, err)
	}
}
