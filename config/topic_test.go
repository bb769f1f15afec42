package config

import (
	"fmt"
	"math"
	"testing"
)

func TestTopicDefaults(t *testing.T) {
	got := ResolveTopic(nil, mustLoad(t, nil), nil)
	want := Topic{
		SegmentBytes: 1 << 30, SegmentMs: 7 * 24 * 3600 * 1000, IndexMaxBytes: 10 << 20, IndexIntervalBytes: 4096,
		FlushMessages: math.MaxInt64, FlushMs: math.MaxInt64, RetentionMs: 7 * 24 * 3600 * 1000, RetentionBytes: -1,
		FileDeleteDelayMs: 60000, Delete: true, DeleteRetentionMs: 86400000, MaxCompactionLagMs: math.MaxInt64, MinCleanableDirtyRatio: 0.5,
		MaxMessageBytes: 1048588, MaxDecompressedBytes: 2147483639, Compression: "producer", GzipLevel: -1, LZ4Level: 9, ZstdLevel: 3,
		TimestampBeforeMaxMs: math.MaxInt64, TimestampAfterMaxMs: 3600000, MinInSyncReplicas: 1,
		LeaderThrottled: []string{}, FollowerThrottled: []string{},
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if unconfigured := (Layers{}).Topic(nil); fmt.Sprint(unconfigured) != fmt.Sprint(got) {
		t.Errorf("without a file: %+v", unconfigured)
	}
}

func TestTopicLayers(t *testing.T) {
	s := mustLoad(t, pairs("log.retention.hours=1", "log.segment.bytes=2000000", "ringmain.durability=page-cache", "log.cleanup.policy=compact,delete",
		"log.flush.interval.messages=10", "log.message.timestamp.type=LogAppendTime"))
	got := ResolveTopic(map[string]string{"segment.ms": "5", "cleanup.policy": "", "compression.type": " zstd "}, s,
		map[string]string{"log.segment.bytes": "3000000"})
	if got.RetentionMs != 3600000 || got.SegmentBytes != 3000000 || got.Durability != PageCache || got.SegmentMs != 5 || got.Delete || got.Compact ||
		got.Compression != "zstd" || got.FlushMessages != 10 || !got.LogAppendTime {
		t.Errorf("%+v", got)
	}
	if d := ResolveTopic(map[string]string{"ringmain.durability": "fsync"}, s, nil); d.Durability != Fsync || !d.Delete || !d.Compact {
		t.Errorf("%+v", d)
	}
	if d := ResolveTopic(map[string]string{"internal.segment.bytes": "1000"}, s, nil); d.SegmentBytes != 1000 {
		t.Errorf("segment bytes %d", d.SegmentBytes)
	}
}

func TestTopicTimesFromFamilies(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string // retention, segment, jitter, flush
	}{
		{[]string{"log.retention.minutes=2", "log.roll.hours=3", "log.roll.jitter.hours=1"}, "120000 10800000 3600000 9223372036854775807"},
		{[]string{"log.retention.ms=7", "log.retention.minutes=2", "log.roll.ms=8", "log.roll.jitter.ms=9", "log.flush.interval.ms=10"}, "7 8 9 10"},
		{[]string{"log.retention.hours=-1", "log.flush.scheduler.interval.ms=11"}, "-1 604800000 0 11"},
		{[]string{"log.retention.minutes=-5"}, "-1 604800000 0 9223372036854775807"},
		{[]string{"log.retention.ms=-1"}, "-1 604800000 0 9223372036854775807"},
	} {
		got := ResolveTopic(nil, mustLoad(t, pairs(c.set...)), nil)
		if s := fmt.Sprintf("%d %d %d %d", got.RetentionMs, got.SegmentMs, got.SegmentJitterMs, got.FlushMs); s != c.want {
			t.Errorf("%v: %s, want %s", c.set, s, c.want)
		}
	}
}

// Values written by a release that knew more must not stop or bend this one.
func TestBadStoredValuesGiveWay(t *testing.T) {
	l := Layers{Server: mustLoad(t, nil), Broker: map[string]string{"log.segment.bytes": "tiny", "max.connections.per.ip.overrides": "??"}}
	got := l.Topic(map[string]string{"retention.ms": "soon", "cleanup.policy": "shred", "nobody.knows": "x"})
	if got.SegmentBytes != 1<<30 || got.RetentionMs != 604800000 || !got.Delete {
		t.Errorf("%+v", got)
	}
	if b := l.Resolve(); b.MaxConnections != math.MaxInt32 || len(b.PerIPOverrides) != 0 {
		t.Errorf("%+v", b)
	}
}

func TestResolveBroker(t *testing.T) {
	l := Layers{
		Server:  mustLoad(t, pairs("max.connections=10", "max.connections.per.ip=5")),
		Cluster: map[string]string{"max.connections": "20", "producer.id.expiration.ms": "1000"},
		Broker:  map[string]string{"max.connections": "30", "max.connections.per.ip.overrides": "127.0.0.1:7,[::1]:8,example.com:9"},
	}
	b := l.Resolve()
	if b.MaxConnections != 30 || b.MaxConnectionsPerIP != 5 || b.ProducerExpirationMs != 1000 || !b.VerifyTransactions || b.MaxConnectionCreationRate != math.MaxInt32 {
		t.Errorf("%+v", b)
	}
	if fmt.Sprint(b.PerIPOverrides) != "map[127.0.0.1:7 ::1:8 example.com:9]" {
		t.Errorf("%v", b.PerIPOverrides)
	}
}

func TestJavaNumbers(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 0.5: "0.5", 1: "1.0", -1: "-1.0", 0.05: "0.05", 0.0001: "1.0E-4", 1e7: "1.0E7", 9999999: "9999999.0",
		math.MaxFloat64: "1.7976931348623157E308", 1.5e10: "1.5E10"} {
		if got := formatDouble(f); got != want {
			t.Errorf("%v is shown as %s, want %s", f, got, want)
		}
	}
}
