package broker

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ringmain/config"
	"ringmain/internal/vfs"
	"ringmain/metadata"
	"ringmain/metrics"
	"ringmain/partition"
	"ringmain/segment"
)

// A start that is ended before every log was opened leaves torn logs: nothing may say
// that all of them were recovered.
func TestAStartThatIsEndedDoesNotSayThatLogsWereRecovered(t *testing.T) {
	path := t.TempDir()
	meta := &watchedMeta{stubMeta: stubMeta{img: metadata.Empty()}}
	meta.apply(t, append(metadata.Bootstrap(stubCluster, 0), brokerRecord(1))...)
	meta.apply(t, metadata.TopicRecord{ID: [16]byte{1}, Name: "a"}, metadata.PartitionRecord{TopicID: [16]byte{1}, Index: 0, Partition: metadata.Partition{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}})
	l := startLive(t, path, meta, slowIO{segment.NewPwritevIO(), nil})
	l.close() // unclean: nothing marks the directory
	boot := filepath.Join(path, "boot-id")
	if err := os.Remove(boot); err != nil { // the power went
		t.Skip(err)
	}
	log := slog.New(slog.DiscardHandler)
	static, _, err := config.LoadServer(map[string]string{"node.id": "1"})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := segment.OpenDir(vfs.OS{}, path, segment.Ident{ClusterID: stubCluster, NodeID: 1}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	shard := partition.NewShard(partition.Config{SyncBytes: 1 << 40, SyncAge: time.Hour, Observe: quiet{}}, segment.NewPwritevIO(), []segment.LogIO{segment.NewPwritevIO()}, log)
	defer shard.Stop()
	b, err := New(Deps{
		Settings: Settings{NodeID: 1, NumPartitions: 1, DefaultReplicationFactor: 1, FetchMaxBytes: 1 << 20, FetchSessions: 10, PoolSize: 2, RetentionCheck: time.Hour, DeleteTopics: true, MaxNewPartitions: 100, Groups: groupSettings()},
		Config:   static, Meta: meta, Dirs: []*segment.Dir{dir}, Shards: []*partition.Shard{shard},
		Metrics: metrics.New(1), Log: log, BrokerConfigured: func(config.Broker) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Stop() // as node.abandon does when a start is ended; the applier goes on for a moment
	meta.Watch(b.applier.apply)
	if r := b.replicas.topic("a").at(0); r != nil {
		t.Fatal("the log was opened: the test proves nothing")
	}
	if _, err := os.Stat(boot); err == nil {
		t.Error("boot-id says that every log was recovered; partition a-0 was never opened")
	}
}
