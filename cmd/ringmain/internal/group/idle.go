package group

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ringmain/cmd/ringmain/internal/connection"
)

// Idle is Describe for a change of offsets: groups that have members are in failures,
// since a member would write its own offsets over the new ones, and a group that does
// not exist is one without offsets.
func Idle(ctx context.Context, c *connection.Conn, ids []string) (groups []Group, failures []error, err error) {
	described, failed, err := Describe(ctx, c, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, err := range failed {
		var u *UnknownError
		if errors.As(err, &u) {
			described = append(described, Group{Group: u.Group, Type: Classic, State: "Dead"})
			continue
		}
		failures = append(failures, err)
	}
	for _, g := range described {
		switch g.State {
		case "Empty", "Dead":
			groups = append(groups, g)
		default:
			failures = append(failures, fmt.Errorf("offsets of group %q can be reset only while it has no members; it is %s with %d: stop them first", g.Group, g.State, len(g.Members)))
		}
	}
	return groups, failures, nil
}

// Committed are the committed offsets of the partitions in the scope. A partition or a
// topic without any is an error.
func (g *Group) Committed(scope Scope) (out []Offset, err error) {
	for topic, partitions := range scope {
		seen := map[int32]bool{}
		for _, o := range g.Offsets {
			if o.Topic == topic && o.Committed >= 0 {
				seen[o.Partition] = true
			}
		}
		if len(seen) == 0 {
			return nil, fmt.Errorf("group %q has no committed offset of topic %q", g.Group, topic)
		}
		for _, p := range partitions {
			if !seen[p] {
				return nil, fmt.Errorf("group %q has no committed offset of partition %d of topic %q", g.Group, p, topic)
			}
		}
	}
	for _, o := range g.Offsets {
		if partitions, ok := scope[o.Topic]; ok && o.Committed >= 0 && (len(partitions) == 0 || slices.Contains(partitions, o.Partition)) {
			out = append(out, o)
		}
	}
	return out, nil
}
