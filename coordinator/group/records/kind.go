package records

// Kind is what a record is about: the version of its key.
type Kind int16

// The kinds of offsets and of consumer groups. The numbers between and after them
// are those of share groups (9 to 15) and of streams groups (17 to 22).
const (
	// LegacyOffsetCommitKind differs from OffsetCommitKind in nothing but the number;
	// the first brokers that stored offsets wrote it.
	LegacyOffsetCommitKind Kind = 0
	OffsetCommitKind       Kind = 1
	GroupMetadataKind      Kind = 2

	ConsumerGroupMetadataKind Kind = 3
	// ConsumerGroupPartitionMetadataKind gave way to
	// ConsumerGroupMetadataValue.MetadataHash (KIP-1101).
	ConsumerGroupPartitionMetadataKind        Kind = 4
	ConsumerGroupMemberMetadataKind           Kind = 5
	ConsumerGroupTargetAssignmentMetadataKind Kind = 6
	ConsumerGroupTargetAssignmentMemberKind   Kind = 7
	ConsumerGroupCurrentMemberAssignmentKind  Kind = 8
	ConsumerGroupRegularExpressionKind        Kind = 16
)
