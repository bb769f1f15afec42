package group

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"sort"
	"strings"

	"ringmain/coordinator"
	"ringmain/coordinator/assignor"
	"ringmain/coordinator/group/records"
	"ringmain/metadata"
	"ringmain/model"
)

// assign computes the target of the group's epoch, unless there is one, or the last
// is too fresh: then the members go on towards that, and a later heartbeat assigns.
// So a fleet that starts is not assigned once for each of its members (KIP-1263).
func (c *consumer) assign(s *coordinator.Step) {
	if c.assignmentEpoch >= c.epoch {
		return
	}
	// A clock that was set back does not make it wait.
	if since := s.WallMs - c.assignedAtMs; c.assignedAtMs != 0 && since >= 0 && since < int64(c.settings(s).AssignmentIntervalMs) {
		return
	}
	ids := slices.Sorted(maps.Keys(c.members))
	members, topics := c.assignees(s.Image, ids)
	for i, share := range assignor.Named(c.assignorName())(members, topics) {
		if old, has := c.target[ids[i]]; !has || !share.Equal(old) {
			c.m.write(s, records.ConsumerGroupTargetAssignmentMember(c.g.id, ids[i],
				&records.ConsumerGroupTargetAssignmentMemberValue{TopicPartitions: assignmentRecord(share)}))
		}
	}
	c.m.write(s, records.ConsumerGroupTargetAssignmentMetadata(c.g.id, &records.ConsumerGroupTargetAssignmentMetadataValue{
		AssignmentEpoch: c.epoch, AssignmentTimestamp: s.WallMs,
	}))
}

// assignees are the members as an assignor sees them, and the topics that exist of
// those they subscribe to, with their numbers of partitions.
func (c *consumer) assignees(img *metadata.Image, ids []string) ([]assignor.Member, map[model.TopicID]int32) {
	topics := map[model.TopicID]int32{}
	existing := make(map[string]model.TopicID, len(c.topics))
	for name := range c.topics {
		if topic := img.Topic(name); topic != nil {
			existing[name] = topic.ID
			topics[topic.ID] = int32(len(topic.Partitions))
		}
	}
	members := make([]assignor.Member, len(ids))
	// Most members say the same as the one before.
	var names []string
	var regex string
	var subscribed []model.TopicID
	for i, id := range ids {
		m := c.members[id]
		if i == 0 || regex != m.regex() || !slices.Equal(names, m.said.SubscribedTopicNames) {
			names, regex = m.said.SubscribedTopicNames, m.regex()
			subscribed = c.subscribedIDs(names, regex, existing)
		}
		members[i] = assignor.Member{ID: id, Topics: subscribed, Held: c.target[id]}
		if m.said.InstanceID != nil {
			members[i].InstanceID = *m.said.InstanceID
		}
	}
	return members, topics
}

func (c *consumer) subscribedIDs(names []string, regex string, existing map[string]model.TopicID) []model.TopicID {
	if r := c.regexes[regex]; r != nil {
		names = distinctNames(slices.Concat(names, r.topics))
	}
	ids := make([]model.TopicID, 0, len(names))
	for _, name := range names {
		if id, ok := existing[name]; ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// assignorName is the assignor that most members ask for; the first of the
// configuration where none does, or where that is equal.
func (c *consumer) assignorName() string {
	best := c.m.cfg.Assignors[0]
	for _, name := range c.m.cfg.Assignors {
		if c.votes[name] > c.votes[best] {
			best = name
		}
	}
	return best
}

// hash is one number for the topics that the group subscribes to, as far as they
// exist: their names, ids, numbers of partitions and the racks of the replicas. It
// is recorded, so it may never be computed in another way: all groups would be
// assigned anew. 0 stands for no topics.
func (c *consumer) hash(img *metadata.Image) int64 {
	if c.topicHashes == nil {
		c.topicHashes = map[string]uint64{}
	}
	all, some := fnv.New64a(), false
	for _, name := range slices.Sorted(maps.Keys(c.topics)) {
		topic := img.Topic(name)
		if topic == nil {
			continue
		}
		h, cached := c.topicHashes[name]
		if !cached {
			h = topicHash(img, topic)
			c.topicHashes[name] = h
		}
		some = true
		all.Write(binary.BigEndian.AppendUint64(nil, h))
	}
	if !some {
		return 0
	}
	return int64(all.Sum64())
}

func topicHash(img *metadata.Image, topic *metadata.Topic) uint64 {
	b := append([]byte(nil), topic.ID[:]...)
	b = appendHashed(b, topic.Name)
	b = binary.BigEndian.AppendUint32(b, uint32(len(topic.Partitions)))
	for p := range topic.Partitions {
		var racks []string
		for _, id := range topic.Partitions[p].Replicas {
			if broker := img.Broker(id); broker != nil && broker.Rack != "" {
				racks = append(racks, broker.Rack)
			}
		}
		slices.Sort(racks)
		b = binary.BigEndian.AppendUint32(b, uint32(len(racks)))
		for _, rack := range racks {
			b = appendHashed(b, rack)
		}
	}
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

func appendHashed(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}

// touches reports whether something of the topic is in the delta, whose lists are in
// the order of names.
func touches(d *metadata.Delta, name string) bool {
	in := func(topics []*metadata.Topic) bool {
		_, found := slices.BinarySearchFunc(topics, name, func(t *metadata.Topic, name string) int {
			return strings.Compare(t.Name, name)
		})
		return found
	}
	i := sort.Search(len(d.Changed), func(i int) bool { return d.Changed[i].Topic >= name })
	return in(d.Created) || in(d.Deleted) || i < len(d.Changed) && d.Changed[i].Topic == name
}
