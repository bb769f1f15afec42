package group

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/cmd/ringmain/internal/connection"
)

// Offset is where a group stands in one partition. Offsets and lag are -1 where nobody
// knows: nothing is committed, or the partition does not exist any more.
type Offset struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed int64  `json:"committed_offset"` // of the next record to read
	Start     int64  `json:"start_offset"`
	End       int64  `json:"end_offset"` // high watermark
	Lag       int64  `json:"lag"`        // records from Committed to End
	Metadata  string `json:"metadata,omitempty"`
	MemberID  string `json:"member_id,omitempty"` // who has the partition now
	Host      string `json:"host,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	Error     string `json:"error,omitempty"`
}

// addOffsets gives each group its committed offsets, and the partitions its members
// have without one, with the ends of their logs.
func addOffsets(ctx context.Context, c *connection.Conn, groups map[string]*Group) (failures []error, err error) {
	if len(groups) == 0 {
		return nil, nil
	}
	fetched := c.Admin.FetchManyOffsets(ctx, slices.Sorted(maps.Keys(groups))...)
	topics := kadm.TopicsSet{}
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		g := groups[id]
		g.Offsets = []Offset{}
		f := fetched[id]
		if f.Err != nil {
			failures = append(failures, connection.RefusedErr(fmt.Sprintf("offsets of group %q", id), refusal(f.Err), ""))
			continue
		}
		at := map[string]map[int32]*Offset{}
		entry := func(topic string, partition int32) *Offset {
			if at[topic] == nil {
				at[topic] = map[int32]*Offset{}
			}
			o := at[topic][partition]
			if o == nil {
				o = &Offset{Topic: topic, Partition: partition, Committed: -1, Start: -1, End: -1, Lag: -1}
				at[topic][partition] = o
			}
			topics.Add(topic, partition)
			return o
		}
		f.Fetched.Each(func(r kadm.OffsetResponse) {
			if r.Err != nil {
				entry(r.Topic, r.Partition).Error = r.Err.Error()
			} else if r.At >= 0 {
				o := entry(r.Topic, r.Partition)
				o.Committed, o.Metadata = r.At, r.Metadata
			}
		})
		for i := range g.Members {
			m := &g.Members[i]
			for topic, ps := range m.Assignment {
				for _, p := range ps {
					o := entry(topic, p)
					o.MemberID, o.Host, o.ClientID = m.MemberID, m.Host, m.ClientID
				}
			}
		}
		for _, ps := range at {
			for _, o := range ps {
				g.Offsets = append(g.Offsets, *o)
			}
		}
		slices.SortFunc(g.Offsets, compareOffsets)
	}
	ends, err := endsOf(ctx, c, topics.Topics())
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		for i := range g.Offsets {
			ends.fill(&g.Offsets[i])
			g.Lag += max(0, g.Offsets[i].Lag)
		}
	}
	return failures, nil
}

// logEnds are both ends of the logs of some topics.
type logEnds struct{ starts, ends kadm.ListedOffsets }

func endsOf(ctx context.Context, c *connection.Conn, topics []string) (e logEnds, err error) {
	if len(topics) == 0 {
		return e, nil
	}
	if e.starts, err = part(c.Admin.ListStartOffsets(ctx, topics...)); err != nil {
		return e, fmt.Errorf("log start offsets: %w", c.Explain(err))
	}
	if e.ends, err = part(c.Admin.ListEndOffsets(ctx, topics...)); err != nil {
		return e, fmt.Errorf("log end offsets: %w", c.Explain(err))
	}
	return e, nil
}

// fill sets ends and lag of o.
func (e logEnds) fill(o *Offset) {
	if s, ok := e.starts.Lookup(o.Topic, o.Partition); ok && s.Err == nil {
		o.Start = s.Offset
	}
	end, ok := e.ends.Lookup(o.Topic, o.Partition)
	switch {
	case ok && end.Err == nil:
		o.End = end.Offset
		if o.Committed >= 0 {
			o.Lag = max(0, o.End-o.Committed)
		}
	case o.Error != "":
	case ok:
		o.Error = end.Err.Error()
	default:
		o.Error = "the partition does not exist"
	}
}
