package metadata

import (
	"cmp"
	"maps"
	"slices"

	"ringmain/model"
)

// Delta says what differs between an image and the one before it. Everything in
// it is sorted by name, then by partition.
type Delta struct {
	// Created topics are in the new image only. A topic that was deleted and
	// created again is in both lists: the ids differ.
	Created []*Topic
	// Deleted topics as they were last.
	Deleted []*Topic
	// Changed partitions belong to topics that are in both images: those whose
	// state differs, and those that were added to the topic.
	Changed []model.TopicPartition
	// Configs lists resources whose dynamic configuration differs.
	Configs []ResourceRef
	// Features is set when a feature was changed, and with it FeaturesEpoch.
	Features bool
	// Brokers is set when a registration differs.
	Brokers bool
}

// Empty reports whether nothing differs (a change of the producer ids or of the
// offset alone counts as nothing).
func (d *Delta) Empty() bool {
	return len(d.Created) == 0 && len(d.Deleted) == 0 && len(d.Changed) == 0 && len(d.Configs) == 0 &&
		!d.Features && !d.Brokers
}

// Diff returns what differs between any two images. With Empty() as old it
// lists everything as created.
func Diff(old, new *Image) *Delta {
	d := &Delta{
		Features: old.featuresEpoch != new.featuresEpoch,
		Brokers:  !slices.EqualFunc(old.brokers, new.brokers, equalBrokers),
	}
	for _, name := range old.TopicNames() {
		was := old.Topic(name)
		d.topic(was, new.TopicByID(was.ID))
	}
	for _, name := range new.TopicNames() {
		if is := new.Topic(name); old.TopicByID(is.ID) == nil {
			d.topic(nil, is)
		}
	}
	for _, r := range old.resources() {
		if !maps.Equal(old.Config(r.Kind, r.Name), new.Config(r.Kind, r.Name)) {
			d.Configs = append(d.Configs, r)
		}
	}
	for _, r := range new.resources() {
		if old.Config(r.Kind, r.Name) == nil {
			d.Configs = append(d.Configs, r)
		}
	}
	d.sort()
	return d
}

// topic adds what differs between two states of the topic with one id; either
// may be nil.
func (d *Delta) topic(was, is *Topic) {
	switch {
	case was == is:
	case was == nil:
		d.Created = append(d.Created, is)
	case is == nil:
		d.Deleted = append(d.Deleted, was)
	default:
		for p := range is.Partitions {
			if p >= len(was.Partitions) || !equalPartitions(&was.Partitions[p], &is.Partitions[p]) {
				d.Changed = append(d.Changed, model.TopicPartition{Topic: is.Name, Partition: int32(p)})
			}
		}
	}
}

func (d *Delta) sort() {
	byName := func(a, b *Topic) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(d.Created, byName)
	slices.SortFunc(d.Deleted, byName)
	slices.SortFunc(d.Changed, func(a, b model.TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	slices.SortFunc(d.Configs, compareResources)
}

func equalPartitions(a, b *Partition) bool {
	return a.Leader == b.Leader && a.LeaderEpoch == b.LeaderEpoch && a.PartitionEpoch == b.PartitionEpoch &&
		slices.Equal(a.Replicas, b.Replicas) && slices.Equal(a.ISR, b.ISR) &&
		slices.Equal(a.Adding, b.Adding) && slices.Equal(a.Removing, b.Removing)
}

func equalBrokers(a, b *Broker) bool {
	return a == b || a.ID == b.ID && a.Rack == b.Rack && a.Incarnation == b.Incarnation && a.Fenced == b.Fenced &&
		slices.Equal(a.Endpoints, b.Endpoints)
}
