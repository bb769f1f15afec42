package broker

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
)

func TestDescribeLogDirs(t *testing.T) {
	a, _, logs := newAdmin(t)
	size := func(topic string, partition int32, bytes int64) LogSize {
		return LogSize{model.TopicPartition{Topic: topic, Partition: partition}, bytes}
	}
	logs.dirs = []LogDirInfo{
		{Path: "/d1", TotalBytes: 1000, UsableBytes: 400, Partitions: []LogSize{size("b", 1, 7), size("a", 0, 5), size("b", 0, 6)}},
		{Path: "/d2", TotalBytes: -1, UsableBytes: -1, Err: errors.New("input/output error"), Partitions: []LogSize{size("c", 0, 1)}},
	}
	some := []kmsg.DescribeLogDirsRequestTopic{{Topic: "b", Partitions: []int32{0, 9, 0}}, {Topic: "nope", Partitions: []int32{0}}}
	for version := int16(1); version <= 5; version++ {
		for _, c := range []struct {
			topics []kmsg.DescribeLogDirsRequestTopic
			want   []string
		}{
			{nil, []string{"a-0 5", "b-0 6", "b-1 7"}},
			{some, []string{"b-0 6"}},
			{[]kmsg.DescribeLogDirsRequestTopic{}, nil},
		} {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Topics = c.topics
			resp := serve[*kmsg.DescribeLogDirsResponse](t, a, version, req)
			if len(resp.Dirs) != 2 || resp.ErrorCode != 0 {
				t.Fatalf("v%d: %+v", version, resp)
			}
			d := resp.Dirs[0]
			var got []string
			for _, topic := range d.Topics {
				for _, p := range topic.Partitions {
					got = append(got, fmt.Sprintf("%s-%d %d", topic.Topic, p.Partition, p.Size))
					if p.OffsetLag != 0 || p.IsFuture {
						t.Errorf("v%d: %+v", version, p)
					}
				}
			}
			if d.Dir != "/d1" || d.ErrorCode != 0 || !slices.Equal(got, c.want) {
				t.Errorf("v%d: %s %d: %v, want %v", version, d.Dir, d.ErrorCode, got, c.want)
			}
			if version >= 4 && (d.TotalBytes != 1000 || d.UsableBytes != 400) {
				t.Errorf("v%d: %d of %d bytes", version, d.UsableBytes, d.TotalBytes)
			}
			if off := resp.Dirs[1]; off.ErrorCode != 56 || len(off.Topics) != 0 {
				t.Errorf("v%d: the directory that is offline: %+v", version, off)
			}
		}
	}
}
