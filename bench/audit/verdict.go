package audit

import (
	"fmt"
	"strings"
	"sync"
)

// Fault is one way in which a broker can be wrong.
type Fault string

// The faults, in the order in which a verdict names them.
const (
	Lost           Fault = "lost"               // acknowledged, and not there
	Duplicate      Fault = "duplicate"          // there more than once
	OutOfOrder     Fault = "out of order"       // behind a record that was sent after it
	Moved          Fault = "moved"              // not at the offset that was acknowledged
	Damaged        Fault = "damaged"            // not the bytes that were sent
	WrongPartition Fault = "wrong partition"    // in a partition that it was not sent to
	NeverSent      Fault = "never sent"         // a sequence that nobody has used
	AckedTwice     Fault = "acked twice"        // two answers for one record
	Foreign        Fault = "foreign"            // not of this run, in a topic of its own
	NotFollowed    Fault = "too many to follow" // more gaps than there is room for
)

// Faults lists all faults in order.
var Faults = []Fault{Lost, Duplicate, OutOfOrder, Moved, Damaged, WrongPartition, NeverSent, AckedTwice, Foreign, NotFollowed}

// Finding is a run of records with one fault.
type Finding struct {
	Fault     Fault  `json:"fault"`
	Partition int32  `json:"partition"`
	Producer  uint32 `json:"producer"`
	Sequence  uint64 `json:"sequence"` // of the first
	Offset    int64  `json:"offset"`   // where the first is, or should be; -1: not known
	Count     int64  `json:"count"`
	Detail    string `json:"detail,omitempty"`
}

// maxFindings bounds how many runs a verdict names; all are counted.
const maxFindings = 100

type findings struct {
	mu   sync.Mutex
	list []Finding
}

// add keeps the finding, joined to the one before where they are neighbours.
func (f *findings) add(x Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.list); n > 0 {
		last := &f.list[n-1]
		if last.Fault == x.Fault && last.Partition == x.Partition && last.Producer == x.Producer && x.Offset == last.Offset+last.Count &&
			(x.Fault == Foreign || x.Fault == Damaged || x.Sequence == last.Sequence+uint64(last.Count)) {
			last.Count += x.Count
			return
		}
	}
	if len(f.list) < maxFindings {
		f.list = append(f.list, x)
	}
}

// Verdict is what an account comes to. Numbers are of records.
type Verdict struct {
	Sent           int64     `json:"sent"`
	Acked          int64     `json:"acked"`
	Seen           int64     `json:"seen"`    // different ones
	Unacked        int64     `json:"unacked"` // sent, without a good answer: may be there or not
	Lost           int64     `json:"lost"`
	Duplicated     int64     `json:"duplicated"`
	OutOfOrder     int64     `json:"out_of_order"`
	Moved          int64     `json:"moved"`
	Damaged        int64     `json:"damaged"`
	WrongPartition int64     `json:"wrong_partition"`
	NeverSent      int64     `json:"never_sent"`
	AckedTwice     int64     `json:"acked_twice"`
	Foreign        int64     `json:"foreign"`
	NotFollowed    int64     `json:"not_followed"`
	Findings       []Finding `json:"findings,omitempty"` // the first of them

	others bool
}

// Count is the number of records with a fault.
func (v *Verdict) Count(f Fault) int64 {
	if n := v.counter(f); n != nil {
		return *n
	}
	return 0
}

func (v *Verdict) counter(f Fault) *int64 {
	switch f {
	case Lost:
		return &v.Lost
	case Duplicate:
		return &v.Duplicated
	case OutOfOrder:
		return &v.OutOfOrder
	case Moved:
		return &v.Moved
	case Damaged:
		return &v.Damaged
	case WrongPartition:
		return &v.WrongPartition
	case NeverSent:
		return &v.NeverSent
	case AckedTwice:
		return &v.AckedTwice
	case Foreign:
		return &v.Foreign
	case NotFollowed:
		return &v.NotFollowed
	}
	return nil
}

// Err is nil when nothing is wrong, and otherwise says what is, with numbers.
func (v *Verdict) Err() error {
	var parts []string
	for _, f := range Faults {
		if n := v.Count(f); n > 0 && (f != Foreign || !v.others) {
			parts = append(parts, fmt.Sprintf("%d %s", n, f))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return &FaultError{Summary: strings.Join(parts, ", ")}
}

// FaultError is a verdict that found something.
type FaultError struct{ Summary string }

func (e *FaultError) Error() string {
	return "records are not as they were acknowledged: " + e.Summary
}

// Verdict adds the account up. It may be called at any time; what is under way
// then counts as sent and unacknowledged, and what was acknowledged and not read
// yet as lost.
func (b *Book) Verdict() Verdict {
	v := Verdict{Foreign: b.foreign.Load(), Damaged: b.damaged.Load(), others: b.cfg.Others}
	gaps := findings{}
	for i := range b.streams {
		if s := b.streams[i].Load(); s != nil {
			s.addTo(&v, &gaps)
		}
	}
	b.found.mu.Lock()
	v.Findings = append(gaps.list, b.found.list...)
	b.found.mu.Unlock()
	if len(v.Findings) > maxFindings {
		v.Findings = v.Findings[:maxFindings]
	}
	return v
}

func (s *Stream) addTo(v *Verdict, gaps *findings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	acked := s.acked.count() + s.acked.dropped
	// A process that was killed may have sent more than it could write down.
	sent := max(s.sent, s.acked.end(), s.seen.end())
	v.Sent += int64(sent)
	v.Acked += int64(acked)
	v.Seen += int64(s.seen.count() + s.seen.dropped)
	v.Unacked += int64(sent - min(sent, acked))
	v.Duplicated += int64(s.duplicates)
	v.OutOfOrder += int64(s.reordered)
	v.NeverSent += int64(s.neverSent)
	v.WrongPartition += int64(s.wrongPlaces)
	v.AckedTwice += int64(s.ackedTwice)
	v.NotFollowed += int64(s.acked.dropped + s.seen.dropped)
	if s.ackedTwice > 0 {
		gaps.add(Finding{Fault: AckedTwice, Partition: s.Partition, Producer: s.Producer, Offset: -1, Count: int64(s.ackedTwice)})
	}
	s.acked.without(&s.seen, func(x span) {
		n := int64(x.to - x.from)
		v.Lost += n
		gaps.add(Finding{Fault: Lost, Partition: s.Partition, Producer: s.Producer, Sequence: x.from, Offset: offsetOf(x), Count: n})
	})
	s.acked.elsewhere(&s.seen, func(x span, theirs int64) {
		n := int64(x.to - x.from)
		v.Moved += n
		gaps.add(Finding{Fault: Moved, Partition: s.Partition, Producer: s.Producer, Sequence: x.from, Offset: int64(x.from) + theirs, Count: n,
			Detail: fmt.Sprintf("acknowledged at %d", offsetOf(x))})
	})
}

// offsetOf is where the first record of a span is, or -1.
func offsetOf(x span) int64 {
	if x.shift == anywhere {
		return -1
	}
	return int64(x.from) + x.shift
}
