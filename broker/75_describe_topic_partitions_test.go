package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeTopicPartitionsPages(t *testing.T) {
	a, meta, _ := newAdmin(t)
	addTopic(t, meta, "k1", 3)
	addTopic(t, meta, "k2", 2)
	for _, c := range []struct {
		topics string
		limit  int32
		cursor string // topic:partition, "" for none
		want   string // topic(code)[partitions]
		next   string
	}{
		{"k2 nope k1 a!", 2000, "", "a!(17)[] k1(0)[0 1 2] k2(0)[0 1] nope(3)[]", ""},
		{"k2 k1", 2, "", "k1(0)[0 1]", "k1:2"},
		{"k2 k1", 3, "", "k1(0)[0 1 2]", "k2:0"},
		{"k2 k1", 0, "", "k1(0)[0]", "k1:1"},
		{"k2 k1", -1, "", "k1(0)[0]", "k1:1"},
		{"k2 k1", 2, "k1:2", "k1(0)[2] k2(0)[0]", "k2:1"},
		{"k2 k1", 2, "k1:3", "k1(0)[] k2(0)[0 1]", ""},
		{"k2 k1", 5, "k2:0", "k2(0)[0 1]", ""},
		{"k2", 5, "k2:9", "k2(0)[]", ""},
		{"k1 k1", 20, "", "k1(0)[0 1 2]", ""},
		{"zz k1 aa k0", 1, "", "aa(3)[] k0(3)[] k1(0)[0]", "k1:1"},
		{"zz", 1, "zz:0", "zz(3)[]", ""},
		{"", 3, "", "k1(0)[0 1 2]", "k2:0"},
		{"", 3, "k1:1", "k1(0)[1 2] k2(0)[0]", "k2:1"},
		{"", 3, "k10:7", "k2(0)[0 1]", ""}, // a topic that is gone: on with the next
		{"", 3, "z:0", "", ""},
		// The cursor is not of the request.
		{"k2 k1", 2, "k11:0", "k2(42)[] k1(42)[]", ""},
		{"k2 k1", 2, "k1:-1", "k2(42)[] k1(42)[]", ""},
		{"k2 k1", 2, ":0", "k2(42)[] k1(42)[]", ""},
		{"k2 k1", 2, "zz:0", "k2(42)[] k1(42)[]", ""},
	} {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit = c.limit
		for _, name := range strings.Fields(c.topics) {
			topic := kmsg.NewDescribeTopicPartitionsRequestTopic()
			topic.Topic = name
			req.Topics = append(req.Topics, topic)
		}
		if topic, partition, ok := strings.Cut(c.cursor, ":"); ok {
			cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
			cursor.Topic = topic
			fmt.Sscan(partition, &cursor.Partition)
			req.Cursor = &cursor
		}
		resp := serve[*kmsg.DescribeTopicPartitionsResponse](t, a, 0, req)
		var got []string
		for _, topic := range resp.Topics {
			indexes := []int32{}
			for _, p := range topic.Partitions {
				indexes = append(indexes, p.Partition)
				if p.LeaderID != 1 || p.ErrorCode != 0 || p.EligibleLeaderReplicas == nil || p.LastKnownELR == nil || !slices.Equal(p.ISR, []int32{1}) {
					t.Errorf("partition %+v", p)
				}
			}
			got = append(got, fmt.Sprintf("%s(%d)%v", *topic.Topic, topic.ErrorCode, indexes))
			if topic.ErrorCode != 42 && topic.AuthorizedOperations != 3576 {
				t.Errorf("%s: operations %d", *topic.Topic, topic.AuthorizedOperations)
			}
		}
		next := ""
		if resp.NextCursor != nil {
			next = fmt.Sprintf("%s:%d", resp.NextCursor.Topic, resp.NextCursor.Partition)
		}
		if strings.Join(got, " ") != c.want || next != c.next {
			t.Errorf("%q from %q, %d at most: %v, then %q; want %s, then %q", c.topics, c.cursor, c.limit, got, next, c.want, c.next)
		}
	}
}

// Following the cursor gives every partition once, whatever the limit.
func TestDescribeTopicPartitionsCompletely(t *testing.T) {
	a, meta, _ := newAdmin(t)
	a.cfg.MaxRequestPartitions = 7
	total := 0
	for i := range 9 {
		addTopic(t, meta, fmt.Sprint("t", i), i+1)
		total += i + 1
	}
	for limit := int32(1); limit < 12; limit++ {
		seen := map[string]bool{}
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit = limit
		for range 100 {
			resp := serve[*kmsg.DescribeTopicPartitionsResponse](t, a, 0, req)
			n := 0
			for _, topic := range resp.Topics {
				for _, p := range topic.Partitions {
					n++
					key := fmt.Sprint(*topic.Topic, "-", p.Partition)
					if seen[key] {
						t.Errorf("limit %d: %s twice", limit, key)
					}
					seen[key] = true
				}
			}
			if n > int(min(limit, 7)) {
				t.Errorf("limit %d: %d partitions in one answer", limit, n)
			}
			if resp.NextCursor == nil {
				break
			}
			cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
			cursor.Topic, cursor.Partition = resp.NextCursor.Topic, resp.NextCursor.Partition
			req.Cursor = &cursor
		}
		if len(seen) != total {
			t.Errorf("limit %d: %d of %d partitions", limit, len(seen), total)
		}
	}
}
