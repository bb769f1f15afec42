package controller

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft"

	"ringmain/internal/vfs"
	"ringmain/model"
)

// quorum-state holds what a node must not forget between two elections, and
// who it is. Two slots are overwritten in turn: the file never grows, so a full
// disk cannot stop an election, and the state before survives a write that was
// cut off. A slot is one sector:
//
//	0    magic "RMQUORUM"
//	8    version          uint32
//	12   sequence         uint64  1 and up; the slot with the higher one counts
//	20   node id          int32
//	24   directory id     16 bytes
//	40   term             uint64
//	48   voted in term    uint64
//	56   clean stop       uint8   1: the next three fields say where the log ends
//	57   last index       uint64
//	65   last segment     uint64  first index of the last file of the log, 0: none
//	73   segment size     uint64
//	81   voted for        uint8 size, then at most 64 bytes
//	146  cluster id       uint8 size, then at most 249 bytes
//	508  crc32c of bytes 0 to 507
//
// Numbers are big-endian; the slots begin at byte 0 and at byte 4096. What lies between
// them is described in reached.go.
const (
	quorumStateName    = "quorum-state"
	quorumStateMagic   = "RMQUORUM"
	quorumStateVersion = 1

	slotSize     = sectorBytes
	slotDistance = 4096
	quorumBytes  = 2 * slotDistance
	candidateMax = 64
	clusterIDMax = 249
	candidateAt  = 81
	clusterIDAt  = 146
	slotChecksum = slotSize - 4
)

// logTail is where the log ends.
type logTail struct {
	lastIndex uint64
	segment   uint64 // first index of the last file, 0 when there is none
	size      uint64 // of that file
}

// quorumRecord is the content of a slot.
type quorumRecord struct {
	sequence    uint64
	nodeID      int32
	directoryID model.TopicID
	clusterID   string
	term        uint64
	voteTerm    uint64
	candidate   []byte
	clean       bool // the log ends at tail, and nothing was written since
	tail        logTail

	reached uint64 // the last entry known to be on disk, 0: not known; of the file, in no slot
}

func (q *quorumRecord) encode() []byte {
	b := make([]byte, slotSize)
	copy(b, quorumStateMagic)
	binary.BigEndian.PutUint32(b[8:], quorumStateVersion)
	binary.BigEndian.PutUint64(b[12:], q.sequence)
	binary.BigEndian.PutUint32(b[20:], uint32(q.nodeID))
	copy(b[24:40], q.directoryID[:])
	binary.BigEndian.PutUint64(b[40:], q.term)
	binary.BigEndian.PutUint64(b[48:], q.voteTerm)
	if q.clean {
		b[56] = 1
		binary.BigEndian.PutUint64(b[57:], q.tail.lastIndex)
		binary.BigEndian.PutUint64(b[65:], q.tail.segment)
		binary.BigEndian.PutUint64(b[73:], q.tail.size)
	}
	b[candidateAt] = byte(len(q.candidate))
	copy(b[candidateAt+1:], q.candidate)
	b[clusterIDAt] = byte(len(q.clusterID))
	copy(b[clusterIDAt+1:], q.clusterID)
	binary.BigEndian.PutUint32(b[slotChecksum:], crc32.Checksum(b[:slotChecksum], castagnoli))
	return b
}

// decodeSlot returns nil without an error for a slot that was never written.
func decodeSlot(b []byte, path string, at int64) (*quorumRecord, error) {
	if len(bytes.TrimLeft(b, "\x00")) == 0 {
		return nil, nil
	}
	if string(b[:8]) != quorumStateMagic {
		return nil, damaged(path, at, "this is not a slot of a quorum state")
	}
	if crc32.Checksum(b[:slotChecksum], castagnoli) != binary.BigEndian.Uint32(b[slotChecksum:]) {
		return nil, damaged(path, at, "the checksum is wrong, so the vote in it is not known")
	}
	if v := binary.BigEndian.Uint32(b[8:]); v != quorumStateVersion {
		return nil, fmt.Errorf("%w: %s has version %d, this release reads up to %d", ErrNewer, path, v, quorumStateVersion)
	}
	q := &quorumRecord{
		sequence:    binary.BigEndian.Uint64(b[12:]),
		nodeID:      int32(binary.BigEndian.Uint32(b[20:])),
		directoryID: model.TopicID(b[24:40]),
		term:        binary.BigEndian.Uint64(b[40:]),
		voteTerm:    binary.BigEndian.Uint64(b[48:]),
		clean:       b[56] == 1,
	}
	if q.clean {
		q.tail = logTail{binary.BigEndian.Uint64(b[57:]), binary.BigEndian.Uint64(b[65:]), binary.BigEndian.Uint64(b[73:])}
	}
	if n := int(b[candidateAt]); n > 0 && n <= candidateMax {
		q.candidate = bytes.Clone(b[candidateAt+1 : candidateAt+1+n])
	}
	if n := int(b[clusterIDAt]); n <= clusterIDMax {
		q.clusterID = string(b[clusterIDAt+1 : clusterIDAt+1+n])
	}
	return q, nil
}

// decodeQuorumState returns the newer of the two slots, and the mark.
func decodeQuorumState(b []byte, path string) (*quorumRecord, error) {
	if len(b) != quorumBytes {
		return nil, damaged(path, int64(len(b)), "the file has %d bytes instead of %d", len(b), quorumBytes)
	}
	first, err := decodeSlot(b[:slotSize], path, 0)
	if err != nil {
		return nil, err
	}
	second, err := decodeSlot(b[slotDistance:slotDistance+slotSize], path, slotDistance)
	if err != nil {
		return nil, err
	}
	reached, err := decodeReached(b, path)
	if err != nil {
		return nil, err
	}
	switch {
	case first == nil:
		return nil, damaged(path, 0, "the slot is empty, and it is written when the file is made")
	case second == nil:
		if first.sequence != 1 {
			return nil, damaged(path, slotDistance, "the slot is empty, but was written %d times", first.sequence/2)
		}
		first.reached = reached
		return first, nil
	case first.sequence == second.sequence+1:
		first.reached = reached
		return first, nil
	case second.sequence == first.sequence+1:
		second.reached = reached
		return second, nil
	}
	return nil, damaged(path, 0, "the slots have sequences %d and %d, which do not follow each other", first.sequence, second.sequence)
}

// writeQuorumState makes the file with its first slot, all blocks in place, and
// durable but for its name.
func writeQuorumState(fsys vfs.FS, path string, q *quorumRecord) error {
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	b := make([]byte, quorumBytes)
	copy(b, q.encode())
	if _, err = f.WriteAt(b, 0); err == nil {
		err = f.SyncData()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// stateStore is the open quorum-state file. It is raft's stable store.
type stateStore struct {
	file  vfs.File
	path  string
	fault *fault

	mu sync.Mutex
	q  quorumRecord

	// voteTerm is the term of a vote whose candidate was not given yet: raft
	// stores a vote as two values, and counts it when both are stored. Held back
	// until then, a vote costs one sync.
	voteTerm uint64
}

var _ raft.StableStore = (*stateStore)(nil)

// Keys that raft stores under. There are no others.
const (
	keyTerm      = "CurrentTerm"
	keyVoteTerm  = "LastVoteTerm"
	keyCandidate = "LastVoteCand"
)

func openStateStore(fsys vfs.FS, dir string, f *fault) (*stateStore, error) {
	path := filepath.Join(dir, quorumStateName)
	file, err := fsys.OpenFile(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	b, err := readAll(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	q, err := decodeQuorumState(b, path)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &stateStore{file: file, path: path, fault: f, q: *q, voteTerm: q.voteTerm}, nil
}

// write stores q in the older slot. The state in memory changes only with the
// one on disk.
func (s *stateStore) write(q quorumRecord) error {
	if err := s.fault.check(); err != nil {
		return err
	}
	q.sequence = s.q.sequence + 1
	at := int64(0)
	if q.sequence%2 == 0 {
		at = slotDistance
	}
	_, err := s.file.WriteAt(q.encode(), at)
	if err == nil {
		err = s.file.SyncData()
	}
	if err != nil {
		return s.fault.set("store term and vote in "+s.path, err)
	}
	s.q = q
	return nil
}

func (s *stateStore) SetUint64(key []byte, v uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch string(key) {
	case keyVoteTerm:
		s.voteTerm = v
		return nil
	case keyTerm:
		if v == s.q.term {
			return nil // raft stores the term that it has just read when it starts
		}
		q := s.q
		q.term, q.clean = v, false
		s.write(q) // raft would panic on an error; see fault
		return nil
	}
	return fmt.Errorf("%s has no place for %q", s.path, key)
}

func (s *stateStore) Set(key, v []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(key) != keyCandidate {
		return fmt.Errorf("%s has no place for %q", s.path, key)
	}
	if len(v) > candidateMax {
		return fmt.Errorf("%s has no place for a vote for %q: %d bytes, the limit is %d", s.path, v, len(v), candidateMax)
	}
	q := s.q
	q.voteTerm, q.candidate, q.clean = s.voteTerm, bytes.Clone(v), false
	return s.write(q)
}

func (s *stateStore) GetUint64(key []byte) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch string(key) {
	case keyTerm:
		return s.q.term, nil
	case keyVoteTerm:
		return s.q.voteTerm, nil
	}
	return 0, fmt.Errorf("%s has no place for %q", s.path, key)
}

func (s *stateStore) Get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if string(key) != keyCandidate {
		return nil, fmt.Errorf("%s has no place for %q", s.path, key)
	}
	return bytes.Clone(s.q.candidate), nil
}

// record returns the stored state.
func (s *stateStore) record() quorumRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.q
}

// markClean records that the log ends at tail and that nothing comes after it.
func (s *stateStore) markClean(tail logTail) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.q
	q.clean, q.tail = true, tail
	return s.write(q)
}

// markDirty takes the mark of a clean stop back before the log changes.
func (s *stateStore) markDirty() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.q.clean {
		return nil
	}
	q := s.q
	q.clean = false
	return s.write(q)
}

func (s *stateStore) close() error { return s.file.Close() }
