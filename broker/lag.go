package broker

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
	"ringmain/coordinator/lag"
)

// GroupLag answers what package lag asks: committed offsets, and where logs end.
type GroupLag struct{ b *Broker }

// GroupLag gives the source for a lag.Watcher. It is asked between Start and Stop.
func (b *Broker) GroupLag() GroupLag { return GroupLag{b} }

// Committed implements lag.Commits.
func (l GroupLag) Committed(ctx context.Context, visit func(lag.Commit)) error {
	return l.ask(ctx, func(m *group.Machine, s *coordinator.Step, reply func(func(), error)) {
		var found []lag.Commit
		m.Committed(func(id string, kind group.Kind, state string, topic string, partition int32, offset, commitMs int64) {
			if offset < 0 { // none: it is committed to begin at an end of the log
				return
			}
			found = append(found, lag.Commit{Group: id, Type: string(kind), State: state, Topic: topic, Partition: partition, Offset: offset, TimeMs: commitMs})
		})
		reply(func() {
			for _, c := range found {
				visit(c)
			}
		}, nil)
	})
}

// Groups gives all groups whose coordinator this broker is, by their ids. What could
// not be asked is in the error.
func (l GroupLag) Groups(ctx context.Context) ([]lag.Group, error) {
	var out []lag.Group
	err := l.ask(ctx, func(m *group.Machine, s *coordinator.Step, reply func(func(), error)) {
		m.ListGroups(s, nil, nil, func(found []kmsg.ListGroupsResponseGroup, err error) {
			reply(func() {
				for _, g := range found {
					out = append(out, lag.Group{ID: g.Group, Type: g.GroupType, ProtocolType: g.ProtocolType, State: g.GroupState})
				}
			}, err)
		})
	})
	slices.SortFunc(out, func(a, b lag.Group) int { return strings.Compare(a.ID, b.ID) })
	return out, err
}

// ask runs step on every machine of this broker. What they hand to reply, once each,
// runs one after the other on the caller's goroutine.
func (l GroupLag) ask(ctx context.Context, step func(m *group.Machine, s *coordinator.Step, reply func(take func(), err error))) error {
	type answer struct {
		take func()
		err  error
	}
	n := l.b.groups.partitions()
	answers := make(chan answer, n) // nobody waits for one who has gone
	for i := range n {
		reply := func(take func(), err error) { answers <- answer{take, err} }
		l.b.groups.runtime.Do(i, func(m *group.Machine, s *coordinator.Step) { step(m, s, reply) }, func(err error) { reply(nil, err) })
	}
	var failed error
	for range n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a := <-answers:
			switch {
			case errors.Is(a.err, coordinator.ErrNotCoordinator): // others have these
			case a.err != nil:
				failed = a.err
			default:
				a.take()
			}
		}
	}
	return failed
}

// Bounds implements lag.Logs.
func (l GroupLag) Bounds(topic string, index int32) (lag.Bounds, bool) {
	r := l.b.replicas.topic(topic).at(index)
	if r == nil || r.CheckLeader(-1) != nil {
		return lag.Bounds{}, false
	}
	return lag.Bounds{Start: r.Log().StartOffset(), End: r.HighWatermark(), AppendTime: r.Settings().Rules.LogAppendTime}, true
}

// Time implements lag.Logs.
func (l GroupLag) Time(topic string, index int32, offset int64) (ms int64, appended, ok bool) {
	r := l.b.replicas.topic(topic).at(index)
	if r == nil {
		return 0, false, false
	}
	ms, appended, ok, err := r.Log().BatchTime(offset, r.HighWatermark())
	return ms, appended, ok && err == nil
}
