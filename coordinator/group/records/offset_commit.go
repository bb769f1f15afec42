package records

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/coordinator"
	"ringmain/model"
)

// NoTimestamp stands where a value has no such time.
const NoTimestamp int64 = -1

// OffsetCommitValue is a committed offset.
type OffsetCommitValue struct {
	Offset          int64
	LeaderEpoch     int32 // model.NoEpoch where the client named none
	Metadata        string
	CommitTimestamp int64         // milliseconds since 1970
	ExpireTimestamp int64         // the same; NoTimestamp: as the broker keeps offsets
	TopicID         model.TopicID // zero where it was not recorded
}

const (
	offsetCommitVersion = 4
	// offsetCommitExpiryVersion is the only one that has ExpireTimestamp. It lacks the
	// leader epoch and the topic id, so what is to expire is stored without them.
	offsetCommitExpiryVersion = 1
)

// OffsetCommit is the record of a committed offset; a tombstone if v is nil.
func OffsetCommit(group, topic string, partition int32, v *OffsetCommitValue) coordinator.Record {
	k := kmsg.OffsetCommitKey{Version: int16(OffsetCommitKind), Group: group, Topic: topic, Partition: partition}
	r := coordinator.Record{Key: k.AppendTo(make([]byte, 0, 10+len(group)+len(topic)))}
	if v == nil {
		return r
	}
	value := kmsg.OffsetCommitValue{
		Version:         offsetCommitVersion,
		Offset:          v.Offset,
		LeaderEpoch:     v.LeaderEpoch,
		Metadata:        v.Metadata,
		CommitTimestamp: v.CommitTimestamp,
		ExpireTimestamp: v.ExpireTimestamp,
		TopicID:         v.TopicID,
	}
	if v.ExpireTimestamp != NoTimestamp {
		value.Version = offsetCommitExpiryVersion
	}
	r.Value = value.AppendTo(make([]byte, 0, 48+len(v.Metadata)))
	return r
}

func decodeOffsetCommit(value []byte) (*OffsetCommitValue, error) {
	v, err := version(value)
	if err != nil {
		return nil, err
	}
	if err := known(v, offsetCommitVersion); err != nil {
		return nil, err
	}
	var k kmsg.OffsetCommitValue
	// What aliases the value is copied below: most offsets have no metadata, and
	// then there is nothing to copy.
	if err := k.UnsafeReadFrom(value); err != nil {
		return nil, fmt.Errorf("version %d: %w", v, err)
	}
	d := &OffsetCommitValue{
		Offset:          k.Offset,
		LeaderEpoch:     model.NoEpoch,
		Metadata:        strings.Clone(k.Metadata),
		CommitTimestamp: k.CommitTimestamp,
		ExpireTimestamp: NoTimestamp,
		TopicID:         k.TopicID,
	}
	if v >= 3 {
		d.LeaderEpoch = k.LeaderEpoch
	}
	if v == offsetCommitExpiryVersion {
		d.ExpireTimestamp = k.ExpireTimestamp
	}
	return d, nil
}
