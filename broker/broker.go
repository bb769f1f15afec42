package broker

import (
	"context"
	"hash/fnv"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ringmain/config"
	"ringmain/metadata"
	"ringmain/metrics"
	"ringmain/model"
	"ringmain/partition"
	"ringmain/segment"
)

// Deps are the components that a broker is built on. The broker closes none of
// them.
type Deps struct {
	Settings Settings
	// Config is server.properties, from which topics take their defaults.
	Config *config.Server
	Meta   Controller
	Dirs   []*segment.Dir
	Shards []*partition.Shard
	// Metrics may not be nil.
	Metrics *metrics.Set
	Log     *slog.Logger
	// LogLevel is the level of Log, which clients may read and change
	// (DescribeConfigs, IncrementalAlterConfigs); it may not be nil.
	LogLevel *slog.LevelVar
	// BrokerConfigured is told what holds for the broker whenever its dynamic
	// configuration has changed, and at start if there is one.
	BrokerConfigured func(config.Broker)
}

// Broker answers requests. It implements netio.Handler.
type Broker struct {
	settings   Settings
	config     *config.Server
	controller Controller
	admin      admin
	table      map[int16]*api
	replicas   *replicas
	shards     []*partition.Shard
	dirs       []*segment.Dir
	applier    *applier
	sessions   *fetchSessions
	deadlines  *deadlines
	pool       *pool
	metrics    *metrics.Recorder
	log        *slog.Logger
	retention  *retention
	cleaner    *cleaner
	damage     *damageLog
	groups     *groups

	brokerConfigured func(config.Broker)

	ctx      context.Context // of everything on the pool; ends with Stop
	cancel   context.CancelFunc
	stopping atomic.Bool
	large    sync.Mutex // held by the one large request that is served
}

// New builds a broker; it serves nothing before Start.
func New(d Deps) (*Broker, error) {
	b := &Broker{
		settings:         d.Settings,
		config:           d.Config,
		controller:       d.Meta,
		table:            map[int16]*api{},
		replicas:         newReplicas(),
		shards:           d.Shards,
		dirs:             d.Dirs,
		sessions:         newFetchSessions(d.Settings.FetchSessions),
		deadlines:        newDeadlines(),
		pool:             newPool(d.Settings.PoolSize),
		metrics:          d.Metrics.Recorder(0),
		log:              d.Log,
		brokerConfigured: d.BrokerConfigured,
		damage:           newDamageLog(d.Log, d.Metrics),
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.groups = newGroups(b, d.Metrics, d.Log)
	for i := range apis {
		b.table[apis[i].key] = &apis[i]
	}
	var err error
	if b.applier, err = newApplier(b, d.Dirs); err != nil {
		return nil, err
	}
	b.admin = admin{
		cfg:      d.Settings,
		meta:     metadataOf{d.Meta, b.applier},
		logs:     logsOf{b},
		configs:  configsOf{d.Config},
		replicas: b.replicas,
		loggers:  loggers{d.LogLevel},
		log:      d.Log,
		damage:   b.damage,
		now:      time.Now,
	}
	b.retention = newRetention(b)
	b.cleaner = newCleaner(b, d.Metrics)
	return b, nil
}

// Controller is what the broker needs of the metadata quorum; package
// controller's type is the one implementation.
type Controller interface {
	metadataWriter
	// Watch calls fn with every change, in order, beginning with the present image.
	Watch(fn func(*metadata.Image, *metadata.Delta))
}

// metadataOf joins the controller with the applier that serves its changes.
type metadataOf struct {
	metadataWriter
	applier *applier
}

// WaitServed implements Metadata.
func (m metadataOf) WaitServed(ctx context.Context, index int64) error {
	return m.applier.wait(ctx, index)
}

// Start serves the present metadata: when it returns, every partition's log is
// open.
func (b *Broker) Start(ctx context.Context) error {
	b.controller.Watch(b.applier.apply)
	select {
	case <-b.applier.first:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := b.applier.wait(ctx, b.controller.Image().Offset()); err != nil {
		return err
	}
	b.retention.start()
	b.cleaner.start()
	return nil
}

// Stop answers what is parked and what waits for the pool, and ends the
// background work. Call it before the connections are closed; what still comes
// on them meanwhile is answered. Start need not have been called.
func (b *Broker) Stop() {
	b.stopping.Store(true)
	b.deadlines.close()
	b.groups.runtime.Stop()
	b.cancel()
	b.pool.close()
	b.retention.stop()
	b.cleaner.stop()
}

// shardOf says which shard owns a partition.
func (b *Broker) shardOf(id model.TopicID, index int32) *partition.Shard {
	h := fnv.New32a()
	h.Write(id[:])
	return b.shards[(int(h.Sum32())+int(index))%len(b.shards)]
}

// layers gives the configuration in force under an image.
func (b *Broker) layers(img *metadata.Image) config.Layers {
	return b.admin.configs.layers(img, b.settings.NodeID)
}

// topicSettings gives the settings of a topic as they are in force: its own,
// over the broker's dynamic ones, over server.properties, over the defaults.
func (b *Broker) topicSettings(img *metadata.Image, topic string) *partition.Settings {
	l := b.layers(img)
	t := l.Topic(img.Config(metadata.TopicResource, topic))
	return settingsOf(&t, l.Resolve().ProducerExpirationMs)
}
