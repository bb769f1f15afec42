package group

import (
	"fmt"
	"strings"

	"ringmain/coordinator"
	"ringmain/metadata"
)

// Machine is one partition of __consumer_offsets. It implements coordinator.Machine.
type Machine struct {
	cfg       *Config
	deadlines coordinator.Deadlines
	groups    map[string]*group
	pending   pendingMembers
	// expiry looks for offsets that are too old, and for groups that have nothing left.
	expiry coordinator.Deadline
	// dropping goes on deleting the offsets of deletedTopics.
	dropping      coordinator.Deadline
	deletedTopics []deletedTopic
	// deleting goes on with deletions, the oldest first.
	deleting  coordinator.Deadline
	deletions []deletion
}

// New makes a machine without groups.
func New(cfg *Config) *Machine {
	return &Machine{cfg: cfg, groups: map[string]*group{}}
}

// ensure gives the group, made new (empty and classic) if it is not there.
func (m *Machine) ensure(id string) *group {
	g := m.groups[id]
	if g == nil {
		g = &group{id: strings.Clone(id)} // id may be a piece of a large request
		g.members = newClassic(m, g)
		m.groups[g.id] = g
	}
	return g
}

// write appends a record to the log and applies it.
func (m *Machine) write(s *coordinator.Step, r coordinator.Record) {
	s.Append(r)
	if err := m.apply(s.WallMs, r.Key, r.Value); err != nil {
		panic(fmt.Sprintf("group: a record of our own does not apply: %v", err))
	}
}

// Replay implements coordinator.Machine.
func (m *Machine) Replay(offset, timestampMs int64, key, value []byte) error {
	if err := m.apply(timestampMs, key, value); err != nil {
		return fmt.Errorf("offset %d: %w", offset, err)
	}
	return nil
}

// Loaded implements coordinator.Machine.
func (m *Machine) Loaded(s *coordinator.Step) {
	for _, g := range m.groups {
		g.members.loaded(s)
	}
	m.expiry.Fire, m.dropping.Fire, m.deleting.Fire = m.expire, m.dropNext, m.deleteOn
	m.deadlines.Put(&m.expiry, s.NowMs+m.cfg.RetentionCheckMs)
	m.dropOrphans(s)
}

// NextDeadline implements coordinator.Machine.
func (m *Machine) NextDeadline() (int64, bool) { return m.deadlines.Next() }

// Advance implements coordinator.Machine.
func (m *Machine) Advance(s *coordinator.Step) { m.deadlines.Advance(s) }

// Unload implements coordinator.Machine.
func (m *Machine) Unload(err error) {
	for _, g := range m.groups {
		g.members.unload(err)
	}
	for _, d := range m.deletions {
		d.unload(err)
	}
}

// TopicsChanged tells the machine what differs in the metadata: offsets of deleted
// topics are deleted, and members get their share of what is new.
func (m *Machine) TopicsChanged(s *coordinator.Step, d *metadata.Delta) {
	m.dropTopics(s, d.Deleted)
	for _, g := range m.groups {
		g.members.topicsChanged(s, d)
	}
}
