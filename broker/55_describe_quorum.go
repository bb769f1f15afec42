package broker

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/controller"
)

// DescribeQuorum, versions 0 to 2: the state of the metadata quorum (KIP-595).
//
//   - v1 when voters fetched last and were caught up last (KIP-836)
//   - v2 directory ids and listeners of the voters, messages (KIP-853)
//
// The one thing to ask for is partition 0 of __cluster_metadata; whatever else
// is in the request makes all of it unknown, as in Kafka. A node that is alone
// opens no listener for controllers, so it has none to tell.
var describeQuorumAPI = api{key: 55, min: 0, max: 2, serve: describeQuorum}

func describeQuorum(a *admin, _ context.Context, _ *call, r kmsg.Request) kmsg.Response {
	req := r.(*kmsg.DescribeQuorumRequest)
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	resp.ErrorMessage = new(string) // Kafka: empty, not null
	var known *controller.QuorumInfo
	if len(req.Topics) == 1 && req.Topics[0].Topic == clusterMetadataTopic &&
		len(req.Topics[0].Partitions) == 1 && req.Topics[0].Partitions[0].Partition == 0 {
		info := a.meta.Quorum()
		known = &info
	}
	for i := range req.Topics {
		t := kmsg.NewDescribeQuorumResponseTopic()
		t.Topic = req.Topics[i].Topic
		for _, ask := range req.Topics[i].Partitions {
			p := kmsg.NewDescribeQuorumResponseTopicPartition()
			p.Partition = ask.Partition
			if known == nil {
				p.ErrorCode, p.ErrorMessage = refuse(kerr.UnknownTopicOrPartition, "the metadata quorum is partition 0 of topic %s", clusterMetadataTopic).wire()
			} else {
				describeReplicas(&p, known)
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	if known != nil {
		for _, v := range known.Voters {
			n := kmsg.NewDescribeQuorumResponseNode()
			n.NodeID = v.ID
			resp.Nodes = append(resp.Nodes, n)
		}
	}
	return resp
}

func describeReplicas(out *kmsg.DescribeQuorumResponseTopicPartition, q *controller.QuorumInfo) {
	out.ErrorMessage = new(string)
	out.LeaderID, out.LeaderEpoch, out.HighWatermark = q.LeaderID, q.LeaderEpoch, q.HighWatermark
	out.CurrentVoters, out.Observers = replicaStates(q.Voters), replicaStates(q.Observers)
}

func replicaStates(replicas []controller.QuorumReplica) []kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	var out []kmsg.DescribeQuorumResponseTopicPartitionReplicaState
	for _, r := range replicas {
		s := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		s.ReplicaID, s.ReplicaDirectoryID, s.LogEndOffset = r.ID, r.DirectoryID, r.LogEndOffset
		s.LastFetchTimestamp, s.LastCaughtUpTimestamp = r.LastFetchTimestampMs, r.LastCaughtUpMs
		out = append(out, s)
	}
	return out
}
