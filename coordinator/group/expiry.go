package group

import (
	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// expire deletes offsets that are too old (KIP-211), and forgets groups that have
// neither members nor offsets left and that nobody is expected in.
func (m *Machine) expire(s *coordinator.Step) {
	next := s.NowMs + m.cfg.RetentionCheckMs
	t := &tombstones{m: m, s: s}
	for _, g := range m.groups {
		if sinceMs, ok := g.retainedSince(s); ok {
			t.expire(g, sinceMs)
		}
		if g.offsets.empty() && g.members.mayDelete() == 0 && !g.expected() {
			t.forget(g)
		}
		if t.full() {
			next = s.NowMs + 1
			break
		}
	}
	m.deadlines.Put(&m.expiry, next)
}

// sinceCommit is where offsets are kept for some time from their commit.
const sinceCommit = -1

// retainedSince is the time of day from which on the group's offsets are kept for
// some time, or sinceCommit. ok is false while they are all kept.
//
//   - A classic group that had members: since it is Empty.
//   - A client that only commits, and a group of the consumer protocol: since the
//     commit.
//   - A classic group of consumers that is Stable: since the commit too. Of both kinds
//     of consumers topics that a member reads are kept.
func (g *group) retainedSince(s *coordinator.Step) (ms int64, ok bool) {
	if g.members.kind() == Consumer || g.members.protocolType() == "" {
		return sinceCommit, true
	}
	switch g.members.state(s) {
	case "Empty":
		if ms, ok := g.members.emptySinceMs(); ok {
			return ms, true
		}
		return sinceCommit, true
	case "Stable":
		return sinceCommit, g.members.protocolType() == consumerProtocolType
	}
	return 0, false
}

// expire deletes what is too old. An offset with a time of its own counts from nothing
// else.
func (t *tombstones) expire(g *group, sinceMs int64) {
	for topic, offsets := range g.offsets.topics {
		if g.reads(topic) {
			continue
		}
		for partition, c := range offsets.commits {
			since := sinceMs
			if since == sinceCommit {
				since = c.atMs
			}
			expired := t.s.RetentionWallMs-since >= t.m.cfg.RetentionMs
			if n, ok := offsets.notes[partition]; ok && n.expireMs != records.NoTimestamp {
				expired = t.s.RetentionWallMs >= n.expireMs
			}
			if !expired {
				continue
			}
			if t.full() {
				return
			}
			t.write(g, topic, partition)
		}
	}
}
