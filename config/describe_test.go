package config

import (
	"fmt"
	"strings"
	"testing"
)

// show prints an entry as the tests below write it:
// value @source ro :name=value@source ...
func show(e Entry) string {
	text := func(v string, null bool) string {
		if null {
			return "<null>"
		}
		return v
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s @%d", text(e.Value, e.Null), e.Source)
	if e.ReadOnly {
		b.WriteString(" ro")
	}
	if e.Sensitive {
		b.WriteString(" sensitive")
	}
	b.WriteString(" :")
	for _, s := range e.Synonyms {
		fmt.Fprintf(&b, " %s=%s@%d", s.Name, text(s.Value, s.Null), s.Source)
	}
	return b.String()
}

func entry(t *testing.T, entries []Entry, name string) Entry {
	t.Helper()
	for _, e := range entries {
		if e.Name == name {
			return e
		}
	}
	return Entry{Name: "missing " + name, Null: true}
}

// The expected lines are what Apache Kafka 4.4 answered with this file and
// these dynamic configurations.
func TestDescribeIsKafkas(t *testing.T) {
	l := Layers{
		Server: mustLoad(t, pairs("node.id=1", "log.retention.hours=24", "log.retention.minutes=1000", "log.roll.hours=2", "log.roll.jitter.hours=1",
			"log.segment.bytes=2000000", "num.network.threads=2", "listener.name.plaintext.max.connections=77", "foo.bar=1", "custom.x.password=abc",
			"compression.type=lz4", "log.flush.scheduler.interval.ms=5000")),
		Broker:  map[string]string{"log.retention.ms": "6000", "compression.type": "zstd", "leader.replication.throttled.rate": "1000"},
		Cluster: map[string]string{"log.retention.ms": "5000", "log.segment.bytes": "3000000", "custom.z": "1", "min.insync.replicas": "1"},
	}
	static := Layers{Server: l.Server}
	onLoop := Layers{Server: mustLoad(t, pairs("group.consumer.assignor.offload.enable=false"))}
	topic := map[string]string{"segment.bytes": "4000000", "message.timestamp.type": "LogAppendTime", "cleanup.policy": " delete , compact "}
	for _, c := range []struct {
		entries    []Entry
		name, want string
	}{
		{static.DescribeTopic(nil), "retention.ms", "60000000 @5 :"},
		{static.DescribeTopic(nil), "segment.ms", "7200000 @5 :"},
		{static.DescribeTopic(nil), "segment.jitter.ms", "3600000 @5 :"},
		{static.DescribeTopic(nil), "flush.ms", "5000 @5 :"},
		{static.DescribeTopic(nil), "segment.bytes", "2000000 @4 : log.segment.bytes=2000000@4 log.segment.bytes=1073741824@5"},
		{static.DescribeTopic(nil), "compression.type", "lz4 @4 : compression.type=lz4@4 compression.type=producer@5"},
		{static.DescribeTopic(nil), "remote.storage.enable", "false @5 :"},
		{static.DescribeTopic(nil), "cleanup.policy", "delete @5 : log.cleanup.policy=delete@5"},
		{l.DescribeTopic(topic), "compression.type", "zstd @2 : compression.type=zstd@2 compression.type=lz4@4 compression.type=producer@5"},
		{l.DescribeTopic(topic), "segment.bytes", "4000000 @1 : segment.bytes=4000000@1 log.segment.bytes=3000000@3 log.segment.bytes=2000000@4 log.segment.bytes=1073741824@5"},
		{l.DescribeTopic(topic), "retention.ms", "6000 @2 : log.retention.ms=6000@2 log.retention.ms=5000@3 log.retention.minutes=1000@4 log.retention.hours=24@4 log.retention.hours=168@5"},
		{l.DescribeTopic(topic), "message.timestamp.type", "LogAppendTime @1 : message.timestamp.type=LogAppendTime@1 log.message.timestamp.type=CreateTime@5"},
		{l.DescribeTopic(topic), "cleanup.policy", "delete,compact @1 : cleanup.policy=delete,compact@1 log.cleanup.policy=delete@5"},
		{l.DescribeTopic(topic), "min.insync.replicas", "1 @3 : min.insync.replicas=1@3 min.insync.replicas=1@5"},

		{static.DescribeBroker(), "custom.x.password", "<null> @4 ro sensitive : custom.x.password=<null>@4"},
		{static.DescribeBroker(), "foo.bar", "<null> @4 ro sensitive : foo.bar=<null>@4"},
		{static.DescribeBroker(), "listener.name.plaintext.max.connections", "77 @4 ro : listener.name.plaintext.max.connections=77@4 max.connections=2147483647@5"},
		{static.DescribeBroker(), "log.flush.interval.ms", "<null> @5 :"},
		{static.DescribeBroker(), "log.retention.ms", "<null> @5 :"},
		{static.DescribeBroker(), "log.retention.hours", "24 @4 ro : log.retention.hours=24@4 log.retention.hours=168@5"},
		{static.DescribeBroker(), "log.retention.minutes", "1000 @4 ro : log.retention.minutes=1000@4 log.retention.hours=24@4 log.retention.hours=168@5"},
		{static.DescribeBroker(), "num.network.threads", "2 @4 : num.network.threads=2@4 num.network.threads=3@5"},
		{static.DescribeBroker(), "node.id", "1 @4 ro : node.id=1@4"},
		{static.DescribeBroker(), "broker.id", "1 @4 ro : broker.id=1@4 broker.id=-1@5"},
		{static.DescribeBroker(), "metadata.log.dir", "<null> @5 ro :"},
		{static.DescribeBroker(), "delegation.token.secret.key", "<null> @5 ro sensitive :"},
		{static.DescribeBroker(), "log.cleaner.io.max.bytes.per.second", "1.7976931348623157E308 @5 : log.cleaner.io.max.bytes.per.second=1.7976931348623157E308@5"},
		{l.DescribeBroker(), "log.retention.ms", "6000 @2 : log.retention.ms=6000@2 log.retention.ms=5000@3 log.retention.minutes=1000@4 log.retention.hours=24@4 log.retention.hours=168@5"},
		{l.DescribeBroker(), "custom.z", "<null> @3 ro sensitive : custom.z=<null>@3"},
		{l.DescribeBroker(), "leader.replication.throttled.rate", "1000 @2 : leader.replication.throttled.rate=1000@2"},
		{l.DescribeBroker(), "unclean.leader.election.interval.ms", "<null> @0 :"},

		{l.DescribeBrokerDefaults(), "log.segment.bytes", "3000000 @3 : log.segment.bytes=3000000@3"},
		{l.DescribeBrokerDefaults(), "log.retention.ms", "5000 @3 : log.retention.ms=5000@3"},
		{l.DescribeBrokerDefaults(), "custom.z", "<null> @3 ro sensitive : custom.z=<null>@3"},

		{l.DescribeGroup(map[string]string{"consumer.session.timeout.ms": "50000"}), "consumer.session.timeout.ms", "50000 @8 : consumer.session.timeout.ms=50000@8 group.consumer.session.timeout.ms=45000@5"},
		{l.DescribeGroup(nil), "consumer.heartbeat.interval.ms", "5000 @5 : group.consumer.heartbeat.interval.ms=5000@5"},
		{l.DescribeGroup(nil), "share.auto.offset.reset", "latest @5 : share.auto.offset.reset=latest@5"},
		{l.DescribeGroup(nil), "streams.assignor.name", "sticky @5 : group.streams.assignors=sticky@5"},
		{l.DescribeGroup(nil), "errors.deadletterqueue.topic.name", " @5 : errors.deadletterqueue.topic.name=@5"},
		{l.DescribeGroup(nil), "streams.num.warmup.replicas", "<null> @0 :"},
		{l.DescribeGroup(map[string]string{"streams.num.warmup.replicas": "0"}), "streams.num.warmup.replicas", "0 @8 : streams.num.warmup.replicas=0@8 group.streams.num.warmup.replicas=2@5"},
		{onLoop.DescribeGroup(nil), "consumer.assignor.offload.enable", "false @4 : group.consumer.assignor.offload.enable=false@4 group.consumer.assignor.offload.enable=true@5"},
		{DescribeClientMetrics(map[string]string{"interval.ms": "1000", "match": "client_id=.*"}), "interval.ms", "1000 @7 : interval.ms=1000@7"},
		{DescribeClientMetrics(map[string]string{"interval.ms": "1000", "match": "client_id=.*"}), "metrics", " @5 :"},
		{DescribeClientMetrics(nil), "interval.ms", "300000 @5 :"},
	} {
		if got := show(entry(t, c.entries, c.name)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	if n := len(l.DescribeBrokerDefaults()); n != 4 {
		t.Errorf("%d keys are set for all brokers, want 4", n)
	}
}

func TestDescribeListsKeysInOrder(t *testing.T) {
	l := Layers{Server: mustLoad(t, nil)}
	for kind, c := range map[string]struct {
		defs    []Def
		entries []Entry
	}{
		"topic": {TopicDefs(), l.DescribeTopic(nil)}, "broker": {BrokerDefs(), l.DescribeBroker()},
		"group": {GroupDefs(), l.DescribeGroup(nil)}, "client metrics": {ClientMetricsDefs(), DescribeClientMetrics(nil)},
	} {
		if len(c.defs) != len(c.entries) {
			t.Fatalf("%s: %d keys and %d entries", kind, len(c.defs), len(c.entries))
		}
		for i, e := range c.entries {
			if e.Name != c.defs[i].Name || e.Doc != c.defs[i].Doc || e.Type != c.defs[i].Type {
				t.Errorf("%s: entry %d is %s, the key %s", kind, i, e.Name, c.defs[i].Name)
			}
			if kind != "broker" && (e.ReadOnly || e.Sensitive) {
				t.Errorf("%s: %s is read only or sensitive", kind, e.Name)
			}
		}
	}
}

// Effective values of one node are shown, as if Kafka's defaults were these.
func TestOneNodeDefaultsAreShown(t *testing.T) {
	entries := Layers{Server: mustLoad(t, nil)}.DescribeBroker()
	for name, want := range map[string]string{
		"offsets.topic.replication.factor": "1 @5 ro : offsets.topic.replication.factor=1@5",
		"transaction.state.log.min.isr":    "1 @5 ro : transaction.state.log.min.isr=1@5",
		"node.id":                          "1 @5 ro : node.id=1@5",
		"process.roles":                    "broker,controller @5 ro : process.roles=broker,controller@5",
		"log.dir":                          "./ringmain-data @5 ro : log.dir=./ringmain-data@5",
	} {
		if got := show(entry(t, entries, name)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	// Secrets cannot be set while there is no security; one that a later
	// release stored must still stay hidden.
	l := Layers{Broker: map[string]string{"listener.name.x.ssl.keystore.password": "hunter2", "sasl.jaas.config": "hunter2", "unknown": "hunter2"}}
	for _, e := range append(l.DescribeBroker(), Layers{Cluster: l.Broker}.DescribeBrokerDefaults()...) {
		if strings.Contains(fmt.Sprintf("%+v", e), "hunter2") {
			t.Errorf("%s shows its secret: %+v", e.Name, e)
		}
	}
}
