package group

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// members is the group's membership; nil when there is none.
func (sim *simulation) members() *consumer { return sim.m.knownConsumerGroup(sim.group) }

// check asserts what holds at every moment.
func (sim *simulation) check() {
	sim.t.Helper()
	c := sim.members()
	if c == nil {
		sim.downgraded()
		sim.epoch, sim.assignmentEpoch, sim.classicMembers = 0, 0, nil
		return
	}
	sim.classicMembers = map[string]bool{}
	for id, m := range c.members {
		if m.said.ClassicMemberMetadata != nil {
			sim.classicMembers[id] = true
		}
	}
	if c.epoch < sim.epoch || c.assignmentEpoch < sim.assignmentEpoch || c.assignmentEpoch > c.epoch {
		sim.failf("the epochs went from %d, %d to %d, %d", sim.epoch, sim.assignmentEpoch, c.epoch, c.assignmentEpoch)
	}
	sim.epoch, sim.assignmentEpoch = c.epoch, c.assignmentEpoch
	has := map[topicPartition]string{}
	for id, m := range c.members {
		for _, some := range []partitions{m.assigned, m.revoking} {
			for tp := range some {
				if other := has[tp]; other != "" {
					sim.failf("%v is with %s and with %s", tp, other, id)
				}
				has[tp] = id
			}
		}
	}
	for _, client := range sim.clients {
		if client.gone || c.members[client.id] == nil {
			continue // fenced, whether it knows or not
		}
		for tp := range client.owned {
			if has[tp] != client.id {
				sim.failf("%s owns %v, which is with %q", client.id, tp, has[tp])
			}
		}
	}
}

// downgraded asserts that a group that has become a classic one is loaded as it is, has
// only its classic members, and gives no partition to two. Then all of them leave it.
func (sim *simulation) downgraded() {
	sim.t.Helper()
	g := sim.m.groups[sim.group]
	if g == nil || g.members.size() == 0 {
		return
	}
	sim.downgrades++
	sim.reload()
	c := sim.m.groups[sim.group].members.(*classic)
	strangers := 0
	for _, m := range c.members {
		if !sim.classicMembers[m.id] {
			strangers++
		}
	}
	if strangers > 1 { // one may just have come back with the classic protocol
		sim.failf("%d members of the classic group were none before", strangers)
	}
	taken := map[topicPartition]string{}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = 5, sim.group
	for _, m := range c.members {
		list, err := decodeAssignment(sim.img, m.assignment)
		if err != nil {
			sim.failf("%v", err)
		}
		for tp := range partitionsOf(list, 0) {
			if taken[tp] != "" {
				sim.failf("%v is with %s and with %s", tp, taken[tp], m.id)
			}
			taken[tp] = m.id
		}
		req.Members = append(req.Members, kmsg.LeaveGroupRequestMember{MemberID: m.id, InstanceID: m.instance})
	}
	ask(sim.harness, func(s *coordinator.Step, reply func(*kmsg.LeaveGroupResponse, error)) {
		sim.m.LeaveGroup(s, req, reply)
	}).got()
	if c.size() > 0 {
		sim.failf("%d members did not leave", c.size())
	}
	for _, client := range sim.clients {
		if client.classic && !client.gone {
			client.forget()
			client.next = (*simulation).joinClassic
		}
	}
}

// unsettled is what is not well yet.
func (sim *simulation) unsettled() string {
	c := sim.members()
	if c == nil || len(c.members) == 0 {
		if slices.ContainsFunc(sim.clients, func(c *simClient) bool { return !c.classic }) {
			return "nobody is there"
		}
		return "" // where classic clients alone would make a classic group
	}
	owners := map[topicPartition]bool{}
	registered := 0
	for _, client := range sim.clients {
		m := c.members[client.id]
		switch {
		case client.gone || client.request != nil:
			return client.id + " is on its way"
		case m == nil && client.instance == "":
			return client.id + " is not a member"
		case m == nil:
			continue // its instance id belongs to another one
		case client.epoch != m.epoch || !m.reached(c.assignmentEpoch):
			return fmt.Sprintf("%s is in epoch %d, and at the group in %d of %d, in state %d", client.id, client.epoch, m.epoch, c.assignmentEpoch, m.state)
		case len(client.owned) != len(m.assigned) || len(client.owned) != c.target[client.id].Size():
			return fmt.Sprintf("%s owns %d, has %d and is to have %d", client.id, len(client.owned), len(m.assigned), c.target[client.id].Size())
		}
		registered++
		for tp := range client.owned {
			topic := sim.img.TopicByID(tp.topic)
			if topic == nil || !client.reads(topic.Name) {
				return fmt.Sprintf("%s owns %v, which it does not read", client.id, tp)
			}
			owners[tp] = true
		}
	}
	if registered != len(c.members) {
		return fmt.Sprintf("%d of %d members are there", registered, len(c.members))
	}
	for _, name := range sim.img.TopicNames() {
		for p := range sim.img.Topic(name).Partitions {
			if tp := (topicPartition{sim.img.Topic(name).ID, int32(p)}); !owners[tp] && sim.readByMember(name) {
				return fmt.Sprintf("nobody owns %v", tp)
			}
		}
	}
	if got := c.state(nil); got != "Stable" && got != "Empty" {
		return "it is " + got
	}
	return ""
}

func (c *simClient) reads(topic string) bool {
	if slices.Contains(c.topics, topic) {
		return true
	}
	if *c.regex == "" {
		return false
	}
	return regexp.MustCompile("^(?:" + *c.regex + ")$").MatchString(topic)
}

func (sim *simulation) readByMember(topic string) bool {
	return slices.ContainsFunc(sim.clients, func(c *simClient) bool {
		return sim.members().members[c.id] != nil && c.reads(topic)
	})
}

// reload loads the log, and asserts that what is lasting is what it was.
func (sim *simulation) reload() {
	sim.t.Helper()
	before := lasting(sim.m)
	sim.load()
	if after := lasting(sim.m); !reflect.DeepEqual(before, after) {
		sim.failf("%+v was loaded as %+v", before, after)
	}
}

// compacted is a log of which only the last record of each key is left.
func compacted(log []logged) []logged {
	last := map[string]int{}
	for i, r := range log {
		last[string(r.Key)] = i
	}
	var kept []logged
	for i, r := range log {
		if last[string(r.Key)] == i && r.Value != nil {
			kept = append(kept, r)
		}
	}
	return kept
}
