package broker

import (
	"context"

	"ringmain/metadata"
)

// autoCreate creates topics that a client asked Metadata for, with the
// broker's defaults (auto.create.topics.enable), and waits until they are
// served, so that the client's next Metadata finds them. What cannot be
// created (too many at once, a name that collides) stays unknown to the
// client; it is not told why, as in Kafka.
func (a *admin) autoCreate(ctx context.Context, names []string) {
	var specs []topicSpec
	for _, name := range names {
		switch {
		case name == offsetsTopic:
			specs = append(specs, a.offsetsTopicSpec(a.meta.Image()))
		case isInternalTopic(name), name == clusterMetadataTopic: // their coordinators are not here
		default:
			specs = append(specs, topicSpec{name: name, partitions: useDefault, replicationFactor: useDefault})
		}
	}
	if len(specs) == 0 {
		return
	}
	if why := a.tooManyPartitions(specs); why != nil {
		a.log.Warn("topics were not created automatically", "topics", len(specs), "reason", why.message)
		return
	}
	err := a.change(ctx, configTimeoutMs, func(img *metadata.Image) ([]metadata.Record, error) {
		var records []metadata.Record
		for _, s := range specs {
			made, why := a.planTopic(img, s)
			if why != nil {
				a.log.Debug("a topic was not created automatically", "topic", s.name, "reason", why.message)
				continue
			}
			records = append(records, made.records...)
		}
		return records, nil
	})
	if err != nil {
		a.log.Warn("topics could not be created automatically", "topics", len(specs), "error", err)
	}
}
