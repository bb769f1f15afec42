package metadata

import "ringmain/model"

// Record is one change to the metadata. The set of records is closed: these
// types are all there are, and each has a type number and a version in its
// encoding (docs/format/metadata-record.md).
//
// Slices inside a record belong to the image once the record was applied: do
// not modify them afterwards.
type Record interface {
	recordType() recordType
}

// ClusterRecord names the cluster. It is the first record of every cluster and
// does not change.
type ClusterRecord struct {
	ClusterID string
}

// FeatureRecord sets the finalized level of a feature (KIP-584). Level 0
// removes the feature from the finalized ones.
type FeatureRecord struct {
	Name  string
	Level int16
}

// RegisterBrokerRecord adds a broker or replaces everything known about it:
// each start of a broker registers it with a new incarnation.
type RegisterBrokerRecord struct {
	Broker Broker
}

// TopicRecord creates a topic without partitions; PartitionRecords follow.
type TopicRecord struct {
	Name string
	ID   model.TopicID
}

// PartitionRecord adds the next partition to a topic: Index must be the number
// of partitions that the topic has.
type PartitionRecord struct {
	TopicID   model.TopicID
	Index     int32
	Partition Partition
}

// PartitionChangeRecord changes some fields of a partition; a nil field stays
// as it is. It raises the partition epoch by one, and the leader epoch too when
// Leader is set (also to the leader of before: that is how a restarted leader
// gets a new epoch).
type PartitionChangeRecord struct {
	TopicID  model.TopicID
	Index    int32
	Leader   *int32
	ISR      []int32 // not empty when set
	Replicas []int32 // not empty when set
	Adding   []int32 // empty but not nil: none any more
	Removing []int32 // empty but not nil: none any more
}

// RaiseEpochsRecord raises the leader epoch and the partition epoch of every
// partition that Broker leads, by one. It is written after an unclean stop, so
// that clients which read what a power loss took back are told (KIP-320); one
// record, however many partitions there are.
type RaiseEpochsRecord struct {
	Broker int32
}

// RemoveTopicRecord deletes a topic, its partitions and its configuration.
type RemoveTopicRecord struct {
	ID model.TopicID
}

// ConfigRecord sets one dynamic configuration of a resource, or removes it when
// Value is nil.
type ConfigRecord struct {
	Kind  ResourceKind
	Name  string
	Key   string
	Value *string
}

// ProducerIDsRecord hands out all producer ids below Next; none of them may be
// handed out again.
type ProducerIDsRecord struct {
	Next int64
}

// recordType is the number of a record's type in its encoding. Numbers are
// never reused.
type recordType uint64

const (
	typeCluster         recordType = 1
	typeFeature         recordType = 2
	typeRegisterBroker  recordType = 3
	typeTopic           recordType = 4
	typePartition       recordType = 5
	typePartitionChange recordType = 6
	typeRaiseEpochs     recordType = 7
	typeRemoveTopic     recordType = 8
	typeConfig          recordType = 9
	typeProducerIDs     recordType = 10
)

func (ClusterRecord) recordType() recordType         { return typeCluster }
func (FeatureRecord) recordType() recordType         { return typeFeature }
func (RegisterBrokerRecord) recordType() recordType  { return typeRegisterBroker }
func (TopicRecord) recordType() recordType           { return typeTopic }
func (PartitionRecord) recordType() recordType       { return typePartition }
func (PartitionChangeRecord) recordType() recordType { return typePartitionChange }
func (RaiseEpochsRecord) recordType() recordType     { return typeRaiseEpochs }
func (RemoveTopicRecord) recordType() recordType     { return typeRemoveTopic }
func (ConfigRecord) recordType() recordType          { return typeConfig }
func (ProducerIDsRecord) recordType() recordType     { return typeProducerIDs }
