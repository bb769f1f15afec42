package group

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/cmd/ringmain/internal/connection"
)

// Listed is one group as ListGroups names it.
type Listed struct {
	Group        string `json:"group"`
	Type         Kind   `json:"type"`
	ProtocolType string `json:"protocol_type"`
	State        string `json:"state"`
	Coordinator  int32  `json:"coordinator"` // broker id
}

// List gives the groups of the cluster by name, those of the states and types given
// where some are. Brokers that know no types (before Kafka 3.8) have classic groups
// only.
func List(ctx context.Context, c *connection.Conn, states, types []string) ([]Listed, error) {
	found, err := c.Admin.ListGroupsByType(ctx, types, states...)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", c.Explain(refusal(err)))
	}
	out := []Listed{}
	for _, g := range found {
		l := Listed{Group: g.Group, Type: Kind(g.GroupType), ProtocolType: g.ProtocolType, State: g.State, Coordinator: g.Coordinator}
		if l.Type == "" {
			l.Type = Classic
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Listed) int { return strings.Compare(a.Group, b.Group) })
	return out, nil
}

// refusal takes the first broker's error out of kadm's collection: with one
// coordinator for each group, that is the one that matters.
func refusal(err error) error {
	var shards *kadm.ShardErrors
	if ok := asShards(err, &shards); ok && len(shards.Errs) > 0 {
		return shards.Errs[0].Err
	}
	return err
}
