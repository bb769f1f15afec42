package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ringmain/cmd/ringmain/internal/connection"
	"ringmain/cmd/ringmain/internal/show"
)

// describedCluster is the result of cluster describe. Features and quorum are
// null where the brokers do not tell.
type describedCluster struct {
	ClusterID  string             `json:"cluster_id"`
	Controller int32              `json:"controller"` // -1: unknown
	Brokers    []describedBroker  `json:"brokers"`
	Features   []describedFeature `json:"features"`
	Quorum     *describedQuorum   `json:"quorum"`
}

type describedBroker struct {
	ID     int32   `json:"id"`
	Host   string  `json:"host"`
	Port   int32   `json:"port"`
	Rack   *string `json:"rack"`
	Fenced bool    `json:"fenced"`
}

// describedFeature has the levels that the broker supports, and the level that
// the cluster has agreed on (0: none).
type describedFeature struct {
	Name      string `json:"name"`
	Min       int16  `json:"min"`
	Max       int16  `json:"max"`
	Finalized int16  `json:"finalized"`
}

type describedQuorum struct {
	Leader        int32            `json:"leader"`
	LeaderEpoch   int32            `json:"leader_epoch"`
	HighWatermark int64            `json:"high_watermark"`
	Voters        []describedVoter `json:"voters"`
	Observers     []describedVoter `json:"observers"`
}

// describedVoter has the time in milliseconds since the Unix epoch, -1 when it
// is not known.
type describedVoter struct {
	ID                 int32 `json:"id"`
	LogEndOffset       int64 `json:"log_end_offset"`
	LastCaughtUpTimeMs int64 `json:"last_caught_up_time_ms"`
}

func newClusterDescribeCmd(t *target) *cobra.Command {
	return &cobra.Command{
		Use:     "describe",
		Short:   "Show the cluster's id, brokers, controller, features and quorum",
		Example: "  ringmain cluster describe\n  ringmain cluster describe --output json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, c, done, err := t.ask(cmd)
			if err != nil {
				return err
			}
			defer done()
			d, err := describeCluster(ctx, c, func(sentence string) { warn(cmd, "%s", sentence) })
			if err != nil {
				return err
			}
			if format, _ := t.format(); format == show.Table {
				return d.write(cmd)
			}
			return printed(cmd, t, d, nil, nil)
		},
	}
}

func describeCluster(ctx context.Context, c *connection.Conn, warn func(string)) (describedCluster, error) {
	d := describedCluster{}
	if err := d.members(ctx, c); err != nil {
		return d, fmt.Errorf("describe the cluster: %w", err)
	}
	// Features and the quorum are newer; a broker without them still has the
	// rest to tell.
	if err := d.features(ctx, c); err != nil {
		warn(fmt.Sprintf("no features: %v", err))
	}
	if err := d.quorum(ctx, c); err != nil {
		warn(fmt.Sprintf("no quorum: %v", err))
	}
	return d, nil
}

// members asks DescribeCluster, which knows of fenced brokers (version 2), and
// Metadata where that does not exist.
func (d *describedCluster) members(ctx context.Context, c *connection.Conn) error {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.EndpointType = 1
	req.IncludeFencedBrokers = true
	resp, err := req.RequestWith(ctx, c.Client)
	if err == nil && resp.ErrorCode == 0 {
		d.ClusterID, d.Controller = resp.ClusterID, resp.ControllerID
		for _, b := range resp.Brokers {
			d.Brokers = append(d.Brokers, describedBroker{ID: b.NodeID, Host: b.Host, Port: b.Port, Rack: b.Rack, Fenced: b.IsFenced})
		}
	} else {
		meta, err := c.Admin.BrokerMetadata(ctx)
		if err != nil {
			return c.Explain(err)
		}
		d.ClusterID, d.Controller = meta.Cluster, meta.Controller
		for _, b := range meta.Brokers {
			d.Brokers = append(d.Brokers, describedBroker{ID: b.NodeID, Host: b.Host, Port: b.Port, Rack: b.Rack})
		}
	}
	slices.SortFunc(d.Brokers, func(a, b describedBroker) int { return int(a.ID) - int(b.ID) })
	return nil
}

func (d *describedCluster) features(ctx context.Context, c *connection.Conn) error {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "ringmain", "1"
	resp, err := req.RequestWith(ctx, c.Client)
	if err != nil {
		return c.Explain(err)
	}
	if err := connection.Refused("ask for API versions", resp.ErrorCode, nil); err != nil {
		return err
	}
	if resp.Version < 3 {
		return errors.New("the broker is older than features")
	}
	d.Features = []describedFeature{}
	for _, s := range resp.SupportedFeatures {
		f := describedFeature{Name: s.Name, Min: s.MinVersion, Max: s.MaxVersion}
		for _, fin := range resp.FinalizedFeatures {
			if fin.Name == s.Name {
				f.Finalized = fin.MaxVersionLevel
			}
		}
		d.Features = append(d.Features, f)
	}
	slices.SortFunc(d.Features, func(a, b describedFeature) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func (d *describedCluster) quorum(ctx context.Context, c *connection.Conn) error {
	req := kmsg.NewPtrDescribeQuorumRequest()
	rt := kmsg.NewDescribeQuorumRequestTopic()
	rt.Topic = "__cluster_metadata"
	rp := kmsg.NewDescribeQuorumRequestTopicPartition()
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, c.Client)
	if err != nil {
		return c.Explain(err)
	}
	if err := connection.Refused("describe the quorum", resp.ErrorCode, resp.ErrorMessage); err != nil {
		return err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return errors.New("the answer holds no quorum")
	}
	p := resp.Topics[0].Partitions[0]
	if err := connection.Refused("describe the quorum", p.ErrorCode, p.ErrorMessage); err != nil {
		return err
	}
	q := &describedQuorum{Leader: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HighWatermark: p.HighWatermark}
	q.Voters, q.Observers = voters(p.CurrentVoters), voters(p.Observers)
	d.Quorum = q
	return nil
}

func voters(states []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) []describedVoter {
	out := []describedVoter{}
	for _, s := range states {
		out = append(out, describedVoter{ID: s.ReplicaID, LogEndOffset: s.LogEndOffset, LastCaughtUpTimeMs: s.LastCaughtUpTimestamp})
	}
	return out
}

// write prints the cluster for people.
func (d describedCluster) write(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "cluster %s  controller %s  brokers %d\n\n", show.Plain(orDash(d.ClusterID)), offsetCell(int64(d.Controller)), len(d.Brokers))
	brokers := show.NewGrid("BROKER", "HOST", "PORT", "RACK", "STATE")
	for _, b := range d.Brokers {
		brokers.Row(b.ID, b.Host, b.Port, valueCell(b.Rack, false), pick(b.Fenced, "fenced", "active"))
	}
	if err := brokers.Write(out); err != nil {
		return err
	}
	if len(d.Features) > 0 {
		fmt.Fprintln(out)
		features := show.NewGrid("FEATURE", "MIN", "MAX", "FINALIZED")
		for _, f := range d.Features {
			features.Row(f.Name, f.Min, f.Max, f.Finalized)
		}
		if err := features.Write(out); err != nil {
			return err
		}
	}
	if d.Quorum == nil {
		return nil
	}
	q := d.Quorum
	fmt.Fprintf(out, "\nquorum leader %d  epoch %d  high watermark %d\n\n", q.Leader, q.LeaderEpoch, q.HighWatermark)
	members := show.NewGrid("NODE", "ROLE", "LOG END", "BEHIND")
	for _, v := range q.Voters {
		members.Row(v.ID, "voter", offsetCell(v.LogEndOffset), offsetCell(q.HighWatermark-v.LogEndOffset))
	}
	for _, v := range q.Observers {
		members.Row(v.ID, "observer", offsetCell(v.LogEndOffset), offsetCell(q.HighWatermark-v.LogEndOffset))
	}
	return members.Write(out)
}
