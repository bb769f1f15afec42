package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStateSurvivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := NewState(run, "orders", []int64{0, 100}, 100)
	s.Made = true
	first := s.Open()
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	b, err := s.Book()
	if err != nil {
		t.Fatal(err)
	}
	stream := b.Stream(first, 1)
	stream.Next(10)
	stream.Acked(0, 4, 100)
	stream.Acked(6, 2, 110)
	s.Note(b, first, false)
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}

	// The process ends here without a word; another one goes on.
	s, err = LoadState(path)
	if err != nil {
		t.Fatal(err)
	}
	second := s.Open()
	if second == first {
		t.Fatal("two processes send as one producer")
	}
	if b, err = s.Book(); err != nil {
		t.Fatal(err)
	}
	f := NewFiller(run)
	read := func(producer uint32, sequence uint64, offset int64) {
		value := make([]byte, 100)
		f.Put(Stamp{Run: run, Producer: producer, Partition: 1, Sequence: sequence}, value)
		b.Saw(1, offset, value)
	}
	for q := range uint64(4) {
		read(first, q, 100+int64(q))
	}
	read(first, 7, 111)
	read(first, 25, 112) // sent after the last word about it
	v := b.Verdict()
	if v.Lost != 1 || v.NeverSent != 0 || v.Moved != 0 || v.Acked != 6 || v.Sent != 26 {
		t.Fatalf("%+v", v)
	}
	if got := v.Findings[0]; got.Fault != Lost || got.Sequence != 6 || got.Offset != 110 || got.Partition != 1 {
		t.Fatalf("%+v", got)
	}
}

func TestClosedSessionKnowsWhatItSent(t *testing.T) {
	s := NewState(run, "orders", []int64{0}, 100)
	p := s.Open()
	b, _ := s.Book()
	b.Stream(p, 0).Next(2)
	s.Note(b, p, true)
	b, err := s.Book()
	if err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 100)
	NewFiller(run).Put(Stamp{Run: run, Producer: p, Sequence: 2}, value)
	b.Saw(0, 0, value)
	if v := b.Verdict(); v.NeverSent != 1 {
		t.Fatalf("%+v", v)
	}
}

func TestBadStateFilesAreRefused(t *testing.T) {
	for content, want := range map[string]string{
		"":             "is not a state file",
		"hello":        "is not a state file",
		`{"format":2}`: "its format is 2",
		`{"format":1}`: "names no topic",
		`{"format":1,"topic":"a","start":[0],"value_bytes":5}`:                                                                   "value_bytes is 5",
		`{"format":1,"topic":"a","start":[0],"value_bytes":50,"sessions":[{}]}`:                                                  "0 streams for 1 partitions",
		`{"format":1,"topic":"a","start":[0],"value_bytes":50,"sessions":[{"streams":[{"acked":[[0,5,0],[4,1,9]]}]}]}`:           "is no piece behind sequence 5",
		`{"format":1,"topic":"a","start":[0],"value_bytes":50,"sessions":[{"streams":[{"acked":[[1,9223372036854775807,0]]}]}]}`: "is no piece",
		`{"format":1,"topic":"a","start":[0],"value_bytes":50,"sessions":[{"streams":[{"acked":[[-1,5,0]]}]}]}`:                  "is no piece",
	} {
		path := filepath.Join(t.TempDir(), "state.json")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadState(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
	if _, err := LoadState(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}
