package broker

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"ringmain/metadata"
)

// offsetsTopicSpec is the offsets topic as it is created. More replicas than there are
// brokers, which would leave a single node without groups, are as many as there are.
func (a *admin) offsetsTopicSpec(img *metadata.Image) topicSpec {
	s := &a.cfg.Groups
	serving := int16(0)
	for _, b := range img.Brokers() {
		if !b.Fenced {
			serving++
		}
	}
	return topicSpec{
		name: offsetsTopic, partitions: s.TopicPartitions, replicationFactor: max(min(s.TopicReplication, serving), 1),
		configs: map[string]string{
			"cleanup.policy":   "compact",
			"compression.type": "producer",
			"segment.bytes":    strconv.Itoa(int(s.TopicSegmentBytes)),
		},
	}
}

// ensureOffsetsTopic creates the offsets topic if it is not there, and waits until it is
// served.
func (a *admin) ensureOffsetsTopic(ctx context.Context) *kerr.Error {
	if a.meta.Image().Topic(offsetsTopic) != nil {
		return nil
	}
	err := a.change(ctx, configTimeoutMs, func(img *metadata.Image) ([]metadata.Record, error) {
		if img.Topic(offsetsTopic) != nil {
			return nil, nil
		}
		made, why := a.planTopic(img, a.offsetsTopicSpec(img))
		if why != nil {
			return nil, why
		}
		return made.records, nil
	})
	if err != nil {
		a.log.Error("the topic of the group coordinator could not be created", "topic", offsetsTopic, "error", err)
		return kerr.CoordinatorNotAvailable
	}
	return nil
}
