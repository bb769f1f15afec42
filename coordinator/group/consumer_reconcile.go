package group

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/metadata"
	"ringmain/model"
)

// reconcile takes a member one step towards its target. owned is what it said that it
// owns, nil where it did not say; changed, that its subscription is not what it was.
func (c *consumer) reconcile(s *coordinator.Step, m *consumerMember, owned []kmsg.ConsumerGroupHeartbeatRequestTopic, changed bool) {
	if m.reached(c.assignmentEpoch) && !changed {
		return
	}
	now := c.step(s.Image, m, owned, changed)
	if sameCurrent(now, m.currentAssignment) {
		return
	}
	now.previous = m.epoch
	c.setCurrent(s, m.id, now)
	switch {
	case m.said.ClassicMemberMetadata != nil:
	case m.state == unrevoked:
		c.awaitRevocation(s, m)
	default:
		c.m.deadlines.Cancel(&m.rebalance)
	}
}

func sameCurrent(a, b currentAssignment) bool {
	return a.epoch == b.epoch && a.state == b.state && maps.Equal(a.assigned, b.assigned) && maps.Equal(a.revoking, b.revoking)
}

// step gives what the member has next. It does not change anything.
func (c *consumer) step(img *metadata.Image, m *consumerMember, owned []kmsg.ConsumerGroupHeartbeatRequestTopic, changed bool) currentAssignment {
	may := c.mayHave(img, m)
	switch {
	case m.state == stable && m.epoch == c.assignmentEpoch, m.state == unrevoked && owns(owned, m.revoking):
		if changed {
			return m.withdraw(may, owned)
		}
		return m.currentAssignment
	}
	return c.approach(m, may, owned)
}

// owns reports whether the member may still own some of these: it says so, or it
// does not say.
func owns(owned []kmsg.ConsumerGroupHeartbeatRequestTopic, some partitions) bool {
	if owned == nil {
		return true
	}
	for i := range owned {
		for _, p := range owned[i].Partitions {
			if _, ok := some[topicPartition{owned[i].TopicID, p}]; ok {
				return true
			}
		}
	}
	return false
}

// mayHave says which topics the member subscribes to.
func (c *consumer) mayHave(img *metadata.Image, m *consumerMember) func(model.TopicID) bool {
	var matched []string
	if r := c.regexes[m.regex()]; r != nil {
		matched = r.topics
	}
	known := map[model.TopicID]bool{}
	return func(id model.TopicID) bool {
		may, seen := known[id]
		if !seen {
			if topic := img.TopicByID(id); topic != nil {
				_, may = slices.BinarySearch(m.said.SubscribedTopicNames, topic.Name)
				if !may {
					_, may = slices.BinarySearch(matched, topic.Name)
				}
			}
			known[id] = may
		}
		return may
	}
}

// withdraw takes topics away that the member does not subscribe to any more, without
// waiting for a target that knows that.
func (m *consumerMember) withdraw(may func(model.TopicID) bool, owned []kmsg.ConsumerGroupHeartbeatRequestTopic) currentAssignment {
	now := m.currentAssignment
	kept, revoked := partitions{}, maps.Clone(m.revoking)
	if revoked == nil {
		revoked = partitions{}
	}
	for tp, since := range m.assigned {
		if may(tp.topic) {
			kept[tp] = since
		} else {
			revoked[tp] = since
		}
	}
	if len(kept) == len(m.assigned) {
		return now
	}
	now.assigned = kept
	if owns(owned, revoked) {
		now.state, now.revoking = unrevoked, revoked
	}
	return now
}

// approach takes what is not in the target from the member, and once it has
// confirmed that, or has nothing to give up, lets it have what is free of the rest.
func (c *consumer) approach(m *consumerMember, may func(model.TopicID) bool, owned []kmsg.ConsumerGroupHeartbeatRequestTopic) currentAssignment {
	kept, revoked := maps.Clone(m.assigned), partitions{}
	if kept == nil {
		kept = partitions{}
	}
	target := map[topicPartition]bool{}
	for topic, list := range c.target[m.id] {
		if may(topic) {
			for _, p := range list {
				target[topicPartition{topic, p}] = true
			}
		}
	}
	for tp, since := range kept {
		if !target[tp] {
			revoked[tp] = since
			delete(kept, tp)
		}
	}
	if len(revoked) > 0 && owns(owned, revoked) {
		return currentAssignment{epoch: m.epoch, state: unrevoked, assigned: kept, revoking: revoked}
	}
	now := currentAssignment{epoch: c.assignmentEpoch, state: stable, assigned: kept}
	for tp := range target {
		if _, has := kept[tp]; has {
			continue
		}
		if owner := c.owners[tp]; owner != nil && owner != m {
			now.state = unreleased
		} else {
			kept[tp] = c.assignmentEpoch
		}
	}
	return now
}
