package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func named(values map[string]string) (*Server, []string, error) {
	return load(values, func() (string, error) { return "host.test", nil })
}

func mustLoad(t *testing.T, values map[string]string) *Server {
	t.Helper()
	s, _, err := named(values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What an operator has for one KRaft node: every kind of line of the files
// that people start from.
const operatorsFile = `
############################# Server Basics #############################
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
#log.flush.interval.messages=10000
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
`

func TestOperatorsFileStartsUnchanged(t *testing.T) {
	values, err := ParseProperties(strings.NewReader(operatorsFile))
	if err != nil {
		t.Fatal(err)
	}
	s, warnings, err := named(values)
	if err != nil || len(warnings) != 0 {
		t.Fatalf("error %v, warnings %q", err, warnings)
	}
	if got := fmt.Sprintln(s.Listeners, s.Advertised, s.InterBrokerName, s.NodeID, s.LogDirs, s.MetadataDir); got !=
		"[{PLAINTEXT  9092 PLAINTEXT}] [{PLAINTEXT localhost 9092 PLAINTEXT}] PLAINTEXT 1 [/tmp/kraft-combined-logs] /tmp/kraft-combined-logs\n" {
		t.Error(got)
	}
}

func TestNothingSetStartsOneNode(t *testing.T) {
	s, warnings, err := named(nil)
	if err != nil || len(warnings) != 0 {
		t.Fatalf("error %v, warnings %q", err, warnings)
	}
	if got := fmt.Sprintln(s.NodeID, s.Listeners, s.Advertised, s.LogDirs, s.MetadataDir, s.HTTPListen, s.IOEngine); got !=
		"1 [{PLAINTEXT  9092 PLAINTEXT}] [{PLAINTEXT host.test 9092 PLAINTEXT}] [./ringmain-data] ./ringmain-data 127.0.0.1:9080 auto\n" {
		t.Error(got)
	}
	for name := range oneNode {
		if strings.HasSuffix(name, ".factor") || strings.HasSuffix(name, ".isr") {
			if s.Int(name) != 1 {
				t.Errorf("%s is %d on one node", name, s.Int(name))
			}
		}
	}
	if s.RequestMaxBytes != 104857600 || s.FetchMaxBytes != 57671680 || s.NumPartitions != 1 || !s.AutoCreateTopics || !s.DeleteTopics ||
		s.SyncBytes != 64<<20 || s.SyncMs != 5000 || s.RequestMaxParts != 20000 || s.IdleMs != 600000 || s.FetchSessionSlots != 1000 {
		t.Errorf("%+v", s)
	}
}

func pairs(lines ...string) map[string]string {
	m := map[string]string{}
	for _, l := range lines {
		k, v, _ := strings.Cut(l, "=")
		m[k] = v
	}
	return m
}

func TestAccepted(t *testing.T) {
	for _, c := range []struct {
		set  string // lines, separated by spaces
		want string // listeners | advertised | inter broker | node
	}{
		{"listeners=PLAINTEXT://127.0.0.1:0", "PLAINTEXT@127.0.0.1:0|PLAINTEXT@127.0.0.1:0|PLAINTEXT|1"},
		{"listeners=PLAINTEXT://0.0.0.0:9092", "PLAINTEXT@0.0.0.0:9092|PLAINTEXT@host.test:9092|PLAINTEXT|1"},
		{"listeners=PLAINTEXT://[::]:9092", "PLAINTEXT@:::9092|PLAINTEXT@host.test:9092|PLAINTEXT|1"},
		{"listeners=plaintext://localhost:9092", "PLAINTEXT@localhost:9092|PLAINTEXT@localhost:9092|PLAINTEXT|1"},
		{"listeners=PLAINTEXT://:9092 advertised.listeners=PLAINTEXT://kafka.example.com:19092", "PLAINTEXT@:9092|PLAINTEXT@kafka.example.com:19092|PLAINTEXT|1"},
		{"listeners=IN://:1,OUT://:2 listener.security.protocol.map=in:plaintext,OUT:PLAINTEXT inter.broker.listener.name=out",
			"IN@:1,OUT@:2|IN@host.test:1,OUT@host.test:2|OUT|1"},
		{"listeners=IN://:1,OUT://:2 listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT advertised.listeners=OUT://a:5", "IN@:1,OUT@:2|OUT@a:5|OUT|1"},
		{"listeners=A://:0,B://:0 listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT", "A@:0,B@:0|A@host.test:0,B@host.test:0|A|1"},
		{"listeners=A://127.0.0.1:7,B://[::1]:7 listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT", "A@127.0.0.1:7,B@::1:7|A@127.0.0.1:7,B@::1:7|A|1"},
		{"node.id=0", "PLAINTEXT@:9092|PLAINTEXT@host.test:9092|PLAINTEXT|0"},
		{"broker.id=7", "PLAINTEXT@:9092|PLAINTEXT@host.test:9092|PLAINTEXT|7"},
		{"broker.id=7 node.id=7", "PLAINTEXT@:9092|PLAINTEXT@host.test:9092|PLAINTEXT|7"},
		{"broker.id=-1 node.id=7", "PLAINTEXT@:9092|PLAINTEXT@host.test:9092|PLAINTEXT|7"},
		{"process.roles=controller,broker node.id=1 controller.listener.names=CONTROLLER controller.quorum.voters=1@localhost:9093 listeners=PLAINTEXT://:9092,CONTROLLER://:9093",
			"PLAINTEXT@:9092|PLAINTEXT@host.test:9092|PLAINTEXT|1"},
		{"security.inter.broker.protocol=PLAINTEXT authorizer.class.name= sasl.enabled.mechanisms=GSSAPI ssl.client.auth=none remote.log.storage.system.enable=false ssl.enabled.protocols=TLSv1.3,TLSv1.2",
			"PLAINTEXT@:9092|PLAINTEXT@host.test:9092|PLAINTEXT|1"},
		{"replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector metric.reporters=foo.Bar", "PLAINTEXT@:9092|PLAINTEXT@host.test:9092|PLAINTEXT|1"},
		{"ssl.keystore.location= log.retention.ms= broker.rack=", "PLAINTEXT@:9092|PLAINTEXT@host.test:9092|PLAINTEXT|1"},
	} {
		s, warnings, err := named(pairs(strings.Fields(c.set)...))
		if err != nil {
			t.Errorf("%s: %v", c.set, err)
			continue
		}
		if len(warnings) > 0 {
			t.Errorf("%s: warnings %q", c.set, warnings)
		}
		show := func(ls []Listener) string {
			var out []string
			for _, l := range ls {
				out = append(out, fmt.Sprintf("%s@%s:%d", l.Name, l.Host, l.Port))
			}
			return strings.Join(out, ",")
		}
		if got := fmt.Sprintf("%s|%s|%s|%d", show(s.Listeners), show(s.Advertised), s.InterBrokerName, s.NodeID); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.set, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ set, key, says string }{
		// What protects or places data and is not there.
		{"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "authorizer.class.name", "ACLs"},
		{"super.users=User:admin", "super.users", "ACLs"},
		{"allow.everyone.if.no.acl.found=false", "allow.everyone.if.no.acl.found", "ACLs"},
		{"sasl.enabled.mechanisms=PLAIN", "sasl.enabled.mechanisms", "SASL"},
		{"listener.name.sasl_plaintext.plain.sasl.jaas.config=secret", "listener.name.sasl_plaintext.plain.sasl.jaas.config", "security of listener"},
		{"listener.name.x.ssl.keystore.location=/x", "listener.name.x.ssl.keystore.location", "security of listener"},
		{"ssl.keystore.location=/x", "ssl.keystore.location", "TLS"},
		{"ssl.client.auth=required", "ssl.client.auth", "TLS"},
		{"security.inter.broker.protocol=SSL", "security.inter.broker.protocol", "PLAINTEXT"},
		{"listeners=SSL://:9092", "listeners", "SSL"},
		{"listeners=IN://:9092 listener.security.protocol.map=IN:SASL_PLAINTEXT", "listeners", "SASL_PLAINTEXT"},
		{"remote.log.storage.system.enable=true", "remote.log.storage.system.enable", "tiered"},
		{"controller.quorum.voters=1@a:1,2@b:1,3@c:1", "controller.quorum.voters", "several nodes"},
		{"controller.quorum.bootstrap.servers=a:1,b:1", "controller.quorum.bootstrap.servers", "several nodes"},
		{"controller.quorum.auto.join.enable=true", "controller.quorum.auto.join.enable", "several nodes"},
		{"process.roles=controller", "process.roles", "several nodes"},
		{"process.roles=broker", "process.roles", "several nodes"},
		{"process.roles=", "process.roles", "role"},
		{"config.providers=file", "config.providers", "Java"},
		{"create.topic.policy.class.name=a.B", "create.topic.policy.class.name", "Java"},
		{"replica.selector.class=a.B", "replica.selector.class", "Java"},
		{"delegation.token.secret.key=secret", "delegation.token.secret.key", "SASL"},
		// Mistakes.
		{"num.partitions=0", "num.partitions", "1 or more"},
		{"num.partitions=many", "num.partitions", "Not a number of type INT"},
		{"log.segment.bytes=5", "log.segment.bytes", "1048576 or more"},
		{"compression.type=rar", "compression.type", "zstd"},
		{"auto.create.topics.enable=yes", "auto.create.topics.enable", "true, false"},
		{"compression.gzip.level=0", "compression.gzip.level", "1 to 9, or -1"},
		{"log.cleanup.policy=shred", "log.cleanup.policy", "compact, delete"},
		{"log.dirs=", "log.dirs", "directory"},
		{"log.dirs=/a,,/b", "log.dirs", "empty"},
		{"log.retention.ms=0", "log.retention.ms", "unlimited"},
		{"log.roll.ms=0", "log.roll.ms", "equal to 1"},
		{"max.connections.per.ip=0", "max.connections.per.ip", "overrides"},
		{"max.connections.per.ip.overrides=127.0.0.1", "max.connections.per.ip.overrides", "address:count"},
		{"max.connections.per.ip.overrides=127.0.0.1:x", "max.connections.per.ip.overrides", "count"},
		{"node.id=-1", "node.id", "0 or more"},
		{"node.id=1 broker.id=2", "broker.id", "differs"},
		{"controller.quorum.voters=1@a", "controller.quorum.voters", "host:port"},
		{"controller.quorum.voters=a:1", "controller.quorum.voters", "id@host:port"},
		{"controller.quorum.voters=2@a:1", "controller.quorum.voters", "node.id=1"},
		{"controller.quorum.bootstrap.servers=a", "controller.quorum.bootstrap.servers", "host:port"},
		{"listeners=", "listeners", "no listener"},
		{"listeners=:9092", "listeners", "NAME://host:port"},
		{"listeners=PLAINTEXT://:99999", "listeners", "65535"},
		{"listeners=PLAINTEXT://:-1", "listeners", "65535"},
		{"listeners=PLAINTEXT://host", "listeners", "host:port"},
		{"listeners=PLAINTEXT://::1:9092", "listeners", "brackets"},
		{"listeners=PLAIN TEXT://:9092", "listeners", "letters"},
		{"listeners=CONTROLLER://:9092 controller.listener.names=CONTROLLER", "listeners", "no listener for clients"},
		{"listeners=PLAINTEXT://:9092,CONTROLLER://:9093", "listeners", "controller.listener.names"},
		{"listeners=PLAINTEXT://:1,PLAINTEXT://:2", "listeners", "twice"},
		{"listeners=A://:1,B://:1 listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT", "listeners", "port"},
		{"listeners=A://x:1,B://y:1 listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT", "listeners", "port"},
		{"listener.security.protocol.map=A", "listener.security.protocol.map", "NAME:PROTOCOL"},
		{"listener.security.protocol.map=A:TLS", "listener.security.protocol.map", "SASL_SSL"},
		{"listener.security.protocol.map=A:SSL,a:SSL", "listener.security.protocol.map", "twice"},
		{"advertised.listeners=PLAINTEXT://0.0.0.0:9092", "advertised.listeners", "all interfaces"},
		{"advertised.listeners=PLAINTEXT://[::]:9092", "advertised.listeners", "all interfaces"},
		{"advertised.listeners=OUT://a:9092", "advertised.listeners", "not one of listeners"},
		{"inter.broker.listener.name=OUT", "inter.broker.listener.name", "advertised"},
		{"inter.broker.listener.name=PLAINTEXT security.inter.broker.protocol=PLAINTEXT", "inter.broker.listener.name", "only one"},
		{"group.min.session.timeout.ms=10 group.max.session.timeout.ms=5", "group.min.session.timeout.ms", "group.max.session.timeout.ms"},
		{"group.consumer.session.timeout.ms=70000", "group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
		{"log.local.retention.ms=9999999999999", "log.local.retention.ms", "log.retention.ms"},
		{"queued.max.request.bytes=5", "queued.max.request.bytes", "socket.request.max.bytes"},
		{"ringmain.io.engine=aio", "ringmain.io.engine", "auto, uring, pwritev"},
		{"ringmain.durability=none", "ringmain.durability", "fsync, page-cache"},
		{"ringmain.http.listen=9080", "ringmain.http.listen", "host:port"},
		{"ringmain.sync.ms=0", "ringmain.sync.ms", "1 to 86400000"},
	} {
		var lines []string
		for _, l := range strings.Split(c.set, " ") {
			if strings.Contains(l, "=") {
				lines = append(lines, l)
			} else {
				lines[len(lines)-1] += " " + l
			}
		}
		_, _, err := named(pairs(lines...))
		var usage *UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%s: error %v, want a UsageError", c.set, err)
			continue
		}
		if usage.Key != c.key || !strings.Contains(usage.Error(), c.says) {
			t.Errorf("%s: error of %s: %s; want %s and %q", c.set, usage.Key, usage, c.key, c.says)
		}
		if strings.Contains(usage.Error(), "secret ") || strings.HasSuffix(usage.Error(), "=secret") || usage.Value == "secret" {
			t.Errorf("%s: the error shows a secret: %s", c.set, usage)
		}
	}
}

func TestEveryRefusedKeyIsRefused(t *testing.T) {
	for i := range brokerTable.defs {
		d := &brokerTable.defs[i]
		if d.Status != Refused {
			continue
		}
		value := "other"
		switch d.Type {
		case Boolean:
			value = "true"
		case Int, Short, Long:
			value = "12345"
		}
		if d.Name == "security.inter.broker.protocol" {
			value = "SASL_SSL"
		}
		_, _, err := named(map[string]string{d.Name: value})
		var usage *UsageError
		if !errors.As(err, &usage) || usage.Key != d.Name {
			t.Errorf("%s=%s: %v", d.Name, value, err)
		}
		if d.HasDefault() {
			if _, _, err := named(map[string]string{d.Name: d.Default}); err != nil {
				t.Errorf("%s at its default: %v", d.Name, err)
			}
		}
	}
}

func TestEveryDefaultMayBeWrittenOut(t *testing.T) {
	values := map[string]string{}
	for _, d := range BrokerDefs() {
		if d.HasDefault() && d.Name != "broker.id" {
			values[d.Name] = d.Default
		}
	}
	_, warnings, err := named(values)
	if err != nil {
		t.Fatal(err)
	}
	// Kafka's factors of three do not suit one node, which is said.
	if len(warnings) != 2 {
		t.Errorf("warnings %q", warnings)
	}
}

func TestWarnings(t *testing.T) {
	_, warnings, err := named(pairs("foo.bar=1", "zookeeper.connect=localhost:2181", "log.message.format.version=2.0",
		"rsm.config.x=1", "listener.name.plaintext.max.connections=5", "ringmain.durabilty=fsync", "default.replication.factor=3"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"foo.bar is unknown", "listener.name.plaintext.max.connections has no effect", "log.message.format.version was removed",
		"ringmain.durabilty is unknown", "rsm.config.x belongs to a plugin", "zookeeper.connect was removed", "default.replication.factor=3 asks for more replicas"}
	slices.Sort(warnings)
	if len(warnings) != len(want) {
		t.Fatalf("%d warnings: %q", len(warnings), warnings)
	}
	for _, w := range want {
		if !slices.ContainsFunc(warnings, func(s string) bool { return strings.Contains(s, w) }) {
			t.Errorf("no warning says %q: %q", w, warnings)
		}
	}
}

func TestDirectories(t *testing.T) {
	for _, c := range []struct{ set, dirs, metadata string }{
		{"log.dirs=/a,/b", "/a,/b", "/a"},
		{"log.dir=/c log.dirs=/a", "/a", "/a"},
		{"log.dir=/c", "/c", "/c"},
		{"log.dir=/c,/d metadata.log.dir=/m", "/c,/d", "/m"},
	} {
		s := mustLoad(t, pairs(strings.Fields(c.set)...))
		if strings.Join(s.LogDirs, ",") != c.dirs || s.MetadataDir != c.metadata {
			t.Errorf("%s: %v and %s", c.set, s.LogDirs, s.MetadataDir)
		}
	}
}

func TestOwnKeys(t *testing.T) {
	s := mustLoad(t, pairs("ringmain.http.listen=off", "ringmain.event.loops=3", "ringmain.appenders=2", "ringmain.io.engine= uring ",
		"ringmain.metrics.max.series=7", "ringmain.sync.bytes=8192", "ringmain.connection.inflight.bytes=100000", "ringmain.bulk.share.percent=50"))
	if got := fmt.Sprintln(s.HTTPListen, s.EventLoops, s.Appenders, s.IOEngine, s.MetricsMaxSeries, s.SyncBytes, s.ConnInFlightBytes, s.BulkShare); got != " 3 2 uring 7 8192 100000 50\n" {
		t.Error(got)
	}
}

func TestHostNameMissing(t *testing.T) {
	_, _, err := load(nil, func() (string, error) { return "", errors.New("no name") })
	var usage *UsageError
	if !errors.As(err, &usage) || usage.Key != "advertised.listeners" {
		t.Errorf("error %v", err)
	}
}
