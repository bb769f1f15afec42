package group

import (
	"strings"

	"ringmain/coordinator/group/records"
	"ringmain/model"
)

// offsets are the committed offsets of one group. A machine can have millions, so
// that a commit takes no pointer and a topic's name is there once.
type offsets struct{ topics map[string]*topicOffsets }

// topicOffsets are those of one topic, by partition.
type topicOffsets struct {
	commits map[int32]commit
	// notes are of the few commits that have one.
	notes map[int32]note
}

// commit is what every committed offset has.
type commit struct {
	offset      int64
	atMs        int64         // time of day
	topicID     model.TopicID // zero where it was not recorded
	leaderEpoch int32         // model.NoEpoch where the client named none
}

// note is what few committed offsets have.
type note struct {
	metadata string
	expireMs int64 // time of day; records.NoTimestamp: when the broker's retention says
}

func (o *offsets) empty() bool { return len(o.topics) == 0 }

// put stores what a record says. The topic's name is copied if it is kept: it may
// share memory with the record's key.
func (o *offsets) put(topic string, partition int32, v *records.OffsetCommitValue) {
	t := o.topics[topic]
	if t == nil {
		if o.topics == nil {
			o.topics = map[string]*topicOffsets{}
		}
		t = &topicOffsets{commits: map[int32]commit{}}
		o.topics[strings.Clone(topic)] = t
	}
	t.commits[partition] = commit{offset: v.Offset, atMs: v.CommitTimestamp, topicID: v.TopicID, leaderEpoch: v.LeaderEpoch}
	if v.Metadata == "" && v.ExpireTimestamp == records.NoTimestamp {
		delete(t.notes, partition)
		return
	}
	if t.notes == nil {
		t.notes = map[int32]note{}
	}
	t.notes[partition] = note{metadata: v.Metadata, expireMs: v.ExpireTimestamp}
}

// get gives a committed offset; ok is false where there is none.
func (o *offsets) get(topic string, partition int32) (c commit, metadata string, ok bool) {
	t := o.topics[topic]
	if t == nil {
		return commit{}, "", false
	}
	c, ok = t.commits[partition]
	return c, t.notes[partition].metadata, ok
}

func (o *offsets) remove(topic string, partition int32) {
	t := o.topics[topic]
	if t == nil {
		return
	}
	delete(t.commits, partition)
	delete(t.notes, partition)
	if len(t.commits) == 0 {
		delete(o.topics, topic)
	}
}

// Committed visits every committed offset with the time of day of its commit, in no
// order: for lag. Unlike a request's answer it does not wait until what it tells of
// is durable.
func (m *Machine) Committed(visit func(group string, kind Kind, state string, topic string, partition int32, offset, commitMs int64)) {
	for _, g := range m.groups {
		if g.offsets.empty() {
			continue
		}
		kind, state := g.members.kind(), g.members.state(nil)
		for topic, t := range g.offsets.topics {
			for partition, c := range t.commits {
				visit(g.id, kind, state, topic, partition, c.offset, c.atMs)
			}
		}
	}
}
