package group

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// DescribeGroup tells of one group what DescribeGroups (15) does. Groups of the
// consumer protocol are not seen by it, as if they did not exist.
func (m *Machine) DescribeGroup(s *coordinator.Step, id string, version int16, reply func(kmsg.DescribeGroupsResponseGroup, error)) {
	described := kmsg.NewDescribeGroupsResponseGroup()
	described.Group = id
	var c *classic
	if g := m.groups[id]; g != nil {
		c, _ = g.members.(*classic)
	}
	if c != nil {
		c.describe(&described)
	} else {
		described.State = string(classicDead)
		if version >= 6 { // KIP-1043
			described.ErrorCode = kerr.GroupIDNotFound.Code
			described.ErrorMessage = kmsg.StringPtr(m.notClassic(id))
		}
	}
	coordinator.Answer(s, reply, described)
}

func (m *Machine) notClassic(id string) string {
	if m.groups[id] == nil {
		return fmt.Sprintf("Group %s not found.", id)
	}
	return fmt.Sprintf("Group %s is not a classic group.", id)
}

func (c *classic) describe(d *kmsg.DescribeGroupsResponseGroup) {
	d.State = string(c.current)
	d.ProtocolType = c.typ
	stable := c.current == classicStable
	if stable {
		d.Protocol = *c.protocol
	}
	d.Members = make([]kmsg.DescribeGroupsResponseGroupMember, len(c.members))
	for i, m := range c.members {
		d.Members[i] = kmsg.DescribeGroupsResponseGroupMember{
			MemberID:         m.id,
			InstanceID:       m.instance,
			ClientID:         m.clientID,
			ClientHost:       m.clientHost,
			MemberAssignment: m.assignment,
		}
		if stable {
			d.Members[i].ProtocolMetadata, _ = m.metadata(*c.protocol)
		}
	}
}
