package controller

import (
	"time"

	"github.com/hashicorp/raft"

	"ringmain/metadata"
	"ringmain/model"
)

// QuorumInfo is what DescribeQuorum tells about __cluster_metadata. Offsets are
// in Kafka's sense: one after the last entry.
type QuorumInfo struct {
	LeaderID      int32 // model.NoBroker when there is no leader
	LeaderEpoch   int32 // raft's term
	HighWatermark int64
	Voters        []QuorumReplica
	Observers     []QuorumReplica
}

// QuorumReplica is the progress of one voter or observer as the leader sees it.
// On other nodes, and for other nodes, offsets and times are -1: only a leader
// knows them.
type QuorumReplica struct {
	ID                   int32
	DirectoryID          model.TopicID // zero in a static quorum (kraft.version 0)
	LogEndOffset         int64
	LastFetchTimestampMs int64 // Unix milliseconds
	LastCaughtUpMs       int64 // Unix milliseconds
}

// Quorum returns the state of the metadata quorum. It may be called after
// Start.
func (c *Controller) Quorum() QuorumInfo {
	_, leader := c.raft.LeaderWithID()
	q := QuorumInfo{
		LeaderID:      model.NoBroker,
		LeaderEpoch:   int32(c.raft.CurrentTerm()),
		HighWatermark: int64(c.raft.CommitIndex()) + 1,
	}
	if leader != "" {
		q.LeaderID = nodeID(leader)
	}
	for _, s := range c.raft.GetConfiguration().Configuration().Servers {
		r := QuorumReplica{ID: nodeID(s.ID), LogEndOffset: -1, LastFetchTimestampMs: -1, LastCaughtUpMs: -1}
		if r.ID == c.cfg.NodeID {
			if c.Image().Features()[metadata.FeatureKRaftVersion] > 0 {
				r.DirectoryID = c.state.record().directoryID
			}
			if r.ID == q.LeaderID { // a leader is always caught up with itself
				now := time.Now().UnixMilli()
				r.LogEndOffset, r.LastFetchTimestampMs, r.LastCaughtUpMs = int64(c.raft.LastIndex())+1, now, now
			}
		}
		if s.Suffrage == raft.Voter {
			q.Voters = append(q.Voters, r)
		} else {
			q.Observers = append(q.Observers, r)
		}
	}
	return q
}
