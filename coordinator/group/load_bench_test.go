package group

import (
	"fmt"
	"runtime"
	"testing"

	"ringmain/coordinator"
	"ringmain/coordinator/group/records"
	"ringmain/model"
)

// BenchmarkLoad loads a million live commits, of groups of different kinds: many small
// ones, some large ones, and a client that reads one topic of very many partitions.
// One operation is one load.
func BenchmarkLoad(b *testing.B) {
	const commits = 1_000_000
	for _, c := range []struct {
		name                       string
		groups, topics, partitions int
		metadata                   string
	}{
		{"groups=100000,topics=1,partitions=10", 100_000, 1, 10, ""},
		{"groups=1000,topics=10,partitions=100", 1000, 10, 100, ""},
		{"groups=1000,topics=10,partitions=100,metadata", 1000, 10, 100, "host-17.example.com"},
		{"groups=1,topics=1,partitions=1000000", 1, 1, 1_000_000, ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			log := make([]coordinator.Record, 0, commits)
			for p := range c.partitions {
				for t := range c.topics {
					for g := range c.groups {
						log = append(log, records.OffsetCommit(fmt.Sprint("group-", g), fmt.Sprint("topic-", t), int32(p), &records.OffsetCommitValue{
							Offset: int64(p), LeaderEpoch: 3, Metadata: c.metadata, CommitTimestamp: 1, ExpireTimestamp: records.NoTimestamp, TopicID: model.TopicID{byte(t + 1)},
						}))
					}
				}
			}
			if len(log) != commits {
				b.Fatal(len(log))
			}
			var m *Machine
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				m = New(&Config{})
				for i := range log {
					if err := m.Replay(int64(i), 1, log[i].Key, log[i].Value); err != nil {
						b.Fatal(err)
					}
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/commits, "heap-B/commit")
			runtime.KeepAlive(m)
			runtime.KeepAlive(log)
		})
	}
}
