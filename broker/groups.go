package broker

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"
	"unicode/utf16"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
	"ringmain/metadata"
	"ringmain/metrics"
	"ringmain/record"
)

// offsetsTopic holds the groups: their offsets, and their members.
const offsetsTopic = "__consumer_offsets"

// GroupSettings are those of the group coordinator.
type GroupSettings struct {
	// Config but for ConsumerSettings and NewID, which the broker adds.
	group.Config
	Loops         int           // group.coordinator.threads, as far as there are processors
	CommitTimeout time.Duration // offsets.commit.timeout.ms
	LoadBytes     int           // offsets.load.buffer.size
	Codec         record.Codec  // offsets.topic.compression.codec

	TopicPartitions   int32 // offsets.topic.num.partitions
	TopicReplication  int16 // offsets.topic.replication.factor
	TopicSegmentBytes int32 // offsets.topic.segment.bytes
}

// groups is the group coordinator: a machine for each partition of the offsets topic
// that this broker leads.
type groups struct {
	b       *Broker
	runtime *coordinator.Runtime[*group.Machine]
}

func newGroups(b *Broker, set *metrics.Set, log *slog.Logger) *groups {
	s := &b.settings.Groups
	cfg := s.Config
	cfg.NewID = newUUID
	cfg.ConsumerSettings = func(img *metadata.Image, id string) group.ConsumerSettings {
		g := b.layers(img).Group(img.Config(metadata.GroupResource, id))
		return group.ConsumerSettings(g)
	}
	return &groups{b: b, runtime: coordinator.NewRuntime(coordinator.Config{
		Loops: s.Loops, Codec: s.Codec, AppendTimeout: s.CommitTimeout, ReadBytes: s.LoadBytes, Observe: coordinatorObserver{set}, Log: log,
	}, func(int32) *group.Machine { return group.New(&cfg) })}
}

// coordinatorObserver counts what the runtime does.
type coordinatorObserver struct{ set *metrics.Set }

func (o coordinatorObserver) Loaded(records int64, took time.Duration) {
	o.set.CoordinatorLoads.Inc()
	o.set.CoordinatorLoadLatency.Observe(took)
}
func (o coordinatorObserver) LoadFailed()   { o.set.CoordinatorLoadFailures.Inc() }
func (o coordinatorObserver) AppendFailed() { o.set.CoordinatorAppendFailures.Inc() }

// partitions is how many partitions the offsets topic has, or will have.
func (g *groups) partitions() int32 {
	if t := g.b.controller.Image().Topic(offsetsTopic); t != nil {
		return int32(len(t.Partitions))
	}
	return g.b.settings.Groups.TopicPartitions
}

// partitionOf gives the partition of the offsets topic that has a group.
func (g *groups) partitionOf(id string) int32 { return partitionOfGroup(id, g.partitions()) }

// partitionOfGroup places a group as Kafka does, so that its tools find it and a
// directory could be moved: by Java's hash of the string, which is over UTF-16.
func partitionOfGroup(id string, partitions int32) int32 {
	var hash int32
	for _, r := range id {
		if hi, lo := utf16.EncodeRune(r); r >= 0x10000 {
			hash = 31*(31*hash+hi) + lo
			continue
		}
		hash = 31*hash + r
	}
	if hash = max(hash, -hash); hash < 0 { // the smallest number has no positive one
		hash = 0
	}
	return hash % partitions
}

// follow tells the coordinator what a delta changes: who leads which partition, and for
// the machines the rest.
func (g *groups) follow(img *metadata.Image, d *metadata.Delta) {
	if d.Empty() {
		return
	}
	for _, t := range d.Deleted {
		if t.Name == offsetsTopic {
			for i := range t.Partitions {
				g.runtime.Resign(int32(i))
			}
		}
	}
	g.runtime.Changed(img, func(m *group.Machine, s *coordinator.Step) { m.TopicsChanged(s, d) })
	topic := img.Topic(offsetsTopic)
	if topic == nil {
		return
	}
	replicas := g.b.replicas.identified(topic.ID)
	for i := range topic.Partitions {
		index := int32(i)
		switch r := replicas.at(index); {
		case r != nil && r.Role().Local:
			g.runtime.Lead(index, r.Role().LeaderEpoch, replicaLog{r, g.b.metrics})
		case r == nil && replicas.isOffline(index):
			g.runtime.Lose(index)
		default:
			g.runtime.Resign(index)
		}
	}
}

// consumerProtocol tells whether the APIs of KIP-848 are served: the cluster has the
// feature, and the configuration the protocol.
func (g *groups) consumerProtocol() bool {
	return g.b.settings.Groups.ConsumerProtocol && g.b.controller.Image().Features()[metadata.FeatureGroupVersion] >= 1
}

// newUUID is a random UUID as Java writes it.
func newUUID() string {
	var u [16]byte
	rand.Read(u[:])
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// javaAddress writes an address as Java does, which Kafka shows for a member's host.
func javaAddress(ip string) string {
	a, err := netip.ParseAddr(ip)
	if err != nil || a.Unmap().Is4() {
		return "/" + ip
	}
	var b strings.Builder
	for i, bytes := 0, a.As16(); i < 16; i += 2 {
		fmt.Fprintf(&b, ":%x", int(bytes[i])<<8|int(bytes[i+1]))
	}
	return "/" + b.String()[1:]
}
