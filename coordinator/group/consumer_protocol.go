package group

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator/group/records"
	"ringmain/metadata"
	"ringmain/model"
)

// The embedded protocol of consumers ("consumer"): what members of the classic
// protocol say to each other in JoinGroup and SyncGroup. The broker has to understand
// it where it assigns to such members itself.

// embeddedVersion is the newest version of it that the broker writes.
const embeddedVersion = 3

var errEmbedded = errors.New("the embedded consumer protocol is malformed")

func decodeSubscription(b []byte) (*kmsg.ConsumerMemberMetadata, error) {
	v := kmsg.NewConsumerMemberMetadata()
	if err := v.ReadFrom(b); err != nil || v.Version < 0 {
		return nil, errEmbedded
	}
	return &v, nil
}

// firstSubscription is what a member says under the protocol that it likes best.
func firstSubscription(protocols []kmsg.JoinGroupRequestProtocol) (*kmsg.ConsumerMemberMetadata, bool) {
	if len(protocols) == 0 {
		return nil, false
	}
	v, err := decodeSubscription(protocols[0].Metadata)
	return v, err == nil
}

// ownedOf is what the subscription says that the member owns, never nil: a member of
// a version without it has given up everything before it joins.
func ownedOf(img *metadata.Image, v *kmsg.ConsumerMemberMetadata) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	owned := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, o := range v.OwnedPartitions {
		if topic := img.Topic(o.Topic); topic != nil {
			owned = append(owned, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: topic.ID, Partitions: o.Partitions})
		}
	}
	return owned
}

// encodeAssignment writes an assignment in the version in which the member wrote its
// subscription.
func encodeAssignment(img *metadata.Image, subscription []byte, byTopic func(visit func(model.TopicID, []int32))) []byte {
	v := kmsg.NewConsumerMemberAssignment()
	if said, err := decodeSubscription(subscription); err == nil {
		v.Version = min(said.Version, embeddedVersion)
	}
	byTopic(func(id model.TopicID, partitions []int32) {
		if topic := img.TopicByID(id); topic != nil {
			v.Topics = append(v.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topic.Name, Partitions: partitions})
		}
	})
	return v.AppendTo(nil)
}

var errUserData = errors.New("an assignor of the clients' own is in use")

// decodeAssignment reads an assignment of the classic protocol. It refuses one with
// data of an assignor, which would be lost.
func decodeAssignment(img *metadata.Image, b []byte) ([]records.TopicPartitions, error) {
	if len(b) == 0 {
		return nil, nil
	}
	v := kmsg.NewConsumerMemberAssignment()
	if err := v.ReadFrom(b); err != nil || v.Version < 0 {
		return nil, errEmbedded
	}
	if len(v.UserData) > 0 {
		return nil, errUserData
	}
	var list []records.TopicPartitions
	for _, t := range v.Topics {
		if topic := img.Topic(t.Topic); topic != nil {
			list = append(list, records.TopicPartitions{TopicID: topic.ID, Partitions: t.Partitions})
		}
	}
	return list, nil
}
