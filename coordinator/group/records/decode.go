package records

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Decoded is a record. Which fields of the key are set depends on the kind. Of the
// values the one of the kind is set, and none in a tombstone.
type Decoded struct {
	Kind  Kind
	Group string

	Topic     string // of OffsetCommitKind, as is Partition
	Partition int32
	Member    string // of the kinds with Member in their name
	Regex     string // of ConsumerGroupRegularExpressionKind

	// Tombstone says that there was no value.
	Tombstone bool

	OffsetCommit                          *OffsetCommitValue
	GroupMetadata                         *GroupMetadataValue
	ConsumerGroupMetadata                 *ConsumerGroupMetadataValue
	ConsumerGroupMemberMetadata           *ConsumerGroupMemberMetadataValue
	ConsumerGroupTargetAssignmentMetadata *ConsumerGroupTargetAssignmentMetadataValue
	ConsumerGroupTargetAssignmentMember   *ConsumerGroupTargetAssignmentMemberValue
	ConsumerGroupCurrentMemberAssignment  *ConsumerGroupCurrentMemberAssignmentValue
	ConsumerGroupRegularExpression        *ConsumerGroupRegularExpressionValue
}

// Decode reads a record; a nil value is a tombstone. Nothing of it aliases the
// input, but its strings may share memory. LegacyOffsetCommitKind comes out as
// OffsetCommitKind. Of a kind that is not in the list of kinds only the number
// comes out: it belongs to another kind of group or to a newer release, and is
// passed over, as Kafka does. So is the value of ConsumerGroupPartitionMetadataKind,
// which nobody reads any more. An error wraps ErrCorrupt or ErrNewer, or is kmsg's.
func Decode(key, value []byte) (Decoded, error) {
	c := cursor{b: key}
	d := Decoded{Kind: Kind(c.int16()), Tombstone: value == nil}
	if c.err != nil {
		return Decoded{}, fmt.Errorf("records: key: %w", c.err)
	}
	switch d.Kind {
	case LegacyOffsetCommitKind, OffsetCommitKind:
		d.Kind = OffsetCommitKind
		return d.offsetCommit(key, value)
	case GroupMetadataKind, ConsumerGroupMetadataKind, ConsumerGroupPartitionMetadataKind, ConsumerGroupTargetAssignmentMetadataKind:
		d.Group = c.keyString()
	case ConsumerGroupMemberMetadataKind, ConsumerGroupTargetAssignmentMemberKind, ConsumerGroupCurrentMemberAssignmentKind:
		d.Group, d.Member = c.keyString(), c.keyString()
	case ConsumerGroupRegularExpressionKind:
		d.Group, d.Regex = c.keyString(), c.keyString()
	default:
		return d, nil
	}
	if c.err != nil {
		return Decoded{}, fmt.Errorf("records: key of kind %d: %w", d.Kind, c.err)
	}
	if d.Tombstone {
		return d, nil
	}
	if err := d.decodeValue(value); err != nil {
		return Decoded{}, fmt.Errorf("records: value of kind %d, group %q: %w", d.Kind, d.Group, err)
	}
	return d, nil
}

// offsetCommit is apart for its speed: nearly all records are of this kind.
func (d Decoded) offsetCommit(key, value []byte) (Decoded, error) {
	var k kmsg.OffsetCommitKey
	if err := k.UnsafeReadFrom(bytes.Clone(key)); err != nil {
		return Decoded{}, fmt.Errorf("records: key of kind %d: %w", d.Kind, err)
	}
	d.Group, d.Topic, d.Partition = k.Group, k.Topic, k.Partition
	if d.Tombstone {
		return d, nil
	}
	v, err := decodeOffsetCommit(value)
	if err != nil {
		return Decoded{}, fmt.Errorf("records: value of kind %d, group %q: %w", d.Kind, d.Group, err)
	}
	d.OffsetCommit = v
	return d, nil
}

func (d *Decoded) decodeValue(value []byte) error {
	if d.Kind == GroupMetadataKind {
		v, err := decodeGroupMetadata(value)
		d.GroupMetadata = v
		return err
	}
	v, err := version(value)
	if err != nil {
		return err
	}
	if err := known(v, consumerGroupVersion); err != nil {
		return err
	}
	c := cursor{b: value, at: 2}
	switch d.Kind {
	case ConsumerGroupMetadataKind:
		d.ConsumerGroupMetadata = decodeConsumerGroupMetadata(&c)
	case ConsumerGroupMemberMetadataKind:
		d.ConsumerGroupMemberMetadata = decodeConsumerGroupMemberMetadata(&c)
	case ConsumerGroupTargetAssignmentMetadataKind:
		d.ConsumerGroupTargetAssignmentMetadata = decodeConsumerGroupTargetAssignmentMetadata(&c)
	case ConsumerGroupTargetAssignmentMemberKind:
		d.ConsumerGroupTargetAssignmentMember = decodeConsumerGroupTargetAssignmentMember(&c)
	case ConsumerGroupCurrentMemberAssignmentKind:
		d.ConsumerGroupCurrentMemberAssignment = decodeConsumerGroupCurrentMemberAssignment(&c)
	case ConsumerGroupRegularExpressionKind:
		d.ConsumerGroupRegularExpression = decodeConsumerGroupRegularExpression(&c)
	}
	return c.err
}
