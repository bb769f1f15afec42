package tail

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/position"
)

// Options say what to read.
type Options struct {
	Topic         string
	Partitions    []int32 // empty: all
	Range         position.Range
	ExitAtEnd     bool  // stop at the end as it is at the start of the command
	Count         int64 // stop after so many records; 0: no limit
	ReadCommitted bool  // leave out records of open and aborted transactions
}

// span is what to read of one partition: [next, stop). stop is -1 when there
// is no known end. Offsets.
type span struct {
	next, stop int64
	leader     int32
}

func (s span) done() bool { return s.stop >= 0 && s.next >= s.stop }

// plan is what to read of the topic, by partition.
type plan struct {
	topicID [16]byte
	spans   map[int32]span
}

// total is the number of offsets to read, or 0 when that has no end.
func (p plan) total() int64 {
	var n int64
	for _, s := range p.spans {
		if s.stop < 0 {
			return 0
		}
		n += max(0, s.stop-s.next)
	}
	return n
}

func makePlan(ctx context.Context, c *connection.Conn, o Options, now time.Time, warn func(string)) (plan, error) {
	ctx, cancel := c.Request(ctx)
	defer cancel()
	meta, err := c.Admin.Metadata(ctx, o.Topic)
	if err != nil {
		return plan{}, c.Explain(err)
	}
	topic := meta.Topics[o.Topic]
	if topic.Err != nil {
		return plan{}, connection.RefusedErr(fmt.Sprintf("topic %q", o.Topic), topic.Err, "")
	}
	partitions, err := choose(o, topic)
	if err != nil {
		return plan{}, err
	}
	b := bounds{ctx: ctx, c: c, topic: o.Topic, committed: o.ReadCommitted}
	starts, err := b.starts()
	if err != nil {
		return plan{}, err
	}
	ends, err := b.ends()
	if err != nil {
		return plan{}, err
	}
	var times map[int32]int64
	if o.Range.Start.Kind == position.AtTime {
		if times, err = b.after(o.Range.Start.TimeMs); err != nil {
			return plan{}, err
		}
	}
	// Records before a time that has passed are all there, near enough; waiting
	// for one that is not would mean waiting for ever.
	bounded := o.ExitAtEnd || o.Range.UntilMs >= 0 && o.Range.UntilMs <= now.UnixMilli()
	p := plan{topicID: topic.ID, spans: map[int32]span{}}
	for _, n := range partitions {
		s := span{stop: -1, leader: topic.Partitions[n].Leader}
		if s.next, err = startOffset(o, n, starts[n], ends[n], times, warn); err != nil {
			return plan{}, err
		}
		if bounded {
			s.stop = ends[n]
		}
		p.spans[n] = s
	}
	return p, nil
}

// choose returns the partitions to read, checked against those that exist.
func choose(o Options, topic kadm.TopicDetail) ([]int32, error) {
	existing := slices.Sorted(maps.Keys(topic.Partitions))
	if len(o.Partitions) == 0 {
		return existing, nil
	}
	for _, p := range o.Partitions {
		if _, ok := topic.Partitions[p]; !ok {
			return nil, fmt.Errorf("topic %q has no partition %d: it has %d, numbered from 0", o.Topic, p, len(existing))
		}
	}
	return o.Partitions, nil
}

// startOffset is where to begin in one partition.
func startOffset(o Options, partition int32, start, end int64, times map[int32]int64, warn func(string)) (int64, error) {
	switch at := o.Range.Start; at.Kind {
	case position.End:
		return end, nil
	case position.FromEnd:
		return max(start, end-at.Offset), nil
	case position.AtTime:
		return max(start, times[partition]), nil
	case position.Exact:
		if at.Offset >= start && at.Offset <= end {
			return at.Offset, nil
		}
		outside := fmt.Sprintf("offset %d is not in partition %d of topic %q, which holds the offsets from %d up to %d", at.Offset, partition, o.Topic, start, end)
		if len(o.Partitions) > 0 {
			return 0, fmt.Errorf("%s", outside)
		}
		// One offset for all partitions rarely fits all of them.
		nearest := min(max(at.Offset, start), end)
		warn(fmt.Sprintf("%s; starting at %d there", outside, nearest))
		return nearest, nil
	default:
		return start, nil
	}
}

// bounds asks for offsets of one topic.
type bounds struct {
	ctx       context.Context
	c         *connection.Conn
	topic     string
	committed bool
}

func (b bounds) starts() (map[int32]int64, error) {
	listed, err := b.c.Admin.ListStartOffsets(b.ctx, b.topic)
	return b.offsets(listed, err)
}

// ends are high watermarks, or last stable offsets when only committed records
// are read.
func (b bounds) ends() (map[int32]int64, error) {
	list := b.c.Admin.ListEndOffsets
	if b.committed {
		list = b.c.Admin.ListCommittedOffsets
	}
	listed, err := list(b.ctx, b.topic)
	return b.offsets(listed, err)
}

// after are the offsets of the first records at or after a time in
// milliseconds; the end where there is none.
func (b bounds) after(ms int64) (map[int32]int64, error) {
	listed, err := b.c.Admin.ListOffsetsAfterMilli(b.ctx, ms, b.topic)
	return b.offsets(listed, err)
}

func (b bounds) offsets(listed kadm.ListedOffsets, err error) (map[int32]int64, error) {
	if err != nil {
		return nil, b.c.Explain(err)
	}
	out := map[int32]int64{}
	for n, l := range listed[b.topic] {
		if l.Err != nil {
			return nil, connection.RefusedErr(fmt.Sprintf("offsets of partition %d of topic %q", n, b.topic), l.Err, "")
		}
		out[n] = l.Offset
	}
	return out, nil
}
