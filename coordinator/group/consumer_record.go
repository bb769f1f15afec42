package group

import (
	"maps"
	"slices"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// forget writes the tombstones of everything, the group's last: applying it makes the
// group an empty classic one.
func (c *consumer) forget(s *coordinator.Step) {
	id, members := c.g.id, slices.Sorted(maps.Keys(c.members))
	for _, member := range members {
		c.m.write(s, records.ConsumerGroupCurrentMemberAssignment(id, member, nil))
	}
	for _, member := range members {
		c.m.write(s, records.ConsumerGroupTargetAssignmentMember(id, member, nil))
	}
	c.m.write(s, records.ConsumerGroupTargetAssignmentMetadata(id, nil))
	for _, member := range members {
		c.m.write(s, records.ConsumerGroupMemberMetadata(id, member, nil))
	}
	for _, regex := range slices.Sorted(maps.Keys(c.regexes)) {
		c.m.write(s, records.ConsumerGroupRegularExpression(id, regex, nil))
	}
	c.m.write(s, records.ConsumerGroupMetadata(id, nil))
}
