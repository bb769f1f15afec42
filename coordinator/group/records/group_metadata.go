package records

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
)

// GroupMetadataValue is a group of the classic protocol as of its last rebalance.
type GroupMetadataValue struct {
	ProtocolType          string // "consumer" for consumers
	Generation            int32
	Protocol              *string // of assignment
	Leader                *string // its member id
	CurrentStateTimestamp int64   // since when it is in this state; NoTimestamp: not recorded
	Members               []MemberMetadata
}

// MemberMetadata is a member of a group of the classic protocol.
type MemberMetadata struct {
	MemberID         string
	GroupInstanceID  *string
	ClientID         string
	ClientHost       string
	RebalanceTimeout int32 // milliseconds; -1: not recorded
	SessionTimeout   int32 // milliseconds
	Subscription     []byte
	Assignment       []byte
}

const (
	// groupMetadataVersion is the one that Kafka 4.4 writes; it reads one more.
	groupMetadataVersion    = 3
	groupMetadataMaxVersion = 4
)

// GroupMetadata is the record of a group of the classic protocol; a tombstone if v
// is nil.
func GroupMetadata(group string, v *GroupMetadataValue) coordinator.Record {
	r := coordinator.Record{Key: key(GroupMetadataKind, group)}
	if v == nil {
		return r
	}
	value := kmsg.GroupMetadataValue{
		Version:               groupMetadataVersion,
		ProtocolType:          v.ProtocolType,
		Generation:            v.Generation,
		Protocol:              v.Protocol,
		Leader:                v.Leader,
		CurrentStateTimestamp: v.CurrentStateTimestamp,
		Members:               make([]kmsg.GroupMetadataValueMember, len(v.Members)),
	}
	for i := range v.Members {
		m := &v.Members[i]
		value.Members[i] = kmsg.GroupMetadataValueMember{
			MemberID:               m.MemberID,
			InstanceID:             m.GroupInstanceID,
			ClientID:               m.ClientID,
			ClientHost:             m.ClientHost,
			RebalanceTimeoutMillis: m.RebalanceTimeout,
			SessionTimeoutMillis:   m.SessionTimeout,
			Subscription:           m.Subscription,
			Assignment:             m.Assignment,
		}
	}
	r.Value = value.AppendTo(nil)
	return r
}

func decodeGroupMetadata(value []byte) (*GroupMetadataValue, error) {
	v, err := version(value)
	if err != nil {
		return nil, err
	}
	if err := known(v, groupMetadataMaxVersion); err != nil {
		return nil, err
	}
	var k kmsg.GroupMetadataValue
	// One copy of the value is what all its strings and bytes alias.
	if err := k.UnsafeReadFrom(bytes.Clone(value)); err != nil {
		return nil, fmt.Errorf("version %d: %w", v, err)
	}
	d := &GroupMetadataValue{
		ProtocolType:          k.ProtocolType,
		Generation:            k.Generation,
		Protocol:              k.Protocol,
		Leader:                k.Leader,
		CurrentStateTimestamp: NoTimestamp,
	}
	if v >= 2 {
		d.CurrentStateTimestamp = k.CurrentStateTimestamp
	}
	for i := range k.Members {
		m := &k.Members[i]
		d.Members = append(d.Members, MemberMetadata{
			MemberID:         m.MemberID,
			GroupInstanceID:  m.InstanceID,
			ClientID:         m.ClientID,
			ClientHost:       m.ClientHost,
			RebalanceTimeout: m.RebalanceTimeoutMillis,
			SessionTimeout:   m.SessionTimeoutMillis,
			Subscription:     m.Subscription,
			Assignment:       m.Assignment,
		})
	}
	return d, nil
}
