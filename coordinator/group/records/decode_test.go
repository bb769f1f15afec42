package records

import (
	"encoding/binary"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
)

func ptr(s string) *string { return &s }

func TestValuesOfEveryKindComeBack(t *testing.T) {
	id := model.TopicID{1, 2, 3}
	partitions := []TopicPartitions{{TopicID: id, Partitions: []int32{0, 7}}, {TopicID: model.TopicID{9}}}
	epochs := []TopicPartitions{{TopicID: id, Partitions: []int32{0, 7}, AssignmentEpochs: []int32{3, 4}}, {TopicID: id, Partitions: []int32{1}}}
	for _, want := range []Decoded{
		{Kind: OffsetCommitKind, Group: "g", Topic: "t", Partition: 3, OffsetCommit: &OffsetCommitValue{
			Offset: 5, LeaderEpoch: 2, Metadata: "\xff\x00", CommitTimestamp: 1, ExpireTimestamp: NoTimestamp, TopicID: id}},
		{Kind: OffsetCommitKind, OffsetCommit: &OffsetCommitValue{
			Offset: -1, LeaderEpoch: model.NoEpoch, CommitTimestamp: 1, ExpireTimestamp: NoTimestamp}},
		{Kind: OffsetCommitKind, Group: "g", Topic: "t", OffsetCommit: &OffsetCommitValue{
			Offset: 5, LeaderEpoch: model.NoEpoch, Metadata: "m", CommitTimestamp: 1, ExpireTimestamp: 0}},
		{Kind: GroupMetadataKind, Group: "g", GroupMetadata: &GroupMetadataValue{
			ProtocolType: "consumer", Generation: 4, Protocol: ptr("range"), Leader: ptr("m"), CurrentStateTimestamp: 99,
			Members: []MemberMetadata{{MemberID: "m", GroupInstanceID: ptr(""), ClientID: "c", ClientHost: "/::1",
				RebalanceTimeout: 1, SessionTimeout: 2, Subscription: []byte{1}, Assignment: []byte{}}}}},
		{Kind: GroupMetadataKind, Group: "g", GroupMetadata: &GroupMetadataValue{CurrentStateTimestamp: NoTimestamp}},
		{Kind: ConsumerGroupMetadataKind, Group: "g", ConsumerGroupMetadata: &ConsumerGroupMetadataValue{Epoch: 7}},
		{Kind: ConsumerGroupMemberMetadataKind, Group: "g", Member: "m", ConsumerGroupMemberMetadata: &ConsumerGroupMemberMetadataValue{
			InstanceID: ptr("i"), RackID: ptr("r"), ClientID: "c", ClientHost: "h", SubscribedTopicNames: []string{"a", ""},
			SubscribedTopicRegex: ptr("x.*"), RebalanceTimeoutMs: -1, ServerAssignor: ptr("uniform"),
			ClassicMemberMetadata: &ClassicMemberMetadata{SessionTimeoutMs: 5, SupportedProtocols: []ClassicProtocol{{Name: "range", Metadata: []byte{0}}, {Name: "x", Metadata: []byte{}}}}}},
		{Kind: ConsumerGroupMemberMetadataKind, Group: "g", Member: "m", ConsumerGroupMemberMetadata: &ConsumerGroupMemberMetadataValue{
			ClassicMemberMetadata: &ClassicMemberMetadata{}}},
		{Kind: ConsumerGroupTargetAssignmentMetadataKind, Group: "g", ConsumerGroupTargetAssignmentMetadata: &ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: 1}},
		{Kind: ConsumerGroupTargetAssignmentMemberKind, Group: "g", Member: "m", ConsumerGroupTargetAssignmentMember: &ConsumerGroupTargetAssignmentMemberValue{TopicPartitions: partitions}},
		{Kind: ConsumerGroupCurrentMemberAssignmentKind, Group: "g", Member: "m", ConsumerGroupCurrentMemberAssignment: &ConsumerGroupCurrentMemberAssignmentValue{
			MemberEpoch: 3, PreviousMemberEpoch: 2, State: 1, AssignedPartitions: epochs, PartitionsPendingRevocation: partitions}},
		{Kind: ConsumerGroupRegularExpressionKind, Group: "g", Regex: "x.*", ConsumerGroupRegularExpression: &ConsumerGroupRegularExpressionValue{Topics: []string{"xy"}, Version: 8, Timestamp: 9}},
	} {
		r, _ := encode(&want)
		got, err := Decode(r.Key, r.Value)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got\n%+v, want\n%+v", err, got, want)
		}
	}
}

func TestEncodingsOfOlderReleasesAreRead(t *testing.T) {
	key := OffsetCommit("g", "t", 1, nil).Key
	for v := int16(0); v <= 4; v++ {
		value := kmsg.OffsetCommitValue{Version: v, Offset: 5, LeaderEpoch: 6, Metadata: "m", CommitTimestamp: 7, ExpireTimestamp: 8}
		want := OffsetCommitValue{Offset: 5, LeaderEpoch: model.NoEpoch, Metadata: "m", CommitTimestamp: 7, ExpireTimestamp: NoTimestamp}
		if v == 1 {
			want.ExpireTimestamp = 8
		}
		if v >= 3 {
			want.LeaderEpoch = 6
		}
		for _, kind := range []Kind{LegacyOffsetCommitKind, OffsetCommitKind} {
			binary.BigEndian.PutUint16(key, uint16(kind))
			d, err := Decode(key, value.AppendTo(nil))
			if err != nil || d.Kind != OffsetCommitKind || d.Group != "g" || d.Topic != "t" || d.Partition != 1 || *d.OffsetCommit != want {
				t.Errorf("kind %d, version %d: %v %+v %+v", kind, v, err, d, d.OffsetCommit)
			}
		}
	}
	key = GroupMetadata("g", nil).Key
	for v := int16(0); v <= 4; v++ {
		value := kmsg.GroupMetadataValue{Version: v, ProtocolType: "consumer", Generation: 1, CurrentStateTimestamp: 2, Members: []kmsg.GroupMetadataValueMember{
			{MemberID: "m", InstanceID: ptr("i"), RebalanceTimeoutMillis: 3, SessionTimeoutMillis: 4, Subscription: []byte{5}, Assignment: []byte{6}}}}
		member := MemberMetadata{MemberID: "m", RebalanceTimeout: -1, SessionTimeout: 4, Subscription: []byte{5}, Assignment: []byte{6}}
		want := &GroupMetadataValue{ProtocolType: "consumer", Generation: 1, CurrentStateTimestamp: NoTimestamp}
		if v >= 1 {
			member.RebalanceTimeout = 3
		}
		if v >= 2 {
			want.CurrentStateTimestamp = 2
		}
		if v >= 3 {
			member.GroupInstanceID = ptr("i")
		}
		want.Members = []MemberMetadata{member}
		d, err := Decode(key, value.AppendTo(nil))
		if err != nil || !reflect.DeepEqual(d.GroupMetadata, want) {
			t.Errorf("version %d: %v %+v", v, err, d.GroupMetadata)
		}
	}
}

func TestTaggedFieldsOfNewerReleasesArePassedOver(t *testing.T) {
	unknown := []byte{5, 3, 1, 2, 3} // tag 5 with three bytes
	r := ConsumerGroupMetadata("g", &ConsumerGroupMetadataValue{Epoch: 7, MetadataHash: 8})
	value := r.Value[:len(r.Value):len(r.Value)]
	value[6] = 2 // tagged fields
	d, err := Decode(r.Key, append(value, unknown...))
	if err != nil || *d.ConsumerGroupMetadata != (ConsumerGroupMetadataValue{7, 8}) {
		t.Errorf("%v %+v", err, d.ConsumerGroupMetadata)
	}
	r = OffsetCommit("g", "t", 1, &OffsetCommitValue{Offset: 5, ExpireTimestamp: NoTimestamp})
	value = r.Value[: len(r.Value)-1 : len(r.Value)-1]
	d, err = Decode(r.Key, append(append(value, 1), unknown...))
	if err != nil || d.OffsetCommit.Offset != 5 {
		t.Errorf("%v %+v", err, d.OffsetCommit)
	}
}

func TestVersionsOfNewerReleasesAreRefused(t *testing.T) {
	for _, r := range kafkaRecords(t) {
		if r.Value == nil {
			continue
		}
		binary.BigEndian.PutUint16(r.Value, 5)
		_, err := Decode(r.Key, r.Value)
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "version 5") || !strings.Contains(err.Error(), "newest known") {
			t.Fatalf("key %x: %v", r.Key, err)
		}
		binary.BigEndian.PutUint16(r.Value, 0xffff)
		if _, err := Decode(r.Key, r.Value); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("key %x: %v", r.Key, err)
		}
	}
}

func TestOtherKindsArePassedOver(t *testing.T) {
	for _, kind := range []Kind{9, 15, 17, 22, 23, 1000, -1} {
		key := binary.BigEndian.AppendUint16(nil, uint16(kind))
		for _, value := range [][]byte{nil, {}, {0xff, 0xff, 1}} {
			d, err := Decode(append(key, "whatever"...), value)
			if err != nil || d.Kind != kind || d.Tombstone != (value == nil) {
				t.Errorf("kind %d: %v %+v", kind, err, d)
			}
		}
	}
}

func TestRecordsThatAreCutOffAreRefused(t *testing.T) {
	for _, r := range kafkaRecords(t) {
		for n := range r.Key {
			if _, err := Decode(r.Key[:n], r.Value); err == nil {
				t.Fatalf("key %x with %d bytes", r.Key, n)
			}
		}
		for n := range r.Value {
			if _, err := Decode(r.Key, r.Value[:n:n]); err == nil {
				t.Fatalf("key %x, value %x with %d bytes", r.Key, r.Value, n)
			}
		}
	}
}

func TestAnnouncedLengthsTakeNoMemory(t *testing.T) {
	many := []byte{0xff, 0xff, 0xff, 0xff, 0x07} // 2^31-1
	member := append([]byte{0, 0, 0, 0, 1, 1}, many...)
	assignment := append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, many...)
	members := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, 1<<31-1)
	tags := append([]byte{0, 0, 0, 0, 0, 0}, many...)
	keys := map[string][]byte{
		string(member):     ConsumerGroupMemberMetadata("g", "m", nil).Key,
		string(assignment): ConsumerGroupCurrentMemberAssignment("g", "m", nil).Key,
		string(members):    GroupMetadata("g", nil).Key,
		string(tags):       ConsumerGroupMetadata("g", nil).Key,
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for value, key := range keys {
		if _, err := Decode(key, []byte(value)); err == nil {
			t.Errorf("%x %x is read", key, value)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// FuzzDecode gives Decode damaged records: it must neither panic nor take more
// memory than the input is worth, and what it reads must be written and read again.
func FuzzDecode(f *testing.F) {
	for _, r := range kafkaRecords(f) {
		f.Add(r.Key, r.Value, r.Value == nil)
	}
	f.Fuzz(func(t *testing.T, key, value []byte, tombstone bool) {
		if tombstone {
			value = nil
		} else if value == nil {
			value = []byte{}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := Decode(key, value)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > uint64(64*(len(key)+len(value))+1<<20) {
			t.Fatalf("%d bytes were allocated for %d", n, len(key)+len(value))
		}
		if err != nil {
			return
		}
		r, ok := encode(&d)
		if !ok {
			return
		}
		again, err := Decode(r.Key, r.Value)
		if err != nil || !reflect.DeepEqual(d, again) {
			t.Fatalf("%v: read\n%+v, then\n%+v", err, d, again)
		}
	})
}
