package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"ringmain/broker"
	"ringmain/config"
	"ringmain/controller"
	"ringmain/coordinator/lag"
	"ringmain/internal/vfs"
	"ringmain/metadata"
	"ringmain/metrics"
	"ringmain/netio"
	"ringmain/partition"
	"ringmain/segment"
)

// Build names the program for the log and the metrics.
type Build struct{ Version, Commit string }

// Node is a running broker.
type Node struct {
	cfg     *config.Server
	build   Build
	log     *slog.Logger
	level   *slog.LevelVar // of log
	begun   time.Time
	ready   time.Duration
	metrics *metrics.Set

	descriptors descriptors
	files       *segment.FileBudget
	fs          vfs.FS
	dirs        []*segment.Dir
	metaDir     *segment.Dir // metadata.log.dir, unless it is one of dirs
	gaveUp      bool         // a log directory was lost, and the operator knows
	controller  *controller.Controller
	shards      []*partition.Shard
	broker      *broker.Broker
	lag         *lag.Watcher // nil when nobody asks for lag
	server      *netio.Server
	http        *httpServer
}

// stopTimeout bounds how long a stop waits for answers that are under way. It
// leaves time to close the logs before those who stop containers lose patience,
// which they do after 10 seconds.
const stopTimeout = 5 * time.Second

// Start builds a node and returns when it serves. On an error everything that
// was started is stopped again. level is log's, for clients to change.
func Start(ctx context.Context, cfg *config.Server, build Build, log *slog.Logger, level *slog.LevelVar) (*Node, error) {
	n := &Node{cfg: cfg, build: build, log: log, level: level, fs: vfs.OS{}, begun: processStart(), metrics: metrics.New(1), descriptors: shareDescriptors(cfg.OpenFiles, shards(cfg))}
	if err := n.start(ctx); err != nil {
		n.abandon()
		return nil, err
	}
	n.ready = time.Since(n.begun)
	return n, nil
}

func (n *Node) start(ctx context.Context) error {
	if err := n.openStorage(); err != nil {
		return err
	}
	if err := n.startShards(); err != nil {
		return err
	}
	var err error
	n.broker, err = broker.New(broker.Deps{
		Settings: n.settings(), Config: n.cfg, Meta: n.controller, Dirs: n.dirs, Shards: n.shards,
		Metrics: n.metrics, Log: n.log, LogLevel: n.level, BrokerConfigured: n.brokerConfigured,
	})
	if err != nil {
		return err
	}
	n.server, err = netio.Listen(n.network(), n.listeners(), n.broker, n.log)
	if err != nil {
		return err
	}
	if err := n.controller.Start(ctx); err != nil {
		return err
	}
	if err := n.register(ctx); err != nil {
		return err
	}
	if err := n.writeRoster(); err != nil { // after the epochs were raised for what was given up
		return err
	}
	if err := n.broker.Start(ctx); err != nil {
		return err
	}
	n.watchLag()
	if err := n.startHTTP(); err != nil {
		return err
	}
	if err := n.server.Start(); err != nil {
		return err
	}
	if n.http != nil {
		n.http.ready.Store(true)
	}
	return nil
}

// shards is how many there are: one for every two processors, if ringmain.appenders does not say.
func shards(cfg *config.Server) int {
	if cfg.Appenders > 0 {
		return cfg.Appenders
	}
	return max(1, processors()/2)
}

// startShards starts the shards, each with backends of the kind
// that suits the first log directory.
func (n *Node) startShards() error {
	factory, name, why, err := segment.ProbeIO(n.cfg.LogDirs[0], n.cfg.IOEngine)
	if err != nil {
		return err
	}
	n.log.Info("log backend chosen", "backend", name, "why", why)
	cfg := partition.Config{SyncBytes: n.cfg.SyncBytes, JournalBytes: n.cfg.JournalBytes, SyncAge: time.Duration(n.cfg.SyncMs) * time.Millisecond, Pressed: n.files.Pressed, Observe: observer{n.metrics}}
	for i := range shards(n.cfg) {
		cfg.Number = i
		write, err := factory()
		if err != nil {
			return err
		}
		syncs := make([]segment.LogIO, segment.SyncLanes)
		for k := range syncs {
			if syncs[k], err = factory(); err != nil {
				return err
			}
		}
		n.shards = append(n.shards, partition.NewShard(cfg, write, syncs, n.log))
	}
	return nil
}

// register tells the metadata where clients reach this broker, and after an
// unclean stop raises the leader epoch of what it leads.
func (n *Node) register(ctx context.Context) error {
	b := metadata.Broker{ID: n.cfg.NodeID, Rack: n.cfg.Rack}
	for _, l := range n.cfg.Advertised {
		port := l.Port
		if port == 0 {
			port = n.boundPort(l.Name)
		}
		b.Endpoints = append(b.Endpoints, metadata.Endpoint{Listener: l.Name, Host: l.Host, Port: int32(port), Protocol: l.Protocol})
	}
	clean := !n.gaveUp
	for _, d := range n.dirs {
		clean = clean && d.WasClean()
	}
	_, err := n.controller.Change(ctx, func(img *metadata.Image) ([]metadata.Record, error) {
		var records []metadata.Record
		old := img.Broker(b.ID)
		if old == nil || !sameRegistration(old, &b) {
			records = append(records, metadata.RegisterBrokerRecord{Broker: b})
		}
		if !clean && img.NumPartitions() > 0 {
			records = append(records, metadata.RaiseEpochsRecord{Broker: b.ID})
		}
		return records, nil
	})
	return err
}

// brokerConfigured applies the dynamic configuration that concerns the broker
// itself.
func (n *Node) brokerConfigured(b config.Broker) {
	if err := n.server.SetLimits(limits(b)); err != nil {
		n.log.Error("the limits on connections stay as they were", "error", err)
	}
}

// ReadyLine is the one line for standard output.
func (n *Node) ReadyLine() string {
	http := "off"
	if n.http != nil {
		http = n.http.addr
	}
	return fmt.Sprintf("ringmain ready kafka=%s http=%s node=%d cluster=%s ready_ms=%d",
		n.server.Addr(n.cfg.Listeners[0].Name), http, n.cfg.NodeID, n.controller.Image().ClusterID(), n.ready.Milliseconds())
}

// Stop stops cleanly: what was acknowledged and what was only written is on
// disk when it returns.
func (n *Node) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if n.http != nil {
		n.http.ready.Store(false)
	}
	if n.lag != nil {
		n.lag.Stop()
	}
	n.broker.Stop()
	errs := []error{n.cut("Kafka", n.server.Stop(ctx))}
	if n.http != nil {
		errs = append(errs, n.cut("HTTP", n.http.stop(ctx)))
	}
	errs = append(errs, n.closeStorage(true))
	return errors.Join(errs...)
}

// cut lets a stop be clean although a client did not take its answer in time:
// what is on disk does not depend on it.
func (n *Node) cut(port string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		n.log.Warn("answers that their clients did not take were cut off", "port", port, "after", stopTimeout.String())
		return nil
	}
	return err
}

// closeStorage ends the metadata log, the shards (which closes every log) and
// the directories, and marks them as cleanly stopped if nothing failed. all says
// that every log was open. If not, those that were are closed as cleanly as any,
// and the others are as the stop before left them.
func (n *Node) closeStorage(all bool) error {
	var errs []error
	if n.controller != nil { // first: its watchers give logs to the shards
		errs = append(errs, n.controller.Close())
	}
	for _, s := range n.shards {
		errs = append(errs, s.Stop())
	}
	for _, d := range n.dirs {
		if (all || d.WasClean()) && errors.Join(errs...) == nil {
			errs = append(errs, d.MarkClean())
		}
		errs = append(errs, d.Close())
	}
	if n.metaDir != nil {
		errs = append(errs, n.metaDir.Close())
	}
	return errors.Join(errs...)
}

// abandon undoes a start that failed half way.
func (n *Node) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if n.lag != nil {
		n.lag.Stop()
	}
	if n.broker != nil {
		n.broker.Stop()
	}
	if n.server != nil {
		n.server.Stop(ctx)
	}
	if n.http != nil {
		n.http.stop(ctx)
	}
	if err := n.closeStorage(false); err != nil {
		n.log.Warn("what the failed start had opened could not be closed", "error", err)
	}
}

// processStart is when the process began, so that ready_ms counts what a user
// waits for, loading and initialising the program included.
func processStart() time.Time {
	if t, ok := procStartTime(os.Getpid()); ok {
		return t
	}
	return time.Now()
}
