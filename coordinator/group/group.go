package group

import (
	"ringmain/coordinator"
	"ringmain/metadata"
)

// Kind is the protocol that a group's members speak.
type Kind string

// The kinds, in the words of ListGroups version 5.
const (
	Classic  Kind = "classic"
	Consumer Kind = "consumer"
)

// group is one group: its offsets, and its members under the protocol that they
// speak now.
type group struct {
	id      string
	offsets offsets
	members membership
}

// membership is a group's members under one protocol. A group that only has offsets
// has an empty classic membership, as in Kafka.
type membership interface {
	kind() Kind
	// state is Kafka's word for it at this moment ("Stable", "Empty", ...).
	state(s *coordinator.Step) string
	// protocolType is "consumer" for consumers, "" where nobody ever joined.
	protocolType() string
	// size is the number of members.
	size() int
	// mayCommit gives the error code for a commit of these credentials, 0 when it is
	// in order, per partition: KIP-848 takes an older epoch for some partitions only.
	// A commit that is in order renews the member's session.
	mayCommit(s *coordinator.Step, c *commitCredentials) (code int16, per func(topic string, partition int32) int16)
	// mayFetch gives the error code for a fetch of offsets that names a member or its
	// epoch (OffsetFetch version 9 and newer).
	mayFetch(s *coordinator.Step, memberID string, epoch int32) int16
	// subscribed reports whether a member reads the topic; known is false where that
	// cannot be told.
	subscribed(topic string) (yes, known bool)
	// emptySinceMs is the time of day since when the group has had no members; ok is
	// false while it has some, and where that was not recorded.
	emptySinceMs() (ms int64, ok bool)
	// mayDelete gives the error code for DeleteGroups, 0 when the group may go.
	mayDelete() int16
	// forget writes the tombstones of everything but offsets.
	forget(s *coordinator.Step)
	// topicsChanged is told what differs in the metadata.
	topicsChanged(s *coordinator.Step, d *metadata.Delta)
	// loaded begins the deadlines, after the log was read.
	loaded(s *coordinator.Step)
	// unload gives err to everybody who is parked.
	unload(err error)
	// gone cancels all deadlines: the membership is being dropped.
	gone()
}

// commitCredentials are who commits, of OffsetCommit.
type commitCredentials struct {
	version    int16
	memberID   string
	instance   *string // the instance id; nil: none
	generation int32   // or member epoch
}
