package serve

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadConfigurationIsWrongUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		set    []string
		pieces []string
	}{
		{"not a number", []string{"num.partitions=many"}, []string{"num.partitions", "many"}},
		{"out of range", []string{"num.partitions=0"}, []string{"num.partitions", "0", "at least 1"}},
		{"not one of the words", []string{"ringmain.io.engine=fast"}, []string{"ringmain.io.engine", "fast", "auto", "uring", "pwritev"}},
		{"not a boolean", []string{"auto.create.topics.enable=maybe"}, []string{"auto.create.topics.enable", "maybe", "true, false"}},
		{"negative node", []string{"node.id=-1"}, []string{"node.id", "-1"}},
		{"directory twice", []string{"log.dirs=a,./a"}, []string{"log.dirs", "./a", "twice"}},
		{"authorizer", []string{"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"}, []string{"authorizer.class.name", "not built in"}},
		{"super users", []string{"super.users=User:admin"}, []string{"super.users", "not built in"}},
		{"sasl", []string{"sasl.enabled.mechanisms=SCRAM-SHA-512"}, []string{"sasl.enabled.mechanisms", "SASL", "not built in"}},
		{"sasl of a listener", []string{"listener.name.plaintext.plain.sasl.jaas.config=x"}, []string{"listener.name.plaintext.plain.sasl.jaas.config", "not built in"}},
		{"ssl", []string{"ssl.keystore.location=/etc/keystore.jks"}, []string{"ssl.keystore.location", "TLS", "not built in"}},
		{"a password is not shown", []string{"ssl.keystore.password=hunter2"}, []string{"ssl.keystore.password", "[hidden]"}},
		{"ssl listener", []string{"listeners=PLAINTEXT://127.0.0.1:0", "listener.security.protocol.map=PLAINTEXT:SSL"}, []string{"PLAINTEXT", "SSL", "not built in"}},
		{"remote storage", []string{"remote.log.storage.system.enable=true"}, []string{"remote.log.storage.system.enable", "not built in"}},
		{"several voters", []string{"controller.quorum.voters=1@a:9093,2@b:9093,3@c:9093"}, []string{"controller.quorum.voters", "3 voters", "not built in"}},
		{"another voter", []string{"controller.quorum.voters=2@a:9093"}, []string{"controller.quorum.voters", "node 2", "node.id=1"}},
		{"controller only", []string{"process.roles=controller"}, []string{"process.roles", "not built in"}},
		{"broker only", []string{"process.roles=broker"}, []string{"process.roles", "not built in"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := local()
			for _, kv := range c.set {
				args = append(args, "--override", kv)
			}
			refused(t, dir, 2, append(c.pieces, "ringmain: "), args...)
			if left := tree(t, dir); len(left) != 1 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

func TestBadFlagsAreWrongUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"bad.properties": "num.partitions=1\nkey=\\u00zz\n"})
	for _, c := range []struct {
		args   []string
		pieces []string
	}{
		{[]string{"--config", "missing.properties"}, []string{"--config", "missing.properties", "no such file"}},
		{[]string{"--config", "."}, []string{"--config", "directory"}},
		{[]string{"--config", "bad.properties"}, []string{"bad.properties", "line 2"}},
		{[]string{"--override", "num.partitions"}, []string{"--override", "key=value"}},
		{[]string{"--override", "=1"}, []string{"--override", "key=value"}},
		{[]string{"--listen", "9092"}, []string{"9092", "host:port"}},
		{[]string{"--listen", "localhost:70000"}, []string{"70000", "65535"}},
		{[]string{"--http", "localhost"}, []string{"ringmain.http.listen", "localhost", "off"}},
		{[]string{"--log-format", "xml"}, []string{"--log-format", "xml", "text or json"}},
		{[]string{"--log-level", "loud"}, []string{"--log-level", "loud", "debug"}},
		{[]string{"--no-such-flag"}, []string{"--no-such-flag", "--help"}},
		{[]string{"server.properties"}, []string{"server.properties", "ringmain serve"}},
	} {
		refused(t, dir, 2, c.pieces, c.args...)
	}
	if left := tree(t, dir); len(left) != 2 {
		t.Errorf("it left %v", left)
	}
}

func TestUnknownKeysWarnOnceEach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"server.properties": "first.unknown.key=1\nnum.io.threads=8\nbackground.threads=4\nringmain.no.such=2\nlog.dirs=data\n"})
	p := beginIn(t, dir, local("--config", "server.properties", "--override", "another.one=x")...)
	p.ready()
	p.stop()
	said := p.errors()
	for _, key := range []string{"first.unknown.key", "ringmain.no.such", "another.one"} {
		if n := strings.Count(said, key); n != 1 {
			t.Errorf("%s is named %d times:\n%s", key, n, said)
		}
	}
	if n := strings.Count(said, "level=WARN"); n != 3 {
		t.Errorf("%d warnings, want one for each of three keys", n)
	}
}

// operators is a file as people run single KRaft nodes with, from Kafka's
// template; only ports and the directory are this test's.
const operators = `############################# Server Basics #############################

# The role of this server. Setting this puts us in KRaft mode
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:%[2]d

############################# Socket Server Settings #############################
listeners=PLAINTEXT://:%[1]d,CONTROLLER://:%[2]d
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:%[1]d
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600

############################# Log Basics #############################
log.dirs = %[3]s
num.partitions=3
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0

############################# Log Retention Policy #############################
#log.flush.interval.messages=10000
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
`

func TestOperatorsFileStartsUnchanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kafka, quorum := freePort(t), freePort(t)
	data := filepath.Join(dir, "kraft-combined-logs")
	write(t, dir, map[string]string{"server.properties": fmt.Sprintf(operators, kafka, quorum, data)})
	// The HTTP port is no key of Kafka's file; its default may be taken here.
	p := beginIn(t, dir, "--config", "server.properties", "--http", "off")
	r := p.ready()
	if want := fmt.Sprintf("localhost:%d", kafka); advertised(t, fmt.Sprintf("127.0.0.1:%d", kafka)) != want {
		t.Errorf("not advertised as %s", want)
	}
	if strings.Contains(p.errors(), "level=WARN") {
		t.Error("a template of Kafka's gives warnings")
	}
	if r.node != "1" {
		t.Errorf("node %s", r.node)
	}
	if tree(t, data)["ringmain.properties"] == "" {
		t.Error("the data is not in log.dirs")
	}
	// A single node opens no controller port.
	occupy(t, quorum)
	p.stop()
}

func TestOverridesReplaceTheFileAndFlagsReplaceBoth(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"server.properties": "listeners=PLAINTEXT://256.0.0.1:1\nlog.dirs=file\nnode.id=5\nnum.partitions=2\nauto.create.topics.enable=false\n"})
	p := beginIn(t, dir, "--config", "server.properties", "--override", "node.id=0", "--override", "log.dirs=override",
		"--override", "num.partitions=7", "--override", "num.partitions=4",
		"--data-dir", "flag", "--listen", "127.0.0.1:0", "--http", "off")
	r := p.ready()
	if r.node != "0" {
		t.Errorf("node %s, want 0: it is a valid id", r.node)
	}
	create(t, r.kafka, "t", -1)
	if n := len(describe(t, r.kafka, "t").Partitions); n != 4 {
		t.Errorf("%d partitions, want what the last override says", n)
	}
	for name, want := range map[string]int{"file": 0, "override": 0} {
		if n := len(tree(t, filepath.Join(dir, name))); n != want {
			t.Errorf("%s was used", name)
		}
	}
	p.stop()
	p = beginIn(t, dir, local("--data-dir", "flag", "--override", "node.id=0")...)
	if r := p.ready(); r.node != "0" {
		t.Errorf("node %s after a restart", r.node)
	}
	p.stop()
}
