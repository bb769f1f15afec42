package group

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
)

// persist writes the group as it is, with these shares. Applying the record makes it
// Stable, or Empty without members.
func (c *classic) persist(s *coordinator.Step, share func(*classicMember) []byte) {
	v := &records.GroupMetadataValue{
		ProtocolType:          c.typ,
		Generation:            c.generation,
		Protocol:              c.protocol,
		CurrentStateTimestamp: s.WallMs,
		Members:               make([]records.MemberMetadata, len(c.members)),
	}
	if c.leader != "" {
		v.Leader = kmsg.StringPtr(c.leader)
	}
	for i, m := range c.members {
		subscription, _ := m.metadata(*c.protocol)
		v.Members[i] = records.MemberMetadata{
			MemberID:         m.id,
			GroupInstanceID:  m.instance,
			ClientID:         m.clientID,
			ClientHost:       m.clientHost,
			RebalanceTimeout: m.rebalanceTimeoutMs,
			SessionTimeout:   m.sessionTimeoutMs,
			Subscription:     subscription,
			Assignment:       share(m),
		}
	}
	c.m.write(s, records.GroupMetadata(c.g.id, v))
}

// fits reports whether the record that persist writes is one that the topic takes. Its
// size is the members', and what they and their leader say is theirs to choose.
func (c *classic) fits(s *coordinator.Step, share func(*classicMember) []byte) bool {
	size := recordRoom + len(c.g.id) + len(c.typ) + len(c.leader) + len(*c.protocol)
	for _, m := range c.members {
		subscription, _ := m.metadata(*c.protocol)
		size += memberRoom + len(m.id) + len(m.clientID) + len(m.clientHost) + len(subscription) + len(share(m))
		if m.instance != nil {
			size += len(*m.instance)
		}
	}
	return size <= s.MaxRecordBytes
}

// What a group's record takes at most beside its texts and bytes, and what each member
// takes in it.
const (
	recordRoom = 64
	memberRoom = 32
)

func (c *classic) forget(s *coordinator.Step) {
	c.m.write(s, records.GroupMetadata(c.g.id, nil))
}

// applyGroupMetadata applies a record of GroupMetadata; a nil value is a tombstone.
// The value is kept.
func (m *Machine) applyGroupMetadata(_ int64, id string, v *records.GroupMetadataValue) error {
	if v == nil {
		g := m.groups[id]
		// A group that changed its protocol has left its old record behind.
		if g != nil && g.members.kind() == Classic {
			g.members.gone()
			g.members = newClassic(m, g)
			m.dropBare(g)
		}
		return nil
	}
	if len(v.Members) > 0 && v.Protocol == nil {
		return fmt.Errorf("group %q has %d members and no protocol", id, len(v.Members))
	}
	g := m.ensure(id)
	c, ok := g.members.(*classic)
	if !ok {
		g.members.gone()
		c = newClassic(m, g)
		g.members = c
	}
	c.apply(v)
	return nil
}

// apply makes the group what the record says. Of members who are there it keeps what
// is in no record: what else they speak, and where they wait.
func (c *classic) apply(v *records.GroupMetadataValue) {
	before := c.byID
	c.members, c.byID, c.static, c.support = make([]*classicMember, 0, len(v.Members)), nil, nil, nil
	c.current, c.sinceMs = classicEmpty, v.CurrentStateTimestamp
	if len(v.Members) > 0 {
		c.current = classicStable
	}
	c.generation, c.typ, c.protocol, c.leader = v.Generation, v.ProtocolType, v.Protocol, ""
	for i := range v.Members {
		if c.byID[v.Members[i].MemberID] == nil {
			c.applyMember(before, &v.Members[i])
		}
	}
	if v.Leader != nil && c.byID[*v.Leader] != nil {
		c.leader = *v.Leader
	}
}

func (c *classic) applyMember(before map[string]*classicMember, v *records.MemberMetadata) {
	m := before[v.MemberID]
	if m == nil {
		m = &classicMember{id: v.MemberID, entered: true}
	}
	m.instance = v.GroupInstanceID
	m.clientID, m.clientHost = v.ClientID, v.ClientHost
	m.sessionTimeoutMs, m.rebalanceTimeoutMs = v.SessionTimeout, v.RebalanceTimeout
	if m.rebalanceTimeoutMs == -1 { // a record of Kafka before 0.10.1
		m.rebalanceTimeoutMs = m.sessionTimeoutMs
	}
	m.assignment = v.Assignment
	if said, ok := m.metadata(*c.protocol); !ok || !bytes.Equal(said, v.Subscription) {
		m.protocols = []kmsg.JoinGroupRequestProtocol{{Name: *c.protocol, Metadata: v.Subscription}}
	}
	c.add(m)
}
