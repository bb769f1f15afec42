package broker

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/model"
)

// DescribeLogDirs, versions 1 to 5.
//
//   - v2 flexible, v3 an error for the whole answer, v4 size and room of the
//     volume, v5 whether the directory is cordoned (KIP-1066): never here
//
// Null topics mean all partitions on this broker; partitions that are not here
// are left out without an error.
var describeLogDirsAPI = api{key: 35, min: 1, max: 5, serve: describeLogDirs}

func describeLogDirs(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.DescribeLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	var wanted map[model.TopicPartition]bool
	if req.Topics != nil {
		wanted = make(map[model.TopicPartition]bool)
		for i := range req.Topics {
			for _, p := range req.Topics[i].Partitions {
				wanted[model.TopicPartition{Topic: req.Topics[i].Topic, Partition: p}] = true
			}
		}
	}
	for _, info := range a.logs.DirInfo() {
		dir := kmsg.NewDescribeLogDirsResponseDir()
		dir.Dir, dir.TotalBytes, dir.UsableBytes = info.Path, info.TotalBytes, info.UsableBytes
		if info.Err != nil {
			dir.ErrorCode, dir.TotalBytes, dir.UsableBytes = kerr.KafkaStorageError.Code, -1, -1
		} else {
			dir.Topics = logDirTopics(info.Partitions, wanted)
		}
		resp.Dirs = append(resp.Dirs, dir)
	}
	return resp
}

// logDirTopics groups logs by topic, in order; wanted nil means all.
func logDirTopics(logs []LogSize, wanted map[model.TopicPartition]bool) []kmsg.DescribeLogDirsResponseDirTopic {
	sorted := make([]LogSize, 0, len(logs))
	for _, l := range logs {
		if wanted == nil || wanted[l.TP] {
			sorted = append(sorted, l)
		}
	}
	slices.SortFunc(sorted, func(x, y LogSize) int {
		return cmp.Or(cmp.Compare(x.TP.Topic, y.TP.Topic), cmp.Compare(x.TP.Partition, y.TP.Partition))
	})
	var topics []kmsg.DescribeLogDirsResponseDirTopic
	for _, l := range sorted {
		if len(topics) == 0 || topics[len(topics)-1].Topic != l.TP.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = l.TP.Topic
			topics = append(topics, t)
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size = l.TP.Partition, l.SizeBytes
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return topics
}
