package group

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"ringmain/cmd/ringmain/internal/connection"
)

// PlanReset works out what a reset to t does to group g in the partitions of the
// scope; a nil scope means every partition with a committed offset. It sends nothing
// that changes anything.
func PlanReset(ctx context.Context, c *connection.Conn, g *Group, t Target, scope Scope) ([]Move, error) {
	places, err := places(ctx, c, g, scope)
	if err != nil {
		return nil, err
	}
	times := map[string]map[int32]int64{}
	if t.Way == ToTime && len(places) > 0 {
		if times, err = atTime(ctx, c, places, t.TimeMs); err != nil {
			return nil, err
		}
	}
	moves := make([]Move, 0, len(places))
	for _, o := range places {
		if o.Start < 0 || o.End < 0 {
			return nil, fmt.Errorf("partition %d of topic %q: %s", o.Partition, o.Topic, o.Error)
		}
		found, ok := times[o.Topic][o.Partition]
		if !ok {
			found = -1
		}
		at, note, err := t.At(o, found)
		if err != nil {
			return nil, err
		}
		moves = append(moves, Move{Group: g.Group, Topic: o.Topic, Partition: o.Partition, Current: o.Committed, New: at, Lag: o.End - at, Note: note})
	}
	return moves, nil
}

// PlanRows does it for offsets that a file gives, partition by partition.
func PlanRows(ctx context.Context, c *connection.Conn, g *Group, rows []Row) ([]Move, error) {
	scope := Scope{}
	want := map[string]map[int32]int64{}
	for _, r := range rows {
		scope[r.Topic] = append(scope[r.Topic], r.Partition)
		if want[r.Topic] == nil {
			want[r.Topic] = map[int32]int64{}
		}
		want[r.Topic][r.Partition] = r.Offset
	}
	places, err := places(ctx, c, g, scope)
	if err != nil {
		return nil, err
	}
	moves := make([]Move, 0, len(places))
	for _, o := range places {
		at, note, err := Target{Way: FromFile, Offset: want[o.Topic][o.Partition]}.At(o, -1)
		if err != nil {
			return nil, err
		}
		moves = append(moves, Move{Group: g.Group, Topic: o.Topic, Partition: o.Partition, Current: o.Committed, New: at, Lag: o.End - at, Note: note})
	}
	return moves, nil
}

// places are the partitions of the scope with where the group stands in each.
func places(ctx context.Context, c *connection.Conn, g *Group, scope Scope) ([]Offset, error) {
	if scope == nil {
		var out []Offset
		for _, o := range g.Offsets {
			if o.Committed >= 0 {
				out = append(out, o)
			}
		}
		return out, nil
	}
	topics := slices.Sorted(maps.Keys(scope))
	ends, err := endsOf(ctx, c, topics)
	if err != nil {
		return nil, err
	}
	var out []Offset
	for _, topic := range topics {
		existing := ends.ends[topic]
		if _, none := existing[-1]; none || len(existing) == 0 {
			return nil, fmt.Errorf("topic %q does not exist; 'ringmain topic list' shows what does", topic)
		}
		partitions := scope[topic]
		if len(partitions) == 0 {
			partitions = slices.Sorted(maps.Keys(existing))
		}
		for _, p := range partitions {
			if _, ok := existing[p]; !ok {
				return nil, fmt.Errorf("topic %q has no partition %d: it has %d, numbered from 0", topic, p, len(existing))
			}
			o := Offset{Topic: topic, Partition: p, Committed: -1, Start: -1, End: -1, Lag: -1}
			for _, has := range g.Offsets {
				if has.Topic == topic && has.Partition == p {
					o = has
				}
			}
			ends.fill(&o)
			out = append(out, o)
		}
	}
	slices.SortFunc(out, compareOffsets)
	return out, nil
}

// atTime are the offsets of the first records of a time or later, where there are some.
func atTime(ctx context.Context, c *connection.Conn, places []Offset, ms int64) (map[string]map[int32]int64, error) {
	var topics []string
	for _, o := range places {
		if !slices.Contains(topics, o.Topic) {
			topics = append(topics, o.Topic)
		}
	}
	listed, err := part(c.Admin.ListOffsetsAfterMilli(ctx, ms, topics...))
	if err != nil {
		return nil, fmt.Errorf("offsets by time: %w", c.Explain(err))
	}
	out := map[string]map[int32]int64{}
	for topic, ps := range listed {
		out[topic] = map[int32]int64{}
		for p, l := range ps {
			if l.Err != nil {
				return nil, connection.RefusedErr(fmt.Sprintf("offsets by time of partition %d of topic %q", p, topic), l.Err, "")
			}
			out[topic][p] = l.Offset
		}
	}
	return out, nil
}
