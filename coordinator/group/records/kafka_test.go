package records

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"ringmain/coordinator"
)

// kafkaRecords are the records of testdata/kafka-4.4.txt, which says how they were made.
func kafkaRecords(t testing.TB) []coordinator.Record {
	t.Helper()
	f, err := os.Open("testdata/kafka-4.4.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []coordinator.Record
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		r := coordinator.Record{Key: unhex(t, key)}
		if value != "-" {
			r.Value = unhex(t, value)
		}
		list = append(list, r)
	}
	return list
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// encode makes a record of what Decode gave; ok is false for kinds that are only read.
func encode(d *Decoded) (r coordinator.Record, ok bool) {
	switch d.Kind {
	case OffsetCommitKind:
		return OffsetCommit(d.Group, d.Topic, d.Partition, d.OffsetCommit), true
	case GroupMetadataKind:
		return GroupMetadata(d.Group, d.GroupMetadata), true
	case ConsumerGroupMetadataKind:
		return ConsumerGroupMetadata(d.Group, d.ConsumerGroupMetadata), true
	case ConsumerGroupMemberMetadataKind:
		return ConsumerGroupMemberMetadata(d.Group, d.Member, d.ConsumerGroupMemberMetadata), true
	case ConsumerGroupTargetAssignmentMetadataKind:
		return ConsumerGroupTargetAssignmentMetadata(d.Group, d.ConsumerGroupTargetAssignmentMetadata), true
	case ConsumerGroupTargetAssignmentMemberKind:
		return ConsumerGroupTargetAssignmentMember(d.Group, d.Member, d.ConsumerGroupTargetAssignmentMember), true
	case ConsumerGroupCurrentMemberAssignmentKind:
		return ConsumerGroupCurrentMemberAssignment(d.Group, d.Member, d.ConsumerGroupCurrentMemberAssignment), true
	case ConsumerGroupRegularExpressionKind:
		return ConsumerGroupRegularExpression(d.Group, d.Regex, d.ConsumerGroupRegularExpression), true
	}
	return coordinator.Record{}, false
}

func TestKafkasRecordsComeBackByteForByte(t *testing.T) {
	values, tombstones := map[Kind]int{}, map[Kind]int{}
	for i, r := range kafkaRecords(t) {
		key, value := bytes.Clone(r.Key), bytes.Clone(r.Value)
		d, err := Decode(key, value)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if d.Tombstone {
			tombstones[d.Kind]++
		} else {
			values[d.Kind]++
		}
		// Nothing that was decoded may depend on the input's memory.
		clear(key)
		clear(value)
		again, ok := encode(&d)
		if !ok {
			if d.Kind != ConsumerGroupPartitionMetadataKind || d.Group == "" {
				t.Errorf("record %d: kind %d, group %q", i, d.Kind, d.Group)
			}
			continue
		}
		if !bytes.Equal(again.Key, r.Key) {
			t.Errorf("record %d: key\n%x, Kafka wrote\n%x", i, again.Key, r.Key)
		}
		if !bytes.Equal(again.Value, r.Value) || (again.Value == nil) != (r.Value == nil) {
			t.Errorf("record %d of kind %d: value\n%x, Kafka wrote\n%x", i, d.Kind, again.Value, r.Value)
		}
	}
	for k := OffsetCommitKind; k <= ConsumerGroupCurrentMemberAssignmentKind; k++ {
		if tombstones[k] == 0 || values[k] == 0 && k != ConsumerGroupPartitionMetadataKind {
			t.Errorf("kind %d: %d values and %d tombstones are in the sample", k, values[k], tombstones[k])
		}
	}
	if values[ConsumerGroupRegularExpressionKind] == 0 || tombstones[ConsumerGroupRegularExpressionKind] == 0 {
		t.Error("no regular expressions are in the sample")
	}
}
