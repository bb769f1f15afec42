package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/controller"
)

func quorumOf(topic string, partitions ...int32) kmsg.DescribeQuorumRequestTopic {
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = topic
	for _, p := range partitions {
		r := kmsg.NewDescribeQuorumRequestTopicPartition()
		r.Partition = p
		t.Partitions = append(t.Partitions, r)
	}
	return t
}

func TestDescribeQuorum(t *testing.T) {
	a, meta, _ := newAdmin(t)
	meta.quorum = controller.QuorumInfo{LeaderID: 1, LeaderEpoch: 4, HighWatermark: 99,
		Voters: []controller.QuorumReplica{{ID: 1, LogEndOffset: 100, LastFetchTimestampMs: 7, LastCaughtUpMs: 8}}}
	for version := int16(0); version <= 2; version++ {
		req := kmsg.NewPtrDescribeQuorumRequest()
		req.Topics = []kmsg.DescribeQuorumRequestTopic{quorumOf("__cluster_metadata", 0)}
		resp := serve[*kmsg.DescribeQuorumResponse](t, a, version, req)
		p := resp.Topics[0].Partitions[0]
		if resp.ErrorCode != 0 || p.ErrorCode != 0 || p.LeaderID != 1 || p.LeaderEpoch != 4 || p.HighWatermark != 99 ||
			len(p.CurrentVoters) != 1 || p.CurrentVoters[0].ReplicaID != 1 || p.CurrentVoters[0].LogEndOffset != 100 || len(p.Observers) != 0 {
			t.Errorf("v%d: %+v", version, p)
		}
		if v := p.CurrentVoters[0]; version >= 1 && (v.LastFetchTimestamp != 7 || v.LastCaughtUpTimestamp != 8) {
			t.Errorf("v%d: %+v", version, v)
		}
		if version >= 2 && (len(resp.Nodes) != 1 || resp.Nodes[0].NodeID != 1 || resp.ErrorMessage == nil || *resp.ErrorMessage != "" || p.ErrorMessage == nil) {
			t.Errorf("v2: %+v", resp)
		}
	}
}

func TestDescribeQuorumOfSomethingElse(t *testing.T) {
	a, _, _ := newAdmin(t)
	for _, topics := range [][]kmsg.DescribeQuorumRequestTopic{
		{quorumOf("__cluster_metadata", 1)}, {quorumOf("__cluster_metadata", 0, 1)}, {quorumOf("x", 0)},
		{quorumOf("x", 0), quorumOf("__cluster_metadata", 0)}, {quorumOf("__cluster_metadata")}, {},
	} {
		req := kmsg.NewPtrDescribeQuorumRequest()
		req.Topics = topics
		resp := serve[*kmsg.DescribeQuorumResponse](t, a, 2, req)
		if resp.ErrorCode != 0 || len(resp.Topics) != len(topics) || len(resp.Nodes) != 0 {
			t.Errorf("%+v: %+v", topics, resp)
		}
		for i, topic := range resp.Topics {
			if len(topic.Partitions) != len(topics[i].Partitions) {
				t.Errorf("%+v: %+v", topics, resp)
			}
			for _, p := range topic.Partitions {
				if p.ErrorCode != 3 || p.ErrorMessage == nil || len(p.CurrentVoters) != 0 {
					t.Errorf("%+v: %+v", topics, p)
				}
			}
		}
	}
}
