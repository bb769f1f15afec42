package group

import (
	"container/list"

	"ringmain/coordinator"
)

// pendingMember was given a member id and is expected to join with it.
type pendingMember struct {
	id      string
	of      *classic
	session coordinator.Deadline
	place   *list.Element // in pendingMembers
}

// pendingMembers are those of all groups of a machine, oldest first. No record tells of
// them, and an id costs who asks for it one request, so their memory has a bound: with
// too many the oldest is forgotten. Who comes with a forgotten id asks for another one.
type pendingMembers struct {
	list  list.List
	bytes int
}

const (
	// pendingMaxBytes is what the pending members of one partition may take.
	pendingMaxBytes = 2 << 20
	// pendingRoom is about what one takes beside its id and its group's, with a group
	// that it is alone in.
	pendingRoom = 1280
)

func (p *pendingMember) bytes() int { return pendingRoom + len(p.id) + len(p.of.g.id) }

func (all *pendingMembers) add(p *pendingMember) {
	p.place = all.list.PushBack(p)
	all.bytes += p.bytes()
}

func (all *pendingMembers) remove(p *pendingMember) {
	all.list.Remove(p.place)
	all.bytes -= p.bytes()
}

// expect makes a pending member, which has a session's time to join.
func (c *classic) expect(s *coordinator.Step, id string, sessionTimeoutMs int32) {
	if c.pending == nil {
		c.pending = map[string]*pendingMember{}
	}
	p := &pendingMember{id: id, of: c}
	p.session.Fire = p.giveUp
	c.pending[id] = p
	c.m.deadlines.Put(&p.session, s.NowMs+int64(sessionTimeoutMs))
	c.m.pending.add(p)
	for c.m.pending.bytes > pendingMaxBytes {
		c.m.pending.list.Front().Value.(*pendingMember).giveUp(s)
	}
}

// unexpect forgets a pending member; it says whether there was one.
func (c *classic) unexpect(id string) bool {
	p := c.pending[id]
	if p != nil {
		c.m.deadlines.Cancel(&p.session)
		c.m.pending.remove(p)
		delete(c.pending, id)
	}
	return p != nil
}

// expected reports whether somebody has a member id to join the group with.
func (g *group) expected() bool {
	c, ok := g.members.(*classic)
	return ok && len(c.pending) > 0
}

// giveUp forgets a pending member that nobody waits for any more.
func (p *pendingMember) giveUp(s *coordinator.Step) {
	p.of.unexpect(p.id)
	p.of.completeIfJoined(s)
	p.of.dropUnused()
}

// dropUnused forgets a group that nothing is recorded of and that nobody is in, or is
// expected in.
func (c *classic) dropUnused() {
	if c.current == classicEmpty && c.generation == 0 && len(c.pending) == 0 && c.g.offsets.empty() && c.m.groups[c.g.id] == c.g {
		delete(c.m.groups, c.g.id)
	}
}
