package broker

import (
	"math/rand/v2"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/metadata"
	"ringmain/model"
)

// useDefault in a count means that the broker's default applies.
const useDefault = -1

// topicSpec is a topic that somebody wants to have.
type topicSpec struct {
	name              string
	partitions        int32 // useDefault: num.partitions
	replicationFactor int16 // useDefault: default.replication.factor
	// assignment places the replicas by hand; partitions and replicationFactor
	// are useDefault then.
	assignment []manualPartition
	configs    map[string]string
	// badConfig is set where the request's configurations cannot even be put
	// into a map.
	badConfig *refusal
}

// manualPartition places the replicas of one partition.
type manualPartition struct {
	index    int32
	replicas []int32
}

// plannedTopic is a topic that nothing speaks against, and the records that
// create it.
type plannedTopic struct {
	id                model.TopicID
	partitions        int32
	replicationFactor int16
	records           []metadata.Record
}

// tooManyPartitions refuses a request that would create more partitions than
// one request may (ringmain.request.max.partitions).
func (a *admin) tooManyPartitions(specs []topicSpec) *refusal {
	total := int64(0)
	for i := range specs {
		s := &specs[i]
		switch {
		case len(s.assignment) > 0:
			total += int64(len(s.assignment))
		case s.partitions == useDefault:
			total += int64(a.cfg.NumPartitions)
		case s.partitions > 0:
			total += int64(s.partitions)
		}
	}
	return a.partitionLimit(total)
}

func (a *admin) partitionLimit(total int64) *refusal {
	if total <= int64(a.cfg.MaxNewPartitions) {
		return nil
	}
	return refuse(kerr.PolicyViolation, "the request would create %d partitions; at most %d may be created in one request (ringmain.request.max.partitions)",
		total, a.cfg.MaxNewPartitions)
}

// planTopic checks a topic against the metadata, in Kafka's order: name, then
// whether it is there, then configurations, then partitions and replicas.
func (a *admin) planTopic(img *metadata.Image, s topicSpec) (plannedTopic, *refusal) {
	var none plannedTopic
	if bad := checkTopicName(s.name); bad != nil {
		return none, bad
	}
	if img.Topic(s.name) != nil {
		return none, refuse(kerr.TopicAlreadyExists, "topic %q exists already", s.name)
	}
	if other := img.CollidingTopic(s.name); other != "" {
		return none, refuse(kerr.InvalidTopicException, "topic %q collides with topic %q: names must differ in more than '.' and '_'", s.name, other)
	}
	if s.badConfig != nil {
		return none, s.badConfig
	}
	if bad := a.checkConfigs(img, metadata.ResourceRef{Kind: metadata.TopicResource, Name: s.name}, s.configs, nil); bad != nil {
		return none, bad
	}
	partitions, bad := a.placeTopic(img, s)
	if bad != nil {
		return none, bad
	}
	t := plannedTopic{id: model.NewTopicID(), partitions: int32(len(partitions)), replicationFactor: int16(len(partitions[0].Replicas))}
	t.records = make([]metadata.Record, 0, 1+len(partitions)+len(s.configs))
	t.records = append(t.records, metadata.TopicRecord{Name: s.name, ID: t.id})
	for i, p := range partitions {
		t.records = append(t.records, metadata.PartitionRecord{TopicID: t.id, Index: int32(i), Partition: p})
	}
	for _, key := range sortedNames(s.configs) {
		value := s.configs[key]
		t.records = append(t.records, metadata.ConfigRecord{Kind: metadata.TopicResource, Name: s.name, Key: key, Value: &value})
	}
	return t, nil
}

// placeTopic decides where the partitions of a new topic live.
func (a *admin) placeTopic(img *metadata.Image, s topicSpec) ([]metadata.Partition, *refusal) {
	if len(s.assignment) > 0 {
		return placeManually(img, s)
	}
	partitions, factor := s.partitions, s.replicationFactor
	switch {
	case factor < useDefault || factor == 0:
		return nil, refuse(kerr.InvalidReplicationFactor, "replication factor %d: it must be at least 1, or -1 for the broker's default", factor)
	case partitions < useDefault || partitions == 0:
		return nil, refuse(kerr.InvalidPartitions, "%d partitions: there must be at least 1, or -1 for the broker's default", partitions)
	}
	if partitions == useDefault {
		partitions = a.cfg.NumPartitions
	}
	if factor == useDefault {
		factor = a.cfg.DefaultReplicationFactor
	}
	return placeReplicas(img, int(partitions), int(factor))
}

// placeReplicas spreads count partitions over the brokers that serve, each
// partition beginning one broker further, from a random one on.
func placeReplicas(img *metadata.Image, count, factor int) ([]metadata.Partition, *refusal) {
	var brokers []int32
	for _, b := range img.Brokers() {
		if !b.Fenced {
			brokers = append(brokers, b.ID)
		}
	}
	if factor > len(brokers) {
		return nil, refuse(kerr.InvalidReplicationFactor, "replication factor %d is more than the %d broker(s) there are", factor, len(brokers))
	}
	start := rand.IntN(len(brokers))
	// Partitions that begin at the same broker share one list.
	lists := make([][]int32, len(brokers))
	partitions := make([]metadata.Partition, count)
	for i := range partitions {
		first := (start + i) % len(brokers)
		if lists[first] == nil {
			for j := range factor {
				lists[first] = append(lists[first], brokers[(first+j)%len(brokers)])
			}
		}
		partitions[i] = newPartition(lists[first], lists[first])
	}
	return partitions, nil
}

// newPartition is a partition in its first epoch, led by the first replica in
// sync.
func newPartition(replicas, isr []int32) metadata.Partition {
	return metadata.Partition{Replicas: replicas, ISR: isr, Leader: isr[0]}
}

// placeManually takes a whole topic's placement from the request.
func placeManually(img *metadata.Image, s topicSpec) ([]metadata.Partition, *refusal) {
	switch {
	case s.replicationFactor != useDefault:
		return nil, refuse(kerr.InvalidRequest, "replicas are assigned by hand, so the replication factor must be -1, not %d", s.replicationFactor)
	case s.partitions != useDefault:
		return nil, refuse(kerr.InvalidRequest, "replicas are assigned by hand, so the number of partitions must be -1, not %d", s.partitions)
	}
	byIndex := make(map[int32][]int32, len(s.assignment))
	factor := -1
	for _, m := range s.assignment {
		if _, twice := byIndex[m.index]; twice {
			return nil, refuse(kerr.InvalidReplicaAssignment, "partition %d is assigned more than once", m.index)
		}
		if bad := checkReplicas(img, m.replicas, &factor); bad != nil {
			return nil, bad
		}
		byIndex[m.index] = m.replicas
	}
	partitions := make([]metadata.Partition, len(s.assignment))
	for i := range partitions {
		replicas, ok := byIndex[int32(i)]
		if !ok {
			return nil, refuse(kerr.InvalidReplicaAssignment, "partition %d is not assigned: the partitions must be numbered 0 to %d", i, len(partitions)-1)
		}
		p, bad := assigned(img, int32(i), replicas)
		if bad != nil {
			return nil, bad
		}
		partitions[i] = p
	}
	return partitions, nil
}

// checkReplicas checks a list of replicas made by hand. factor is the length
// that it must have, or -1 to take this one's.
func checkReplicas(img *metadata.Image, replicas []int32, factor *int) *refusal {
	if len(replicas) == 0 {
		return refuse(kerr.InvalidReplicaAssignment, "the assignment has an empty list of replicas")
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for i, id := range sorted {
		if i > 0 && id == sorted[i-1] {
			return refuse(kerr.InvalidReplicaAssignment, "the assignment %v names broker %d more than once", replicas, id)
		}
		if img.Broker(id) == nil {
			return refuse(kerr.InvalidReplicaAssignment, "the assignment %v names broker %d, which is not registered", replicas, id)
		}
	}
	if *factor >= 0 && len(replicas) != *factor {
		return refuse(kerr.InvalidReplicaAssignment, "the assignment %v has %d replica(s) where other partitions have %d", replicas, len(replicas), *factor)
	}
	*factor = len(replicas)
	return nil
}

// assigned makes a partition from checked replicas: those whose broker serves
// are in sync.
func assigned(img *metadata.Image, index int32, replicas []int32) (metadata.Partition, *refusal) {
	var isr []int32
	for _, id := range replicas {
		if !img.Broker(id).Fenced {
			isr = append(isr, id)
		}
	}
	if len(isr) == 0 {
		return metadata.Partition{}, refuse(kerr.InvalidReplicaAssignment, "none of the brokers %v of partition %d is serving", replicas, index)
	}
	return newPartition(replicas, isr), nil
}
