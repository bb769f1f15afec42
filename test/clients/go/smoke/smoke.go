// Package smoke holds what the smoke tests of the Go clients share: the data that
// every client writes and reads, and the report.
package smoke

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Codecs are Kafka's names of its compression codecs.
var Codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Count is the number of records written with each codec, half to each of two partitions.
const Count = 1000

// Record is what a client writes and reads.
type Record struct {
	Partition  int32
	Offset     int64 // where it must come to lie
	Key, Value []byte
	Header     string // value of the header "n"
}

// Records returns what goes into the topic of a codec.
func Records(codec string) []Record {
	var rs []Record
	for i := range Count {
		r := Record{Partition: int32(i % 2), Offset: int64(i / 2), Header: fmt.Sprint(i),
			Key: fmt.Appendf(nil, "key-%d", i), Value: []byte(strings.Repeat(fmt.Sprintf("%s value %d ", codec, i), 5))}
		if i%10 == 0 {
			r.Key = nil
		} else if i%11 == 0 {
			r.Value = nil
		}
		rs = append(rs, r)
	}
	return rs
}

// Compare checks what was read; records of one partition are in the order read.
func Compare(codec string, got []Record) error {
	want := map[int32][]Record{}
	for _, r := range Records(codec) {
		want[r.Partition] = append(want[r.Partition], r)
	}
	next := map[int32]int{}
	for _, r := range got {
		i := next[r.Partition]
		if i >= len(want[r.Partition]) {
			return fmt.Errorf("partition %d: more than %d records", r.Partition, i)
		}
		w := want[r.Partition][i]
		if r.Offset != w.Offset || !same(r.Key, w.Key) || !same(r.Value, w.Value) || r.Header != w.Header {
			return fmt.Errorf("partition %d: read %+v, written %+v", r.Partition, r, w)
		}
		next[r.Partition]++
	}
	if len(got) != Count {
		return fmt.Errorf("%d records read of %d", len(got), Count)
	}
	return nil
}

// same takes null and empty for equal: not every client tells them apart.
func same(a, b []byte) bool { return bytes.Equal(a, b) }

// Topic returns a fresh name.
func Topic(client, what string) string {
	return fmt.Sprintf("%s-%s-%d", client, what, time.Now().UnixNano())
}

// Until waits for a change that a broker shows later than it answers it.
func Until(what string, seen func() (bool, error)) error {
	var last error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		ok, err := seen()
		if ok && err == nil {
			return nil
		}
		last = err
	}
	return errors.Join(fmt.Errorf("not seen within 20 s: %s", what), last)
}

var bad bool

// Check runs one check and reports it.
func Check(name string, f func() error) {
	if err := f(); err != nil {
		bad = true
		fmt.Printf("FAIL %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Println("PASS", name)
}

// End ends the program.
func End() {
	if bad {
		os.Exit(1)
	}
	os.Exit(0)
}

// Equal is an error unless got is want.
func Equal[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}
