package group

import (
	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/coordinator"
	"ringmain/metadata"
)

// classicState is where a classic group stands, in the words of DescribeGroups.
type classicState string

const (
	classicEmpty      classicState = "Empty"
	classicPreparing  classicState = "PreparingRebalance"  // members are asked to join
	classicCompleting classicState = "CompletingRebalance" // a generation has begun; its leader assigns
	classicStable     classicState = "Stable"
	classicDead       classicState = "Dead" // of a group that does not exist
)

// classic is a group's members under the classic protocol: they meet in JoinGroup,
// one of them, the leader, assigns, and they get their share in SyncGroup.
//
// The log has the group as it was when it last became Stable or Empty, or replaced a
// static member. Between two records the group is ahead of its log: who has joined
// since, and the generation that they were given, count from the leader's SyncGroup
// on. A group that is loaded in between is back in the generation before, and the
// members who know the newer one are told to join again.
type classic struct {
	m *Machine
	g *group

	current classicState
	sinceMs int64 // time of day when current began; -1: not recorded

	generation int32
	typ        string  // the protocol type; "" where nobody ever joined
	protocol   *string // that the members agreed on; nil without a generation
	leader     string  // member id; "" without members

	members []*classicMember // in no order
	byID    map[string]*classicMember
	static  map[string]*classicMember // by instance id
	pending map[string]*pendingMember // by member id
	support map[string]int            // members that speak each protocol

	parked   int // members that wait in JoinGroup
	unsynced int // members that have not asked for their share of this generation

	// phase ends what the group waits for: members to join (PreparingRebalance), or
	// to ask for their share (CompletingRebalance, Stable).
	phase coordinator.Deadline
	// initial is there while a rebalance that began in Empty takes its time, so that a
	// fleet that starts is assigned once and not once for each member.
	initial *initialDelay
	// topics are those that the members of the generation read.
	topics subscriptions
}

// newClassic makes an empty membership that no record tells of.
func newClassic(m *Machine, g *group) *classic {
	c := &classic{m: m, g: g, current: classicEmpty, sinceMs: -1}
	c.phase.Fire = c.endPhase
	return c
}

func (c *classic) kind() Kind { return Classic }

func (c *classic) state(*coordinator.Step) string { return string(c.current) }

func (c *classic) protocolType() string { return c.typ }

func (c *classic) size() int { return len(c.members) }

func (c *classic) enter(s *coordinator.Step, state classicState) {
	c.current, c.sinceMs = state, s.WallMs
}

// known gives the member of these credentials. code is FENCED_INSTANCE_ID where the
// instance id has another member by now, UNKNOWN_MEMBER_ID where there is none.
func (c *classic) known(memberID string, instance *string) (m *classicMember, code int16) {
	if instance != nil {
		switch holder := c.static[*instance]; {
		case holder == nil:
			return nil, kerr.UnknownMemberID.Code
		case holder.id != memberID:
			return nil, kerr.FencedInstanceID.Code
		}
	}
	if m = c.byID[memberID]; m == nil {
		return nil, kerr.UnknownMemberID.Code
	}
	return m, 0
}

// mayCommit lets nobody in particular (an admin, or a consumer that assigns itself)
// commit only while the group is Empty. Members may commit while they are asked to
// join, since they do it before they give up partitions; between that and their new
// share they may not.
func (c *classic) mayCommit(s *coordinator.Step, who *commitCredentials) (int16, func(string, int32) int16) {
	if who.generation < 0 && c.current == classicEmpty {
		return 0, nil
	}
	if who.generation < 0 && who.memberID == "" && who.instance == nil {
		return kerr.UnknownMemberID.Code, nil
	}
	member, code := c.known(who.memberID, who.instance)
	switch {
	case code != 0:
		return code, nil
	case who.generation != c.generation:
		return kerr.IllegalGeneration.Code, nil
	case c.current == classicCompleting:
		return kerr.RebalanceInProgress.Code, nil
	}
	c.renew(s, member)
	return 0, nil
}

func (c *classic) mayFetch(*coordinator.Step, string, int32) int16 { return 0 }

func (c *classic) emptySinceMs() (int64, bool) {
	return c.sinceMs, c.current == classicEmpty && c.sinceMs >= 0
}

func (c *classic) mayDelete() int16 {
	if c.current == classicEmpty {
		return 0
	}
	return kerr.NonEmptyGroup.Code
}

func (c *classic) topicsChanged(*coordinator.Step, *metadata.Delta) {}

// loaded gives all members a whole session to come back. A group with more members
// than are allowed by now begins to shrink.
func (c *classic) loaded(s *coordinator.Step) {
	c.topics = c.subscriptions()
	for _, member := range c.members {
		c.renew(s, member)
	}
	if len(c.members) > int(c.m.cfg.MaxSize) {
		c.rebalance(s)
	}
}

func (c *classic) unload(err error) {
	for _, member := range c.members {
		if member.join != nil {
			member.join.reply(nil, err)
		}
		if member.sync != nil {
			member.sync.reply(nil, err)
		}
	}
}

func (c *classic) gone() {
	c.m.deadlines.Cancel(&c.phase)
	for _, member := range c.members {
		c.m.deadlines.Cancel(&member.session)
	}
	for id := range c.pending {
		c.unexpect(id)
	}
}
