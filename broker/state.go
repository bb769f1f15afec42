package broker

import (
	"math"
	"slices"
	"strings"
	"sync"

	"ringmain/coordinator"
	"ringmain/coordinator/group"
	"ringmain/metrics"
	"ringmain/model"
	"ringmain/partition"
	"ringmain/segment"
)

// Storage sums up the logs of this broker, for the metrics.
func (b *Broker) Storage() metrics.Storage {
	var s metrics.Storage
	for _, t := range b.replicas.topics() {
		s.Topics++
		for _, r := range t.replicas {
			if r == nil {
				continue
			}
			s.Partitions++
			if r.Log().Err() != nil {
				s.Offline++
			}
			s.LogBytes += r.Log().Size()
			s.Segments += int64(r.Log().SegmentCount())
		}
	}
	s.MaxDirtyRatio = math.Float64frombits(b.cleaner.dirtiest.Load())
	s.Uncleanable = b.cleaner.uncleanable.Load()
	if len(b.dirs) > 0 {
		s.OpenFiles = int64(b.dirs[0].FileBudget().Open())
	}
	return s
}

// GroupStates counts the groups whose coordinator this broker is, for the metrics.
func (b *Broker) GroupStates() map[metrics.GroupState]int64 {
	counts := map[metrics.GroupState]int64{}
	var mu sync.Mutex
	b.groups.runtime.Each(func(_ int32, m *group.Machine, s *coordinator.Step) {
		mu.Lock()
		defer mu.Unlock()
		m.Count(s, func(kind group.Kind, state string) { counts[metrics.GroupState{Type: string(kind), State: state}]++ })
	})
	return counts
}

// PartitionStates gives every partition of this broker in the order of topics
// and indexes, for the metrics.
func (b *Broker) PartitionStates(yield func(metrics.Partition) bool) {
	topics := b.replicas.topics()
	slices.SortFunc(topics, func(x, y *served) int { return strings.Compare(x.name, y.name) })
	for _, t := range topics {
		for _, r := range t.replicas {
			if r == nil {
				continue
			}
			l := r.Log()
			if !yield(metrics.Partition{
				Topic: r.TP.Topic, Index: r.TP.Partition,
				LogStart: l.StartOffset(), HighWatermark: r.HighWatermark(), LogEnd: l.EndOffset(),
				LogBytes: l.Size(), Segments: int64(l.SegmentCount()), UnsyncedBytes: r.UnsyncedBytes(),
			}) {
				return
			}
		}
	}
}

// logsOf answers what the administrative handlers ask about logs.
type logsOf struct{ b *Broker }

// DirInfo implements Logs.
func (l logsOf) DirInfo() []LogDirInfo {
	byDir := map[*segment.Dir][]LogSize{}
	for _, r := range l.b.replicas.all() {
		byDir[r.Log().Dir()] = append(byDir[r.Log().Dir()], LogSize{TP: r.TP, SizeBytes: r.Log().Size()})
	}
	var infos []LogDirInfo
	for _, d := range l.b.dirs {
		i := LogDirInfo{Path: d.Path(), TotalBytes: -1, UsableBytes: -1, Partitions: byDir[d]}
		if total, usable, err := d.Space(); err == nil {
			i.TotalBytes, i.UsableBytes = total, usable
		}
		infos = append(infos, i)
	}
	return infos
}

// Producers implements Logs.
func (l logsOf) Producers(tp model.TopicPartition) ([]segment.ProducerInfo, error) {
	r := l.b.replicas.topic(tp.Topic).at(tp.Partition)
	if r == nil {
		return nil, partition.ErrNotLeader
	}
	if err := r.CheckLeader(model.NoEpoch); err != nil {
		return nil, err
	}
	return r.Log().Producers(), nil
}
