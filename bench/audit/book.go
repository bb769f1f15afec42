package audit

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"ringmain/record"
)

// Config describes a run to its Book.
type Config struct {
	Run        uint32
	Producers  int // producers are 0..Producers-1
	Partitions int // of all topics together
	// Offsets: acknowledged offsets are compared with those that are read. Only
	// where a partition has one producer, or few: where many mix, a span ends
	// with each batch.
	Offsets bool
	// Filler: values are checked to the last byte. Nil checks the stamps alone.
	Filler *Filler
	// Others: records of other runs and of other programs are nothing wrong, as
	// in a topic that was there before.
	Others bool
}

// Book is the account of one run. Its methods are for any goroutine.
type Book struct {
	cfg     Config
	streams []atomic.Pointer[Stream] // producer-major; made when first used

	foreign, damaged atomic.Int64
	found            findings
}

// NewBook opens an account.
func NewBook(cfg Config) (*Book, error) {
	if cfg.Producers < 1 || cfg.Partitions < 1 {
		return nil, fmt.Errorf("an account needs at least one producer and one partition, not %d and %d", cfg.Producers, cfg.Partitions)
	}
	if n := int64(cfg.Producers) * int64(cfg.Partitions); n > maxStreams {
		return nil, fmt.Errorf("%d producers and %d partitions make %d streams; at most %d can be accounted for",
			cfg.Producers, cfg.Partitions, n, maxStreams)
	}
	return &Book{cfg: cfg, streams: make([]atomic.Pointer[Stream], cfg.Producers*cfg.Partitions)}, nil
}

// maxStreams bounds the table of a Book: 8 bytes each, used or not.
const maxStreams = 1 << 24

// Run is the number that the stamps of this account carry.
func (b *Book) Run() uint32 { return b.cfg.Run }

// Stream is the account of what one producer sends to one partition.
func (b *Book) Stream(producer uint32, partition int32) *Stream {
	slot := &b.streams[int(producer)*b.cfg.Partitions+int(partition)]
	if s := slot.Load(); s != nil {
		return s
	}
	slot.CompareAndSwap(nil, &Stream{Producer: producer, Partition: partition, offsets: b.cfg.Offsets})
	return slot.Load()
}

// Stream numbers and accounts for the records of one producer in one partition.
type Stream struct {
	Producer  uint32
	Partition int32
	offsets   bool

	mu          sync.Mutex
	sent        uint64 // sequences below it were given to the client
	open        bool   // sent is not known: the process that sent ended without saying
	acked       spans
	seen        spans
	next        uint64 // one more than the largest sequence seen
	ackedTwice  uint64
	duplicates  uint64
	reordered   uint64
	neverSent   uint64
	wrongPlaces uint64 // records whose partition is another one
}

// Next takes the next n sequences; the first is returned.
func (s *Stream) Next(n int) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.sent
	s.sent += uint64(n)
	return first
}

// Acked notes that n records from sequence on were acknowledged, the first at
// offset; a negative offset is not known.
func (s *Stream) Acked(sequence uint64, n int, offset int64) {
	shift := anywhere
	if s.offsets && offset >= 0 {
		shift = offset - int64(sequence)
	}
	s.mu.Lock()
	s.ackedTwice += uint64(n) - s.acked.add(sequence, sequence+uint64(n), shift)
	s.mu.Unlock()
}

// Counts are the records sent and acknowledged so far.
func (s *Stream) Counts() (sent, acked uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent, s.acked.count() + s.acked.dropped
}

// saw accounts for one record and says what is wrong with it, if anything.
func (s *Stream) saw(sequence uint64, partition int32, offset int64) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if partition != s.Partition {
		s.wrongPlaces++
		return WrongPartition
	}
	if sequence >= s.sent && !s.open {
		s.neverSent++
		return NeverSent
	}
	shift := anywhere
	if s.offsets {
		shift = offset - int64(sequence)
	}
	late := sequence < s.next
	s.next = max(s.next, sequence+1)
	if s.seen.add(sequence, sequence+1, shift) == 0 {
		s.duplicates++
		return Duplicate
	}
	if late {
		s.reordered++
		return OutOfOrder
	}
	return ""
}

// Saw accounts for one record read from a partition, whose records must be
// given in the order of their offsets, each once. Stamp is that of the record;
// false says that it has none of this run, or a damaged one.
func (b *Book) Saw(partition int32, offset int64, value []byte) (Stamp, bool) {
	s, err := ReadStamp(value)
	switch {
	case err == ErrNoStamp, err == nil && s.Run != b.cfg.Run:
		b.foreign.Add(1)
		if !b.cfg.Others {
			b.found.add(Finding{Fault: Foreign, Partition: partition, Offset: offset, Count: 1})
		}
		return s, false
	case err != nil,
		int64(s.Producer) >= int64(b.cfg.Producers), s.Partition < 0, int(s.Partition) >= b.cfg.Partitions,
		b.cfg.Filler != nil && !b.cfg.Filler.Holds(s, value):
		b.damaged.Add(1)
		b.found.add(Finding{Fault: Damaged, Partition: partition, Offset: offset, Count: 1})
		return s, false
	}
	if fault := b.Stream(s.Producer, s.Partition).saw(s.Sequence, partition, offset); fault != "" {
		b.found.add(Finding{Fault: fault, Producer: s.Producer, Partition: partition, Sequence: s.Sequence, Offset: offset, Count: 1})
	}
	return s, true
}

// SawBatches accounts for all records of a partition's answer to a fetch: whole
// batches, and perhaps the start of one more, as brokers may send. Records below
// from are passed over: a broker answers with the whole batch around an offset.
// It returns the offset to go on from; each may be nil.
func (b *Book) SawBatches(partition int32, from int64, batches []byte, each func(Stamp)) (next int64, err error) {
	next = from
	for len(batches) > 0 {
		batch, err := record.First(batches)
		if err == record.ErrIncomplete {
			return next, nil
		}
		if err != nil {
			return next, fmt.Errorf("partition %d, offset %d: %w", partition, next, err)
		}
		if !batch.ChecksumOK() {
			return next, fmt.Errorf("partition %d: the batch at offset %d fails its checksum", partition, batch.BaseOffset())
		}
		if !batch.Control() {
			if err := b.sawBatch(partition, next, batch, each); err != nil {
				return next, fmt.Errorf("partition %d, batch at offset %d: %w", partition, batch.BaseOffset(), err)
			}
		}
		next = max(next, batch.LastOffset()+1)
		batches = batches[len(batch):]
	}
	return next, nil
}

func (b *Book) sawBatch(partition int32, from int64, batch record.Batch, each func(Stamp)) error {
	r, err := record.NewReader(batch)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if rec.Offset < from {
			continue
		}
		if s, ok := b.Saw(partition, rec.Offset, rec.Value); ok && each != nil {
			each(s)
		}
	}
}

// Unseen is the number of acknowledged records that were not read yet.
func (b *Book) Unseen() int64 {
	var n uint64
	for i := range b.streams {
		if s := b.streams[i].Load(); s != nil {
			s.mu.Lock()
			s.acked.without(&s.seen, func(x span) { n += x.to - x.from })
			s.mu.Unlock()
		}
	}
	return int64(n)
}
