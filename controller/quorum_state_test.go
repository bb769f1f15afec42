package controller

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"ringmain/internal/vfs"
	"ringmain/model"
)

func openState(t testing.TB, fsys vfs.FS) *stateStore {
	t.Helper()
	s, err := openStateStore(fsys, "/meta", newFault())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newState(t testing.TB) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	mem.MkdirAll("/meta")
	err := writeQuorumState(mem, "/meta/"+quorumStateName, &quorumRecord{
		sequence: 1, nodeID: 1<<31 - 1, directoryID: model.TopicID{1, 15: 2}, clusterID: "cluster", term: 1})
	if err != nil {
		t.Fatal(err)
	}
	return mem
}

func TestQuorumStateRemembersTermAndVote(t *testing.T) {
	mem := newState(t)
	for n := range 10 {
		s := openState(t, mem)
		term := uint64(n + 2)
		if n > 0 {
			got, _ := s.GetUint64([]byte(keyTerm))
			vote, _ := s.GetUint64([]byte(keyVoteTerm))
			candidate, _ := s.Get([]byte(keyCandidate))
			if got != term-1 || vote != term-1 || string(candidate) != fmt.Sprint("node", n-1) {
				t.Fatalf("round %d: term %d, voted in %d for %q", n, got, vote, candidate)
			}
		} else if candidate, err := s.Get([]byte(keyCandidate)); candidate != nil || err != nil {
			t.Fatalf("before any vote: %q, %v; raft wants nil", candidate, err)
		}
		for _, err := range []error{s.SetUint64([]byte(keyTerm), term), s.SetUint64([]byte(keyVoteTerm), term),
			s.Set([]byte(keyCandidate), fmt.Append(nil, "node", n))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		q := s.record()
		if q.nodeID != 1<<31-1 || q.clusterID != "cluster" || q.directoryID != (model.TopicID{1, 15: 2}) || q.sequence != uint64(2*n+3) {
			t.Fatalf("record %+v", q)
		}
		s.close()
	}
}

// A vote's term without its candidate is no vote, and costs no write.
func TestHalfAVoteIsNotStored(t *testing.T) {
	mem := newState(t)
	s := openState(t, mem)
	if err := s.SetUint64([]byte(keyVoteTerm), 7); err != nil {
		t.Fatal(err)
	}
	if err := s.SetUint64([]byte(keyTerm), 7); err != nil {
		t.Fatal(err)
	}
	if err := s.SetUint64([]byte(keyTerm), 7); err != nil {
		t.Fatal(err)
	}
	s.close()
	s = openState(t, mem)
	vote, _ := s.GetUint64([]byte(keyVoteTerm))
	if vote != 0 || s.record().term != 7 || s.record().sequence != 2 {
		t.Errorf("voted in %d, record %+v", vote, s.record())
	}
}

func TestQuorumStateNeverGrows(t *testing.T) {
	mem := newState(t)
	s := openState(t, mem)
	for n := range uint64(50) {
		if err := s.SetUint64([]byte(keyTerm), n+2); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := mem.Stat("/meta/" + quorumStateName); err != nil || info.Size != quorumBytes {
		t.Errorf("size %d, %v", info.Size, err)
	}
}

func TestQuorumStateHasNoOtherKeys(t *testing.T) {
	s := openState(t, newState(t))
	for _, err := range []error{s.SetUint64([]byte("x"), 1), s.Set([]byte("x"), nil), s.Set([]byte(keyCandidate), make([]byte, candidateMax+1))} {
		if err == nil {
			t.Error("stored")
		}
	}
	if _, err := s.Get([]byte("x")); err == nil {
		t.Error("read")
	}
	if _, err := s.GetUint64([]byte("x")); err == nil {
		t.Error("read")
	}
}

func FuzzDecodeQuorumState(f *testing.F) {
	q := quorumRecord{sequence: 5, nodeID: 1, clusterID: "c", term: 9, candidate: []byte("1"), clean: true}
	f.Add(q.encode(), []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		file := make([]byte, quorumBytes)
		copy(file[:slotSize], a)
		copy(file[slotDistance:slotDistance+slotSize], b)
		for _, at := range []int{0, slotDistance} {
			if slot := file[at : at+slotSize]; len(bytes.TrimLeft(slot, "\x00")) > 0 {
				copy(slot, quorumStateMagic)
				remade(slot)
			}
		}
		q, err := decodeQuorumState(file, quorumStateName)
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			t.Fatalf("error of no kind: %v", err)
		}
		if err == nil {
			if again, err := decodeSlot(q.encode(), "", 0); err != nil || again.term != q.term || again.clusterID != q.clusterID {
				t.Fatalf("%+v comes back as %+v, %v", q, again, err)
			}
		}
	})
}
