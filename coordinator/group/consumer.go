package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator"
	"ringmain/coordinator/assignor"
	"ringmain/metadata"
)

// consumer is a group's members under the consumer protocol (KIP-848). The broker
// assigns: it computes a target for the whole group and leads every member there by
// the answers to its heartbeats, so that a partition is given to a member only after
// the one that had it said that it gave it up.
//
// Three epochs say how far that has come. The group's is raised when there is reason
// to assign anew, the assignment's is the group epoch that the target was computed
// for, and a member's is the assignment epoch that it has reached.
//
// Members that speak the classic protocol may be among the members
// (consumer_classic.go): a group changes its protocol while it works.
type consumer struct {
	m *Machine
	g *group

	epoch           int32
	metadataHash    int64
	assignmentEpoch int32
	assignedAtMs    int64 // time of day of the target; 0: the next need not wait

	members map[string]*consumerMember
	static  map[string]*consumerMember // by instance id
	target  map[string]assignor.Assignment
	// owners is who has a partition, or has not confirmed yet that it gave it up.
	owners map[topicPartition]*consumerMember
	// topics counts by whom a topic is subscribed to: by members with its name, and
	// by resolved expressions.
	topics  map[string]int
	regexes map[string]*topicRegex
	votes   map[string]int // for assignors
	// classicMembers speak the classic protocol, and support counts their protocols.
	classicMembers int
	support        map[string]int

	// stale says that the metadata may differ from what metadataHash was made of.
	stale       bool
	topicHashes map[string]uint64
	// topicsCreatedAt is the offset of the metadata in which topics were created last,
	// which expressions may match.
	topicsCreatedAt int64
	resolution      *resolution // under way, or nil
	resolve         coordinator.Deadline
}

// firstEpoch is that of a group of which nothing was recorded yet. Its target, for
// nobody, is taken as computed.
const firstEpoch = 1

func newConsumer(m *Machine, g *group) *consumer {
	c := &consumer{
		m: m, g: g, epoch: firstEpoch, assignmentEpoch: firstEpoch, stale: true,
		members: map[string]*consumerMember{},
		static:  map[string]*consumerMember{},
		target:  map[string]assignor.Assignment{},
		owners:  map[topicPartition]*consumerMember{},
		topics:  map[string]int{},
		regexes: map[string]*topicRegex{},
		votes:   map[string]int{},
		support: map[string]int{},
	}
	c.resolve.Fire = c.resolveOn
	return c
}

func (c *consumer) kind() Kind { return Consumer }

// state is derived: nothing has to be written when it changes.
func (c *consumer) state(*coordinator.Step) string {
	switch {
	case len(c.members) == 0:
		return "Empty"
	case c.epoch > c.assignmentEpoch:
		return "Assigning"
	}
	for _, m := range c.members {
		if !m.reached(c.assignmentEpoch) {
			return "Reconciling"
		}
	}
	return "Stable"
}

func (c *consumer) protocolType() string { return consumerProtocolType }

func (c *consumer) size() int { return len(c.members) }

// mayCommit takes a member's epoch, and an older one for the partitions that the
// member has had since then: what it commits on its way to a newer epoch is as good.
func (c *consumer) mayCommit(s *coordinator.Step, by *commitCredentials) (int16, func(string, int32) int16) {
	if by.generation < 0 && len(c.members) == 0 {
		return 0, nil
	}
	m := c.members[by.memberID]
	switch {
	case m == nil:
		return kerr.UnknownMemberID.Code, nil
	case m.said.ClassicMemberMetadata == nil && by.version < 9:
		return kerr.UnsupportedVersion.Code, nil
	case by.generation == m.epoch:
		return 0, nil
	case by.generation > m.epoch:
		return m.wrongEpoch(), nil
	}
	img := s.Image
	return 0, func(name string, partition int32) int16 {
		if topic := img.Topic(name); topic != nil {
			tp := topicPartition{topic.ID, partition}
			since, has := m.assigned[tp]
			if !has {
				since, has = m.revoking[tp]
			}
			if has && by.generation >= since {
				return 0
			}
		}
		return m.wrongEpoch()
	}
}

func (c *consumer) mayFetch(_ *coordinator.Step, memberID string, epoch int32) int16 {
	m := c.members[memberID]
	switch {
	case m == nil:
		return kerr.UnknownMemberID.Code
	case m.epoch != epoch:
		return m.wrongEpoch()
	}
	return 0
}

func (c *consumer) subscribed(topic string) (yes, known bool) { return c.topics[topic] > 0, true }

// emptySinceMs is never known: no record has it, and Kafka's rule for offsets of
// such groups counts from the commit.
func (c *consumer) emptySinceMs() (int64, bool) { return 0, false }

func (c *consumer) mayDelete() int16 {
	if len(c.members) > 0 {
		return kerr.NonEmptyGroup.Code
	}
	return 0
}

// topicsChanged only notes it: the next heartbeat does what is to be done.
func (c *consumer) topicsChanged(s *coordinator.Step, d *metadata.Delta) {
	if len(d.Created) > 0 {
		c.topicsCreatedAt = s.Image.Offset()
	}
	for name := range c.topics {
		if touches(d, name) {
			c.stale = true
			delete(c.topicHashes, name)
		}
	}
}

func (c *consumer) loaded(s *coordinator.Step) {
	c.topicsCreatedAt = s.Image.Offset()
	for _, m := range c.members {
		c.renew(s, m)
		if m.state == unrevoked && m.said.ClassicMemberMetadata == nil {
			c.awaitRevocation(s, m)
		}
	}
}

// unload has nobody to tell: every request is answered in its own step.
func (c *consumer) unload(error) {}

func (c *consumer) gone() {
	for _, m := range c.members {
		c.cancelDeadlines(m)
	}
	c.m.deadlines.Cancel(&c.resolve)
	c.resolution = nil
}
