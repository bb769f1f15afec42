package metadata

import "ringmain/model"

// Topic is a topic of an image. Do not modify it.
type Topic struct {
	Name       string
	ID         model.TopicID
	Partitions []Partition // by partition index
}

// Partition is the state of one partition. Do not modify the slices.
type Partition struct {
	Replicas       []int32 // broker ids, the preferred leader first
	ISR            []int32 // broker ids in sync, a subset of Replicas
	Adding         []int32 // being added by a reassignment (KIP-455)
	Removing       []int32 // being removed by a reassignment
	Leader         int32   // broker id, model.NoBroker when there is none
	LeaderEpoch    int32   // raised with every new term of a leader
	PartitionEpoch int32   // raised with every change of this struct
}

// Partition returns the state of the partition with this index, or nil.
func (t *Topic) Partition(index int32) *Partition {
	if index < 0 || int(index) >= len(t.Partitions) {
		return nil
	}
	return &t.Partitions[index]
}
