package franz

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ringmain/bench/audit"
	"ringmain/bench/load"
	"ringmain/bench/pace"
)

// parcel is a record with what is known about it until its promise is kept. It
// belongs to the producer that packed it until then, and to the shelf after that.
type parcel struct {
	from     *producer
	record   kgo.Record
	key      []byte // memory that is used again, as is that of the value
	value    []byte
	stream   *audit.Stream // nil: there is no book
	sequence uint64
	intended time.Duration
	sent     time.Duration
	promise  func(*kgo.Record, error) // kept, made once for each parcel
}

func newParcel() any {
	x := &parcel{}
	x.promise = x.kept
	return x
}

// pack makes the parcel the next record of its producer.
func (x *parcel) pack(p *producer, intended, sent time.Duration) {
	s := &p.env.Spec
	x.from, x.intended, x.sent = p, intended, sent
	size := s.Record.Next(p.random)
	if cap(x.value) < size {
		x.value = make([]byte, size)
	}
	x.value = x.value[:size]
	p.payload.fill(x.value)
	x.key = p.keys.Next(x.key[:0])
	// What an earlier use left, as its timestamp, would be sent again.
	x.record = kgo.Record{Key: x.key, Value: x.value}
	n := p.route.next(&x.record)
	x.record.Topic, x.record.Partition = p.env.Partitions[n].Topic, p.env.Partitions[n].Index
	x.stream = nil
	if book := p.env.Book; book != nil {
		x.stream = book.Stream(uint32(p.number), int32(n))
		x.sequence = x.stream.Next(1)
		audit.Stamp{
			Run: book.Run(), Producer: uint32(p.number), Partition: int32(n), Sequence: x.sequence, Sent: intended,
		}.Put(x.value)
	}
}

// kept is the promise: franz-go calls it for one record of a client at a time.
func (x *parcel) kept(r *kgo.Record, err error) {
	p := x.from
	switch {
	case p.abandoned.Load():
		// It was counted when the patience was over.
	case err == nil:
		if x.stream != nil && p.env.Spec.Acks != 0 {
			x.stream.Acked(x.sequence, 1, r.Offset)
		}
		done := pace.Now()
		n := p.tally.notes
		n.mu.Lock()
		p.tally.take(1)
		n.worker.Took(load.Produce, x.intended, x.sent, done)
		n.mu.Unlock()
	default:
		p.tally.notes.failed(err)
	}
	p.shelf.Put(x)
	p.room.leave()
}
