package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// stateFormat is the version of the file. A newer one is refused.
const stateFormat = 1

// maxStateBytes bounds what is read as a state file: far above what the spans
// of any Book can need.
const maxStateBytes = 1 << 30

// State is the account of a topic over several processes, as it stands in a
// file. Each process that writes opens a session: a producer number of its own,
// in the file before the first record is sent, so that no sequence is ever used
// for two records, however a process ends.
type State struct {
	Format     int       `json:"format"`
	Run        uint32    `json:"run"`
	ClusterID  string    `json:"cluster_id"`
	Topic      string    `json:"topic"`
	TopicID    string    `json:"topic_id"`
	Made       bool      `json:"made"` // the topic is ours to delete
	ValueBytes int       `json:"value_bytes"`
	Start      []int64   `json:"start"` // per partition: the offset before the first record
	Sessions   []Session `json:"sessions"`
}

// Session is what one process sent.
type Session struct {
	// Closed: everything was answered, or given up, and Sent is true. Otherwise
	// the process ended in between, and more may be in the topic than is
	// written here.
	Closed  bool            `json:"closed"`
	Streams []SessionStream `json:"streams"` // one for each partition
}

// SessionStream is what a session sent to one partition.
type SessionStream struct {
	Sent  uint64     `json:"sent"`
	Acked [][3]int64 `json:"acked"` // first sequence, number of records, offset of the first
}

// LoadState reads a state file.
func LoadState(path string) (*State, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("state file: %w", err)
	}
	defer f.Close()
	dec := json.NewDecoder(io.LimitReader(f, maxStateBytes))
	s := &State{}
	if err := dec.Decode(s); err != nil {
		return nil, fmt.Errorf("%s is not a state file of bench verify: %w", path, err)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("state file %s: %w", path, err)
	}
	return s, nil
}

func (s *State) check() error {
	if s.Format != stateFormat {
		return fmt.Errorf("its format is %d; this build reads %d", s.Format, stateFormat)
	}
	if s.Topic == "" || len(s.Start) == 0 {
		return errors.New("it names no topic, or no partition")
	}
	if s.ValueBytes < StampBytes {
		return fmt.Errorf("value_bytes is %d; a stamp alone has %d", s.ValueBytes, StampBytes)
	}
	for i, session := range s.Sessions {
		if len(session.Streams) != len(s.Start) {
			return fmt.Errorf("session %d has %d streams for %d partitions", i, len(session.Streams), len(s.Start))
		}
		for p, stream := range session.Streams {
			if len(stream.Acked) > maxSpans {
				return fmt.Errorf("session %d, partition %d: %d pieces; at most %d", i, p, len(stream.Acked), maxSpans)
			}
			end := int64(0)
			for _, a := range stream.Acked {
				if a[0] < end || a[1] < 1 || a[0]+a[1] < a[0] || a[2] < 0 {
					return fmt.Errorf("session %d, partition %d: %v is no piece behind sequence %d", i, p, a, end)
				}
				end = a[0] + a[1]
			}
		}
	}
	return nil
}

// NewState is the account of a topic that nothing was sent to.
func NewState(run uint32, topic string, start []int64, valueBytes int) *State {
	return &State{Format: stateFormat, Run: run, Topic: topic, Start: start, ValueBytes: valueBytes}
}

// Open adds a session and returns its producer number.
func (s *State) Open() uint32 {
	s.Sessions = append(s.Sessions, Session{Streams: make([]SessionStream, len(s.Start))})
	return uint32(len(s.Sessions) - 1)
}

// Book makes the account that the file holds, with all its sessions as
// producers. Records that sessions of other processes sent can be read into it.
func (s *State) Book() (*Book, error) {
	b, err := NewBook(Config{
		Run: s.Run, Producers: max(1, len(s.Sessions)), Partitions: len(s.Start),
		Offsets: true, Filler: NewFiller(s.Run), Others: !s.Made,
	})
	if err != nil {
		return nil, err
	}
	for producer, session := range s.Sessions {
		for p, kept := range session.Streams {
			stream := b.Stream(uint32(producer), int32(p))
			stream.sent, stream.open = kept.Sent, !session.Closed
			for _, a := range kept.Acked {
				stream.Acked(uint64(a[0]), int(a[1]), a[2])
			}
		}
	}
	return b, nil
}

// Note copies what a session did so far from its account. Closed says that no
// answer can come any more.
func (s *State) Note(b *Book, producer uint32, closed bool) {
	session := &s.Sessions[producer]
	for p := range session.Streams {
		stream := b.Stream(producer, int32(p))
		stream.mu.Lock()
		kept := SessionStream{Sent: stream.sent}
		for _, x := range stream.acked.list {
			if offset := offsetOf(x); offset >= 0 {
				kept.Acked = append(kept.Acked, [3]int64{int64(x.from), int64(x.to - x.from), offset})
			}
		}
		stream.mu.Unlock()
		session.Streams[p] = kept
	}
	session.Closed = closed
}

// Save puts the state into the file: it is there as a whole or as it was before,
// also after a power loss.
func (s *State) Save(path string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("state file %s: %w", path, err)
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("state file %s: %w", path, err)
	}
	return syncDir(dir)
}

// syncDir makes the rename last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("directory of the state file: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) {
		return fmt.Errorf("directory of the state file: %w", err)
	}
	return nil
}
