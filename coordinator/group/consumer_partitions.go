package group

import (
	"bytes"
	"cmp"
	"slices"

	"ringmain/coordinator/assignor"
	"ringmain/coordinator/group/records"
	"ringmain/model"
)

// topicPartition is a partition of a topic's incarnation.
type topicPartition struct {
	topic     model.TopicID
	partition int32
}

func compareTopicPartitions(a, b topicPartition) int {
	return cmp.Or(bytes.Compare(a.topic[:], b.topic[:]), cmp.Compare(a.partition, b.partition))
}

// partitions are what a member has, each with the member epoch since when. They are
// not changed once a member has them.
type partitions map[topicPartition]int32

// sorted gives them by topic, then by partition.
func (p partitions) sorted() []topicPartition {
	all := make([]topicPartition, 0, len(p))
	for tp := range p {
		all = append(all, tp)
	}
	slices.SortFunc(all, compareTopicPartitions)
	return all
}

// byTopic calls visit for each topic, in order, with its partitions in order.
func (p partitions) byTopic(visit func(topic model.TopicID, partitions []int32)) {
	all := p.sorted()
	for len(all) > 0 {
		topic := all[0].topic
		var list []int32
		for len(all) > 0 && all[0].topic == topic {
			list = append(list, all[0].partition)
			all = all[1:]
		}
		visit(topic, list)
	}
}

func (p partitions) record() []records.TopicPartitions {
	var list []records.TopicPartitions
	p.byTopic(func(topic model.TopicID, partitions []int32) {
		epochs := make([]int32, len(partitions))
		for i := range partitions {
			epochs[i] = p[topicPartition{topic, partitions[i]}]
		}
		list = append(list, records.TopicPartitions{TopicID: topic, Partitions: partitions, AssignmentEpochs: epochs})
	})
	return list
}

// partitionsOf reads a record, in which partitions without an epoch have had epoch
// for it: it is of a broker before Kafka 4.3, which did not record any.
func partitionsOf(list []records.TopicPartitions, epoch int32) partitions {
	p := partitions{}
	for i := range list {
		for j, partition := range list[i].Partitions {
			since := epoch
			if list[i].AssignmentEpochs != nil {
				since = list[i].AssignmentEpochs[j]
			}
			p[topicPartition{list[i].TopicID, partition}] = since
		}
	}
	return p
}

// assignmentRecord is a target in the form of records.
func assignmentRecord(a assignor.Assignment) []records.TopicPartitions {
	list := make([]records.TopicPartitions, 0, len(a))
	for topic, partitions := range a {
		list = append(list, records.TopicPartitions{TopicID: topic, Partitions: partitions})
	}
	slices.SortFunc(list, func(a, b records.TopicPartitions) int {
		return bytes.Compare(a.TopicID[:], b.TopicID[:])
	})
	return list
}

func assignmentOf(list []records.TopicPartitions) assignor.Assignment {
	a := make(assignor.Assignment, len(list))
	for i := range list {
		a[list[i].TopicID] = slices.Sorted(slices.Values(list[i].Partitions))
	}
	return a
}
