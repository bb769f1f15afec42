package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"ringmain/cmd/ringmain/internal/connection"
)

// Group is where one group stands.
type Group struct {
	Group           string   `json:"group"`
	Type            Kind     `json:"type"`
	ProtocolType    string   `json:"protocol_type"`
	State           string   `json:"state"`
	Coordinator     int32    `json:"coordinator"`                // broker id
	Assignor        string   `json:"assignor"`                   // empty: none chosen yet
	Epoch           int32    `json:"epoch,omitempty"`            // consumer groups
	AssignmentEpoch int32    `json:"assignment_epoch,omitempty"` // consumer groups
	Members         []Member `json:"members"`
	Offsets         []Offset `json:"offsets"`
	Lag             int64    `json:"lag"` // sum of what is known
}

// Member is one member. Static members have an instance id (KIP-345).
type Member struct {
	MemberID   string             `json:"member_id"`
	InstanceID string             `json:"instance_id,omitempty"`
	ClientID   string             `json:"client_id"`
	Host       string             `json:"host"`
	Epoch      int32              `json:"epoch,omitempty"` // consumer groups
	Topics     []string           `json:"topics"`          // subscribed by name
	Regex      string             `json:"regex,omitempty"` // subscribed by pattern
	Assignment map[string][]int32 `json:"assignment"`
	// Target is what the member is to have in the end, where that differs.
	Target map[string][]int32 `json:"target,omitempty"`
}

// Partitions counts the partitions that the member has.
func (m *Member) Partitions() int {
	n := 0
	for _, ps := range m.Assignment {
		n += len(ps)
	}
	return n
}

// Describe tells where the groups stand, in the order given; no ids mean all groups
// that have committed offsets. What could not be had is in failures, group by group.
func Describe(ctx context.Context, c *connection.Conn, ids []string) (groups []Group, failures []error, err error) {
	listed, err := List(ctx, c, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	kinds := map[string]Kind{}
	for _, l := range listed {
		kinds[l.Group] = l.Type
	}
	if len(ids) == 0 {
		for _, l := range listed {
			if l.Type.Supported(l.Group) == nil {
				ids = append(ids, l.Group)
			}
		}
	}
	var classic, consumer []string
	for _, id := range ids {
		switch k, ok := kinds[id]; {
		case !ok:
			failures = append(failures, &UnknownError{id})
		case k == Consumer:
			consumer = append(consumer, id)
		case k == Classic:
			classic = append(classic, id)
		default:
			failures = append(failures, k.Supported(id))
		}
	}
	found := map[string]*Group{}
	failed, err := describeClassic(ctx, c, classic, found)
	if err != nil {
		return nil, nil, err
	}
	failures = append(failures, failed...)
	if failed, err = describeConsumer(ctx, c, consumer, found); err != nil {
		return nil, nil, err
	}
	failures = append(failures, failed...)
	failed, err = addOffsets(ctx, c, found)
	if err != nil {
		return nil, nil, err
	}
	groups = []Group{}
	for _, id := range ids {
		if g := found[id]; g != nil {
			groups = append(groups, *g)
		}
	}
	return groups, append(failures, failed...), nil
}

// UnknownError says that a group does not exist.
type UnknownError struct{ Group string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no group %q; 'ringmain group list' shows what exists", e.Group)
}

func describeClassic(ctx context.Context, c *connection.Conn, ids []string, into map[string]*Group) (failures []error, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	described, err := c.Admin.DescribeGroups(ctx, ids...)
	if described, err = part(described, err); err != nil {
		return nil, fmt.Errorf("describe groups: %w", c.Explain(err))
	}
	for _, id := range ids {
		d, ok := described[id]
		if !ok || d.Err != nil {
			failures = append(failures, missing(id, d.Err, d.ErrMessage))
			continue
		}
		g := &Group{Group: id, Type: Classic, ProtocolType: d.ProtocolType, State: d.State, Coordinator: d.Coordinator.NodeID, Assignor: d.Protocol, Members: []Member{}}
		for i := range d.Members {
			m := &d.Members[i]
			out := Member{MemberID: m.MemberID, InstanceID: text(m.InstanceID), ClientID: m.ClientID, Host: m.ClientHost, Topics: []string{}, Assignment: map[string][]int32{}}
			if join, ok := m.Join.AsConsumer(); ok {
				out.Topics = sorted(join.Topics)
			}
			if assigned, ok := m.Assigned.AsConsumer(); ok {
				for _, t := range assigned.Topics {
					out.Assignment[t.Topic] = sorted(t.Partitions)
				}
			}
			g.Members = append(g.Members, out)
		}
		into[id] = g
	}
	return failures, nil
}

func describeConsumer(ctx context.Context, c *connection.Conn, ids []string, into map[string]*Group) (failures []error, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	described, err := c.Admin.DescribeConsumerGroups(ctx, ids...)
	if described, err = part(described, err); err != nil {
		return nil, fmt.Errorf("describe groups: %w", c.Explain(err))
	}
	for _, id := range ids {
		d, ok := described[id]
		if !ok || d.Err != nil {
			failures = append(failures, missing(id, d.Err, ""))
			continue
		}
		g := &Group{Group: id, Type: Consumer, ProtocolType: "consumer", State: d.State, Coordinator: d.Coordinator.NodeID, Assignor: d.AssignorName,
			Epoch: d.Epoch, AssignmentEpoch: d.AssignmentEpoch, Members: []Member{}}
		for i := range d.Members {
			m := &d.Members[i]
			out := Member{MemberID: m.MemberID, InstanceID: text(m.InstanceID), ClientID: m.ClientID, Host: m.ClientHost, Epoch: m.MemberEpoch,
				Topics: sorted(m.SubscribedTopics), Regex: text(m.SubscribedTopicRegex), Assignment: partitions(m.Assignment)}
			if target := partitions(m.TargetAssignment); !sameAssignment(target, out.Assignment) {
				out.Target = target
			}
			g.Members = append(g.Members, out)
		}
		into[id] = g
	}
	return failures, nil
}

// part lets what some brokers answered count although others did not answer: those
// groups are missing in the map, and are named one by one.
func part[M ~map[string]V, V any](found M, err error) (M, error) {
	var shards *kadm.ShardErrors
	if asShards(err, &shards) && !shards.AllFailed {
		return found, nil
	}
	return found, refusal(err)
}

func asShards(err error, to **kadm.ShardErrors) bool { return errors.As(err, to) }

func missing(id string, err error, message string) error {
	what := fmt.Sprintf("describe group %q", id)
	if err == nil {
		return fmt.Errorf("%s: its coordinator did not answer", what)
	}
	return connection.RefusedErr(what, err, message)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func sorted[E string | int32](list []E) []E {
	out := append([]E{}, list...)
	slices.Sort(out)
	return out
}

func partitions(set kadm.TopicsSet) map[string][]int32 {
	out := map[string][]int32{}
	for topic, ps := range set {
		if topic == "" { // named by its id alone
			continue
		}
		for p := range ps {
			out[topic] = append(out[topic], p)
		}
		slices.Sort(out[topic])
	}
	return out
}

func sameAssignment(a, b map[string][]int32) bool {
	if len(a) != len(b) {
		return false
	}
	for topic, ps := range a {
		if !slices.Equal(ps, b[topic]) {
			return false
		}
	}
	return true
}

// compareOffsets is the order of topics and partitions.
func compareOffsets(a, b Offset) int {
	if n := strings.Compare(a.Topic, b.Topic); n != 0 {
		return n
	}
	return int(a.Partition) - int(b.Partition)
}
