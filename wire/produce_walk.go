package wire

import "ringmain/model"

// keyProduce is hand-walked: one request brings many batches, and kmsg would
// build structs and copy names for each.
const keyProduce = 0

// The first versions of Produce with compact lengths, and with topic ids in
// place of names (KIP-516).
const (
	produceFlexible = 9
	produceTopicIDs = 13
)

// ProduceHead is what a Produce request says once.
type ProduceHead struct {
	TransactionalID string
	Transactional   bool // TransactionalID is not null
	Acks            int16
	TimeoutMs       int32
	Topics          int // entries in the request, which may name a topic twice
	Partitions      int // in all of them
}

// ProducePartition is one partition's part of the request. The slices alias the
// body.
type ProducePartition struct {
	Topic   []byte        // before version 13
	TopicID model.TopicID // from version 13 on
	Index   int32
	Records []byte // nil if null
}

// WalkProduce reads the body of a Produce request. It is checked as a whole
// before fn is called the first time, with head filled in; fn is then called
// for each partition in order until it returns an error, which WalkProduce
// returns. Nothing is allocated unless there is a transactional id.
func WalkProduce(version int16, body []byte, head *ProduceHead, fn func(p ProducePartition) error) error {
	s := shapes[keyProduce]
	if version < s.min || version > s.max {
		return unsupported(s, version)
	}
	*head = ProduceHead{}
	w := produceWalk{cursor: cursor{b: body}, flexible: version >= produceFlexible, ids: version >= produceTopicIDs}
	w.head(head)
	start := w.p
	w.topics(head, nil)
	if w.what != "" {
		return malformed("Produce version %d: at byte %d: %s", version, w.at, w.what)
	}
	if fn == nil {
		return nil
	}
	w.p = start
	return w.topics(head, fn)
}

type produceWalk struct {
	cursor
	flexible bool
	ids      bool
	at       int // where the topic or partition that failed begins
}

func (w *produceWalk) head(h *ProduceHead) {
	switch n := w.length(w.flexible, true); {
	case n >= 0:
		h.TransactionalID, h.Transactional = string(w.take(n)), true
	case n < -1:
		w.fail(badLength)
	}
	h.Acks = w.int16()
	h.TimeoutMs = w.int32()
}

// count reads the count of an array whose elements take at least least bytes.
func (w *produceWalk) count(least int) int {
	n := w.length(w.flexible, false)
	switch {
	case w.what != "":
		return 0
	case n < 0:
		w.fail(nullValue)
		return 0
	case n > maxArray:
		w.fail(tooMany)
		return 0
	case n*least > w.left():
		w.fail(badCount)
		return 0
	}
	return n
}

// topics walks all topics: without fn to check and count, with fn after that.
func (w *produceWalk) topics(h *ProduceHead, fn func(ProducePartition) error) error {
	leastTopic, leastPartition := 6, 8 // name and count; index and size
	switch {
	case w.ids:
		leastTopic, leastPartition = 18, 6
	case w.flexible:
		leastTopic, leastPartition = 3, 6
	}
	topics := w.count(leastTopic)
	elements := topics // so far
	for range topics {
		w.at = w.p
		var p ProducePartition
		if w.ids {
			copy(p.TopicID[:], w.take(16))
		} else if n := w.length(w.flexible, true); n >= 0 {
			p.Topic = w.take(n)
		} else {
			w.fail(nullValue)
		}
		partitions := w.count(leastPartition)
		if elements += partitions; elements > maxElements {
			w.fail(overBudget)
		}
		if fn == nil {
			h.Topics++
			h.Partitions += partitions
		}
		for range partitions {
			w.at = w.p
			p.Index = w.int32()
			p.Records = nil
			switch n := w.length(w.flexible, false); {
			case n >= 0:
				p.Records = w.take(n)
			case n < -1:
				w.fail(badLength)
			}
			if w.flexible {
				w.tagged()
			}
			if w.what != "" {
				return nil
			}
			if fn != nil {
				if err := fn(p); err != nil {
					return err
				}
			}
		}
		if w.flexible {
			w.tagged()
		}
		if w.what != "" {
			return nil
		}
	}
	if w.flexible {
		w.tagged()
	}
	return nil
}
