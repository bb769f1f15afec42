package metadata

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"ringmain/model"
)

// Image is the whole metadata of the cluster at one point of its log. It is
// immutable: what its methods return belongs to it and must not be modified.
type Image struct {
	offset        int64
	clusterID     string
	topics        hashTrie[string, *Topic]
	topicsByID    hashTrie[model.TopicID, *Topic]
	names         nameList
	collisions    hashTrie[string, nameList] // collisionKey -> names of topics; several may be made by one request
	partitions    int
	brokers       []*Broker // by id
	configs       hashTrie[ResourceRef, map[string]string]
	features      map[string]int16
	featuresEpoch int64
	nextProducer  int64

	// flatNames caches names.flat(). Two readers may both build it: the results
	// are equal, and either may stay.
	flatNames atomic.Pointer[[]string]
}

// Empty returns the image before the first record.
func Empty() *Image { return &Image{featuresEpoch: -1} }

// Offset returns the log index of the last records that were applied, 0 when
// there were none.
func (i *Image) Offset() int64 { return i.offset }

// ClusterID returns "" before the first record.
func (i *Image) ClusterID() string { return i.clusterID }

// Topic returns nil when there is no topic with this name.
func (i *Image) Topic(name string) *Topic {
	t, _ := i.topics.get(name)
	return t
}

// TopicByID returns nil when there is no topic with this id.
func (i *Image) TopicByID(id model.TopicID) *Topic {
	t, _ := i.topicsByID.get(id)
	return t
}

// Partition returns nil when there is no such partition.
func (i *Image) Partition(tp model.TopicPartition) *Partition {
	t := i.Topic(tp.Topic)
	if t == nil {
		return nil
	}
	return t.Partition(tp.Partition)
}

// TopicNames returns the names of all topics, sorted.
func (i *Image) TopicNames() []string {
	if p := i.flatNames.Load(); p != nil {
		return *p
	}
	names := i.names.flat()
	i.flatNames.Store(&names)
	return names
}

// CollidingTopic returns the topic that a topic called name cannot live beside:
// one with the same name, or one whose name differs only in having '.' where
// the other has '_' (their metrics would be the same). It returns "" when there
// is none.
func (i *Image) CollidingTopic(name string) string {
	if i.Topic(name) != nil {
		return name
	}
	if strings.ContainsAny(name, "._") {
		if others, ok := i.collisions.get(collisionKey(name)); ok {
			return others.first()
		}
	}
	return ""
}

func collisionKey(name string) string { return strings.ReplaceAll(name, ".", "_") }

// NumTopics returns the number of topics.
func (i *Image) NumTopics() int { return i.topics.len() }

// NumPartitions returns the number of partitions of all topics.
func (i *Image) NumPartitions() int { return i.partitions }

// Broker returns nil when no broker with this id is registered.
func (i *Image) Broker(id int32) *Broker {
	at, ok := i.findBroker(id)
	if !ok {
		return nil
	}
	return i.brokers[at]
}

// Brokers returns all registered brokers, fenced ones too, sorted by id.
func (i *Image) Brokers() []*Broker { return i.brokers }

func (i *Image) findBroker(id int32) (int, bool) {
	return slices.BinarySearchFunc(i.brokers, id, func(b *Broker, id int32) int { return cmp.Compare(b.ID, id) })
}

// Config returns the dynamic configuration of a resource, nil when it has none.
func (i *Image) Config(kind ResourceKind, name string) map[string]string {
	m, _ := i.configs.get(ResourceRef{kind, name})
	return m
}

// ConfigNames returns the sorted names of the resources of a kind that have
// dynamic configuration.
func (i *Image) ConfigNames(kind ResourceKind) []string {
	var names []string
	i.configs.all(func(r ResourceRef, _ map[string]string) {
		if r.Kind == kind {
			names = append(names, r.Name)
		}
	})
	sort.Strings(names)
	return names
}

// Features returns the finalized features and their levels, all above 0.
func (i *Image) Features() map[string]int16 { return i.features }

// FeaturesEpoch returns the log index of the last change to the features, -1
// before the first. Clients trust the node with the highest one (KIP-584).
func (i *Image) FeaturesEpoch() int64 { return i.featuresEpoch }

// NextProducerID returns the lowest producer id that was not handed out.
func (i *Image) NextProducerID() int64 { return i.nextProducer }

// resources returns every resource with dynamic configuration, in one fixed
// order.
func (i *Image) resources() []ResourceRef {
	refs := make([]ResourceRef, 0, i.configs.len())
	i.configs.all(func(r ResourceRef, _ map[string]string) { refs = append(refs, r) })
	slices.SortFunc(refs, compareResources)
	return refs
}

func compareResources(a, b ResourceRef) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
