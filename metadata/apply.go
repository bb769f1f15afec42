package metadata

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ringmain/model"
)

// Apply returns the image after records, which were written to the log at
// index, and what they changed. Either all of them are applied or none: then
// the error wraps ErrInvalidChange and says which record did not fit. index
// must be above Offset().
func (i *Image) Apply(records []Record, index int64) (*Image, *Delta, error) {
	if index <= i.offset {
		return nil, nil, fmt.Errorf("%w: index %d is not above %d, which was applied already", ErrInvalidChange, index, i.offset)
	}
	d := draft{old: i, index: index, edit: new(edit)}
	d.img.copyFrom(i)
	d.img.offset = index
	for n, r := range records {
		if err := d.apply(r); err != nil {
			return nil, nil, fmt.Errorf("%w: record %d of %d at index %d: %w", ErrInvalidChange, n+1, len(records), index, err)
		}
	}
	return &d.img, d.delta(), nil
}

func (i *Image) copyFrom(o *Image) {
	i.offset, i.clusterID = o.offset, o.clusterID
	i.topics, i.topicsByID, i.names, i.collisions, i.partitions = o.topics, o.topicsByID, o.names, o.collisions, o.partitions
	i.brokers, i.configs = o.brokers, o.configs
	i.features, i.featuresEpoch, i.nextProducer = o.features, o.featuresEpoch, o.nextProducer
	if p := o.flatNames.Load(); p != nil {
		i.flatNames.Store(p)
	}
}

// draft is an image that is being made. Topics and maps that it already copied
// are its own and are modified in place until Apply returns: a topic with
// 20,000 partitions arrives as 20,000 records, and copying it for each would be
// quadratic.
type draft struct {
	img        Image
	old        *Image
	index      int64
	edit       *edit                    // what the tries and the names may modify in place
	topics     map[model.TopicID]*Topic // our own copies; nil for a deleted topic
	last       *Topic                   // the topic of the last partition record: the next is mostly of it too
	configs    map[ResourceRef]map[string]string
	ownBrokers bool
	features   bool
}

func (d *draft) apply(r Record) error {
	switch r := r.(type) {
	case ClusterRecord:
		return d.cluster(r)
	case FeatureRecord:
		return d.feature(r)
	case RegisterBrokerRecord:
		return d.registerBroker(r)
	case TopicRecord:
		return d.topic(r)
	case PartitionRecord:
		return d.partition(r)
	case PartitionChangeRecord:
		return d.partitionChange(r)
	case RaiseEpochsRecord:
		return d.raiseEpochs(r)
	case RemoveTopicRecord:
		return d.removeTopic(r)
	case ConfigRecord:
		return d.config(r)
	case ProducerIDsRecord:
		return d.producerIDs(r)
	}
	return fmt.Errorf("record of unknown type %T", r)
}

func (d *draft) cluster(r ClusterRecord) error {
	if r.ClusterID == "" {
		return fmt.Errorf("the cluster id is empty")
	}
	if d.img.clusterID != "" && d.img.clusterID != r.ClusterID {
		return fmt.Errorf("the cluster is called %q already and cannot become %q", d.img.clusterID, r.ClusterID)
	}
	d.img.clusterID = r.ClusterID
	return nil
}

func (d *draft) feature(r FeatureRecord) error {
	if r.Name == "" || r.Level < 0 {
		return fmt.Errorf("feature %q cannot have level %d", r.Name, r.Level)
	}
	if !d.features {
		d.features = true
		m := make(map[string]int16, len(d.img.features)+1)
		maps.Copy(m, d.img.features)
		d.img.features = m
	}
	if r.Level == 0 {
		delete(d.img.features, r.Name)
	} else {
		d.img.features[r.Name] = r.Level
	}
	d.img.featuresEpoch = d.index
	return nil
}

func (d *draft) registerBroker(r RegisterBrokerRecord) error {
	if r.Broker.ID < 0 {
		return fmt.Errorf("broker id %d is negative", r.Broker.ID)
	}
	if !d.ownBrokers {
		d.ownBrokers = true
		d.img.brokers = slices.Clone(d.img.brokers)
	}
	at, found := d.img.findBroker(r.Broker.ID)
	if found {
		d.img.brokers[at] = &r.Broker
	} else {
		d.img.brokers = slices.Insert(d.img.brokers, at, &r.Broker)
	}
	return nil
}

func (d *draft) topic(r TopicRecord) error {
	if r.Name == "" || r.ID.IsZero() {
		return fmt.Errorf("topic %q with id %v: both are needed", r.Name, r.ID)
	}
	if t := d.img.Topic(r.Name); t != nil {
		return fmt.Errorf("topic %q exists already, with id %v", r.Name, t.ID)
	}
	if t := d.img.TopicByID(r.ID); t != nil {
		return fmt.Errorf("topic id %v belongs to topic %q already", r.ID, t.Name)
	}
	if _, seen := d.topics[r.ID]; seen {
		return fmt.Errorf("topic id %v was deleted in this change and cannot be used again", r.ID)
	}
	t := &Topic{Name: r.Name, ID: r.ID}
	d.own(t)
	d.img.names = d.img.names.insert(d.edit, r.Name)
	d.img.flatNames.Store(nil)
	if key := collisionKey(r.Name); strings.ContainsAny(r.Name, "._") {
		names, _ := d.img.collisions.get(key)
		d.img.collisions = d.img.collisions.set(d.edit, key, names.insert(d.edit, r.Name))
	}
	return nil
}

// own puts a topic that nobody else sees yet into the image.
func (d *draft) own(t *Topic) {
	if d.topics == nil {
		d.topics = make(map[model.TopicID]*Topic)
	}
	d.topics[t.ID] = t
	d.last = t
	d.img.topics = d.img.topics.set(d.edit, t.Name, t)
	d.img.topicsByID = d.img.topicsByID.set(d.edit, t.ID, t)
}

// owned returns our own copy of a topic.
func (d *draft) owned(id model.TopicID) (*Topic, error) {
	if d.last != nil && d.last.ID == id {
		return d.last, nil
	}
	if t := d.topics[id]; t != nil {
		d.last = t
		return t, nil
	}
	t := d.img.TopicByID(id)
	if t == nil {
		return nil, fmt.Errorf("there is no topic with id %v", id)
	}
	c := &Topic{Name: t.Name, ID: t.ID, Partitions: slices.Clone(t.Partitions)}
	d.own(c)
	return c, nil
}

func (d *draft) partition(r PartitionRecord) error {
	t, err := d.owned(r.TopicID)
	if err != nil {
		return err
	}
	if int(r.Index) != len(t.Partitions) {
		return fmt.Errorf("partition %d of topic %q cannot be added: the topic has %d, the next one is %d",
			r.Index, t.Name, len(t.Partitions), len(t.Partitions))
	}
	p := r.Partition
	if len(p.Replicas) == 0 || p.LeaderEpoch < 0 || p.PartitionEpoch < 0 {
		return fmt.Errorf("partition %d of topic %q needs replicas and epochs from 0: %+v", r.Index, t.Name, p)
	}
	p.ISR = shared(p.ISR, p.Replicas)
	if n := len(t.Partitions); n > 0 { // most partitions look like the one before: keep one copy of the lists
		before := &t.Partitions[n-1]
		p.Replicas, p.ISR = shared(p.Replicas, before.Replicas), shared(p.ISR, before.ISR)
	}
	t.Partitions = append(t.Partitions, p)
	d.img.partitions++
	return nil
}

// shared returns other when both lists are equal, so that one can be freed.
func shared(list, other []int32) []int32 {
	if slices.Equal(list, other) {
		return other
	}
	return list
}

func (d *draft) partitionChange(r PartitionChangeRecord) error {
	t, err := d.owned(r.TopicID)
	if err != nil {
		return err
	}
	p := t.Partition(r.Index)
	if p == nil {
		return fmt.Errorf("topic %q has %d partitions and no partition %d", t.Name, len(t.Partitions), r.Index)
	}
	if (r.ISR != nil && len(r.ISR) == 0) || (r.Replicas != nil && len(r.Replicas) == 0) {
		return fmt.Errorf("partition %v: neither replicas nor in-sync replicas can become empty", model.TopicPartition{Topic: t.Name, Partition: r.Index})
	}
	if p.PartitionEpoch == math.MaxInt32 || (r.Leader != nil && p.LeaderEpoch == math.MaxInt32) {
		return fmt.Errorf("partition %v has used up its epochs", model.TopicPartition{Topic: t.Name, Partition: r.Index})
	}
	p.PartitionEpoch++
	if r.Leader != nil {
		p.Leader = *r.Leader
		p.LeaderEpoch++
	}
	if r.Replicas != nil {
		p.Replicas = r.Replicas
	}
	if r.ISR != nil {
		p.ISR = r.ISR
	}
	if r.Adding != nil {
		p.Adding = emptyToNil(r.Adding)
	}
	if r.Removing != nil {
		p.Removing = emptyToNil(r.Removing)
	}
	return nil
}

// emptyToNil keeps one form of "none", so that equal images are equal in depth.
func emptyToNil(list []int32) []int32 {
	if len(list) == 0 {
		return nil
	}
	return list
}

func (d *draft) raiseEpochs(r RaiseEpochsRecord) error {
	for _, name := range d.img.TopicNames() {
		t := d.img.Topic(name)
		for n := range t.Partitions {
			if t.Partitions[n].Leader != r.Broker {
				continue
			}
			own, err := d.owned(t.ID)
			if err != nil {
				return err
			}
			p := &own.Partitions[n]
			if p.LeaderEpoch == math.MaxInt32 || p.PartitionEpoch == math.MaxInt32 {
				return fmt.Errorf("partition %v has used up its epochs", model.TopicPartition{Topic: name, Partition: int32(n)})
			}
			p.LeaderEpoch++
			p.PartitionEpoch++
		}
	}
	return nil
}

func (d *draft) removeTopic(r RemoveTopicRecord) error {
	t := d.img.TopicByID(r.ID)
	if t == nil {
		return fmt.Errorf("there is no topic with id %v to remove", r.ID)
	}
	d.img.topics = d.img.topics.delete(d.edit, t.Name)
	d.img.topicsByID = d.img.topicsByID.delete(d.edit, t.ID)
	d.img.names = d.img.names.remove(d.edit, t.Name)
	d.img.flatNames.Store(nil)
	d.img.partitions -= len(t.Partitions)
	if key := collisionKey(t.Name); strings.ContainsAny(t.Name, "._") {
		names, _ := d.img.collisions.get(key)
		if names = names.remove(d.edit, t.Name); names.n > 0 {
			d.img.collisions = d.img.collisions.set(d.edit, key, names)
		} else {
			d.img.collisions = d.img.collisions.delete(d.edit, key)
		}
	}
	if d.topics == nil {
		d.topics = make(map[model.TopicID]*Topic)
	}
	d.topics[t.ID] = nil
	d.last = nil
	d.setConfig(ResourceRef{TopicResource, t.Name}, nil)
	return nil
}

func (d *draft) config(r ConfigRecord) error {
	if r.Key == "" {
		return fmt.Errorf("configuration of %v %q without a key", r.Kind, r.Name)
	}
	if r.Kind == TopicResource && d.img.Topic(r.Name) == nil {
		return fmt.Errorf("configuration %s of topic %q: there is no such topic", r.Key, r.Name)
	}
	ref := ResourceRef{r.Kind, r.Name}
	m, own := d.configs[ref]
	if !own || m == nil {
		old := d.img.Config(r.Kind, r.Name)
		m = make(map[string]string, len(old)+1)
		maps.Copy(m, old)
	}
	if r.Value == nil {
		delete(m, r.Key)
	} else {
		m[r.Key] = *r.Value
	}
	d.setConfig(ref, m)
	return nil
}

// setConfig makes m, which is ours, the configuration of a resource; empty is
// none.
func (d *draft) setConfig(ref ResourceRef, m map[string]string) {
	if d.configs == nil {
		d.configs = make(map[ResourceRef]map[string]string)
	}
	d.configs[ref] = m
	if len(m) == 0 {
		d.configs[ref] = nil
		d.img.configs = d.img.configs.delete(d.edit, ref)
	} else {
		d.img.configs = d.img.configs.set(d.edit, ref, m)
	}
}

func (d *draft) producerIDs(r ProducerIDsRecord) error {
	if r.Next < d.img.nextProducer {
		return fmt.Errorf("producer ids below %d were handed out: the next one cannot be %d", d.img.nextProducer, r.Next)
	}
	d.img.nextProducer = r.Next
	return nil
}

// delta compares only what was touched.
func (d *draft) delta() *Delta {
	delta := &Delta{
		Features: d.features,
		Brokers:  d.ownBrokers && !slices.EqualFunc(d.old.brokers, d.img.brokers, equalBrokers),
	}
	for id, t := range d.topics {
		delta.topic(d.old.TopicByID(id), t)
	}
	for ref := range d.configs {
		if !maps.Equal(d.old.Config(ref.Kind, ref.Name), d.img.Config(ref.Kind, ref.Name)) {
			delta.Configs = append(delta.Configs, ref)
		}
	}
	delta.sort()
	return delta
}
