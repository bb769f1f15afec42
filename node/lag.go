package node

import (
	"context"
	"time"

	"ringmain/coordinator/lag"
	"ringmain/metrics"
)

// lagTimeout bounds how long a scrape waits for the coordinator.
const lagTimeout = 10 * time.Second

// watchLag begins to watch consumer lag, unless nobody could ever ask for it.
func (n *Node) watchLag() {
	if n.cfg.HTTPListen == "" && len(n.cfg.LagAlerts) == 0 {
		return
	}
	cfg := lag.Config{
		Interval: time.Duration(n.cfg.LagCheckMs) * time.Millisecond,
		Node:     n.cfg.NodeID, Cluster: n.controller.Image().ClusterID(), Log: n.log,
	}
	for _, a := range n.cfg.LagAlerts {
		cfg.Rules = append(cfg.Rules, lag.Rule(a))
	}
	source := n.broker.GroupLag()
	n.lag = lag.Start(cfg, source, source)
}

// lags gives how far groups are behind, for the metrics. What the coordinator cannot
// tell at the moment is left out.
func (n *Node) lags(yield func(metrics.Lag) bool) {
	ctx, cancel := context.WithTimeout(context.Background(), lagTimeout)
	defer cancel()
	report, _ := n.lag.Report(ctx)
	for i := range report.Entries {
		e := &report.Entries[i]
		if !yield(metrics.Lag{Group: e.Group, Topic: e.Topic, Partition: e.Partition, Records: e.Records, Seconds: e.Seconds}) {
			return
		}
	}
}

// alerts gives what has come of the alerts, for the metrics.
func (n *Node) alerts() (out []metrics.Alert) {
	for _, t := range n.lag.Tallies() {
		out = append(out, metrics.Alert(t))
	}
	return out
}
