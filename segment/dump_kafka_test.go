package segment

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"ringmain/record"
)

// kafkaLog was written by Apache Kafka 4.4: three records with each codec by
// idempotent producers, four without one (the last without key and value), a
// transaction that was committed and one that was aborted.
const kafkaLog = "testdata/kafka-4.4/written-by-kafka-0/00000000000000000000.log"

func TestDumpReadsWhatKafkaWrote(t *testing.T) {
	var out strings.Builder
	if err := DumpFile(&out, kafkaLog, DumpOptions{Records: true}); err != nil {
		t.Fatal(err)
	}
	want := []string{"log segment of base offset 0, 3010 bytes"}
	records := func(first int, name string) {
		for i := range 3 {
			want = append(want, fmt.Sprintf("  offset %d timestamp ", first+i),
				fmt.Sprintf(`key "%s-%d" value %q header "h"="\x01\x02"`, name, i, strings.Repeat(name+" ", 20)))
		}
	}
	for i, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		want = append(want, fmt.Sprintf("offsets %d-%d records 3 epoch 0 codec %s ", 3*i, 3*i+2, codec), fmt.Sprintf("producer %d epoch 0 sequences 0-2 crc", i))
		records(3*i, codec)
	}
	want = append(want, "offsets 15-17 records 3 epoch 0 codec none ")
	records(15, "plain")
	want = append(want, "offsets 18-18 ", "key null value null", "offsets 19-21 ", "producer 5 epoch 0 sequences 0-2 transactional crc")
	records(19, "committed")
	want = append(want, "offsets 22-22 ", "producer 5 epoch 1 ", "transactional control crc", `key "\x00\x00\x00\x01"`,
		"offsets 23-25 ", "producer 5 epoch 1 sequences 0-2 transactional crc")
	records(23, "aborted")
	want = append(want, "offsets 26-26 ", "transactional control crc", `key "\x00\x00\x00\x00"`)

	rest := out.String()
	for _, text := range want { // in this order
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Fatalf("no %q in what follows:\n%s", text, rest)
		}
		rest = after
	}
	if n := strings.Count(out.String(), " ok\n"); n != 11 {
		t.Errorf("%d sound batches, want 11", n)
	}
}

// A log that Kafka wrote is the content of a partition here: batches are taken
// over as they are.
func TestKafkasSegmentOpens(t *testing.T) {
	file, err := os.ReadFile(kafkaLog)
	if err != nil {
		t.Fatal(err)
	}
	mem, _, l := newMemLog(t)
	io := testIO()
	defer io.Close()
	for rest := file; len(rest) > 0; {
		b, err := record.First(rest)
		if err != nil {
			t.Fatal(err)
		}
		rest = rest[b.Size():]
		want := b.BaseOffset()
		if base := appendAll(t, io, l, 0, bytes.Clone(b)); base != want {
			t.Fatalf("the batch of offset %d came to %d", want, base)
		}
	}
	again := openDir(t, mem.KillClone(), "/data")
	l, rep := openLog(t, again, smallConfig())
	if rep.CutBytes != 0 || rep.Damaged() || l.EndOffset() != 27 {
		t.Fatalf("log end %d, want 27; %+v", l.EndOffset(), rep)
	}
	var got []byte
	for _, b := range readAll(t, l, 0, 1<<20) {
		got = append(got, b...)
	}
	if !bytes.Equal(got, file) {
		t.Error("the bytes are not what Kafka wrote")
	}
}
