package config

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

// want is a message; "" means the value is taken, and a leading ! marks a bad
// request.
func checkError(t *testing.T, what string, err error, want string) {
	t.Helper()
	want, bad := strings.CutPrefix(want, "!")
	switch {
	case err == nil && want == "":
	case err == nil:
		t.Errorf("%s: taken, want %q", what, want)
	default:
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %T is no InvalidError", what, err)
		} else if invalid.Message != want || invalid.BadRequest != bad {
			t.Errorf("%s:\n got %q (bad request %v)\nwant %q (%v)", what, invalid.Message, invalid.BadRequest, want, bad)
		}
	}
}

const list = " must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."

// Messages are those of Apache Kafka 4.4 for the same mistakes, unless the
// test says otherwise.
func TestValidateTopic(t *testing.T) {
	for _, c := range [][2]string{
		{"retention.ms=-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
		{"retention.ms=abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms=", "Invalid value  for configuration retention.ms: Not a number of type LONG"},
		{"retention.ms= 1000 ", ""},
		{"retention.bytes=-5", ""},
		{"segment.bytes=100", "Invalid value 100 for configuration segment.bytes: Value must be at least 1048576"},
		{"segment.bytes=99999999999", "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT"},
		{"segment.bytes=1.5", "Invalid value 1.5 for configuration segment.bytes: Not a number of type INT"},
		{"internal.segment.bytes=1000", ""},
		{"segment.ms=0", "Invalid value 0 for configuration segment.ms: Value must be at least 1"},
		{"cleanup.policy=foo", "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete"},
		{"cleanup.policy=", ""},
		{"cleanup.policy=delete,delete", ""},
		{"cleanup.policy= delete , compact ", ""},
		{"cleanup.policy=delete,", "Configuration 'cleanup.policy' values must not be empty."},
		{"compression.type=foo", "Invalid value foo for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.type= lz4 ", ""},
		{"compression.type=LZ4", "Invalid value LZ4 for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.gzip.level=0", "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
		{"compression.gzip.level=-1", ""},
		{"compression.lz4.level=0", "Invalid value 0 for configuration compression.lz4.level: Value must be at least 1"},
		{"compression.zstd.level=30", "Invalid value 30 for configuration compression.zstd.level: Value must be no more than 22"},
		{"min.cleanable.dirty.ratio=1.5", "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{"min.cleanable.dirty.ratio=-1", "Invalid value -1.0 for configuration min.cleanable.dirty.ratio: Value must be at least 0"},
		{"min.cleanable.dirty.ratio=x", "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		// Kafka takes this one, and every comparison with it is false then.
		{"min.cleanable.dirty.ratio=NaN", "Invalid value NaN for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"min.cleanable.dirty.ratio=0.5f", ""},
		{"min.cleanable.dirty.ratio=0x1p-1D", ""},
		{"min.cleanable.dirty.ratio=0x.f", "Invalid value 0x.f for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"min.cleanable.dirty.ratio=0_1", "Invalid value 0_1 for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"min.cleanable.dirty.ratio=f", "Invalid value f for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		// Kafka takes it where a key has no upper bound.
		{"min.cleanable.dirty.ratio=Infinity", "Invalid value Infinity for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
		{"preallocate=yes", "Invalid value yes for configuration preallocate: Expected value to be either true or false"},
		{"preallocate= TRUE ", ""},
		{"message.timestamp.type=foo", "Invalid value foo for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime"},
		{"max.decompressed.message.bytes=2147483640", "Invalid value 2147483640 for configuration max.decompressed.message.bytes: Value must be no more than 2147483639"},
		{"remote.storage.enable=true", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{"remote.storage.enable=false", ""},
		{"retention.ms=1000 local.retention.ms=5000", ""}, // looked at with remote storage only
		{"local.retention.ms=-3", "Invalid value -3 for configuration local.retention.ms: Value must be at least -2"},
		{"leader.replication.throttled.replicas=0:1,1:2", ""},
		{"leader.replication.throttled.replicas=*", ""},
		{"leader.replication.throttled.replicas=", ""},
		{"leader.replication.throttled.replicas=0:1,,0:1,", ""},
		{"leader.replication.throttled.replicas=*,*", "Invalid value [*, *] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas" + list},
		{"leader.replication.throttled.replicas=none", "Invalid value [none] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas" + list},
		{"foo=1", "Unknown topic config name: foo"},
		{"=1", "Unknown topic config name: "},
		{"foo=1 retention.ms=abc", "Unknown topic config name: foo"},
		{"min.compaction.lag.ms=100 max.compaction.lag.ms=50", "conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (50)"},
		{"errors.deadletterqueue.group.enable=true", ""},
		// Kafka 4 does not know these; old tools send them.
		{"message.downconversion.enable=true message.format.version=2.0", ""},
		{"ringmain.durability=page-cache", ""},
		{"ringmain.durability=none", "Invalid value none for configuration ringmain.durability: String must be one of: fsync, page-cache"},
	} {
		checkError(t, c[0], ValidateTopic(settings(c[0])), c[1])
	}
}

// settings reads "a=1 b=2", where values may have spaces before the next key.
func settings(text string) map[string]string {
	m := map[string]string{}
	last := ""
	for i, word := range strings.Split(text, " ") {
		if k, v, ok := strings.Cut(word, "="); ok && (i == 0 || !strings.HasSuffix(m[last], "=")) {
			m[k], last = v, k
		} else {
			m[last] += " " + word
		}
	}
	return m
}

func TestValidateTopicOverTheBroker(t *testing.T) {
	l := Layers{Cluster: map[string]string{"log.cleaner.max.compaction.lag.ms": "50"}}
	checkError(t, "lag beyond the broker's", l.ValidateTopic(map[string]string{"min.compaction.lag.ms": "100"}),
		"conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (50)")
}

func TestValidateBroker(t *testing.T) {
	l := Layers{Server: mustLoad(t, pairs("log.retention.minutes=1000", "num.network.threads=2"))}
	const threads = "!Dynamic thread count update validation failed for "
	for _, c := range []struct {
		where, set, want string // where: * all brokers, 1 this one
	}{
		{"*", "foo=1", ""},
		{"1", "foo=1", ""},
		{"*", "num.partitions=3", "!Cannot update these configs dynamically: [num.partitions]"},
		{"1", "num.partitions=3", "!Cannot update these configs dynamically: [num.partitions]"},
		{"1", "log.retention.ms=abc num.partitions=5", "!Cannot update these configs dynamically: [num.partitions]"},
		{"1", "advertised.listeners=PLAINTEXT://127.0.0.1:19098", "!Cannot update these configs dynamically: [advertised.listeners]"},
		{"*", "remote.log.storage.system.enable=true", "!Cannot update these configs dynamically: [remote.log.storage.system.enable]"},
		{"*", "log.retention.hours=5", "!Cannot update these configs dynamically: [log.retention.hours]"},
		{"*", "listeners=PLAINTEXT://:1", "!Cannot update these configs at default cluster level, broker id must be specified: [listeners]"},
		{"*", "sasl.enabled.mechanisms=PLAIN", "!Cannot update these configs at default cluster level, broker id must be specified: [sasl.enabled.mechanisms]"},
		{"*", "ssl.keystore.location=/x", "!These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.keystore.location]"},
		{"1", "ssl.keystore.location=/x", "!These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.keystore.location]"},
		{"*", "listener.name.plaintext.ssl.keystore.location=/x", "!Cannot update these configs at default cluster level, broker id must be specified: [listener.name.plaintext.ssl.keystore.location]"},
		{"*", "log.retention.ms=-2", ""},
		{"*", "log.retention.ms=0", "!log.retention.ms must be unlimited (-1) or, greater than or equal to 1"},
		{"*", "log.retention.ms=abc", "!Invalid value abc for configuration log.retention.ms: Not a number of type LONG"},
		{"*", "log.segment.bytes=1", "!Invalid value 1 for configuration log.segment.bytes: Value must be at least 1048576"},
		{"*", "message.max.bytes=", "!Invalid value  for configuration message.max.bytes: Not a number of type INT"},
		{"1", "max.connections=-1", "!Invalid value -1 for configuration max.connections: Value must be at least 0"},
		{"1", "max.connections=5", ""},
		{"*", "max.connections=0", "!Invalid max.connections 0"},
		{"1", "listener.name.plaintext.max.connections=0", "!Invalid max.connections 0"},
		{"*", "max.connection.creation.rate=0", "!Invalid max.connection.creation.rate 0"},
		{"*", "max.connections.per.ip.overrides=127.0.0.1:5,,", ""},
		{"*", "max.connections.per.ip.overrides=,127.0.0.1:5", "!max.connections.per.ip.overrides has an empty item in \",127.0.0.1:5\""},
		{"*", "max.connections.per.ip.overrides=PLAINTEXT://:1", "!max.connections.per.ip.overrides: \"PLAINTEXT://\" is no address"},
		{"1", "listener.name.plaintext.max.connections=5", ""},
		{"*", "listener.name.plaintext.max.connections=5", ""},
		{"1", "listener.name.plaintext.max.connections=x", "!Invalid value x for configuration max.connections: Not a number of type INT"},
		{"*", "max.connections.per.ip=0", "!max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set."},
		{"*", "max.connections.per.ip=0 max.connections.per.ip.overrides=127.0.0.1:5", ""},
		{"*", "max.connections.per.ip.overrides=127.0.0.1:5,10.0.0.1:6", ""},
		{"*", "num.io.threads=100", threads + "num.io.threads=100, value should not be greater than double the current value 8"},
		{"1", "num.io.threads=1", threads + "num.io.threads=1, value should be at least half the current value 8"},
		{"1", "num.network.threads=4", ""},
		{"*", "num.replica.fetchers=2", ""},
		{"*", "remote.log.reader.threads=4", threads + "remote.log.reader.threads=4, value should be at least half the current value 10"},
		{"1", "remote.log.manager.copier.thread.pool.size=21", threads + "remote.log.manager.copier.thread.pool.size=21, value should not be greater than double the current value 10"},
		{"1", "remote.log.manager.expiration.thread.pool.size=20", ""},
		{"1", "remote.log.manager.follower.thread.pool.size=5", threads + "remote.log.manager.follower.thread.pool.size=5, value should not be greater than double the current value 2"},
		{"1", "log.cleanup.policy=delete,delete", "!Configuration 'log.cleanup.policy' values must not be duplicated."},
		{"*", "log.cleanup.policy=foo", "!Invalid value foo for configuration log.cleanup.policy: String must be one of: compact, delete"},
		{"*", "unclean.leader.election.enable=maybe", "!Invalid value maybe for configuration unclean.leader.election.enable: Expected value to be either true or false"},
		{"*", "leader.replication.throttled.rate=-1", "!Invalid value -1 for configuration leader.replication.throttled.rate: Value must be at least 0"},
		{"1", "leader.replication.throttled.rate=1000", ""},
		{"*", "log.roll.ms=0", "!log.roll.ms must be greater than or equal to 1"},
		{"*", "log.roll.jitter.ms=-1", "!log.roll.jitter.ms must be greater than or equal to 0"},
		{"*", "log.cleaner.dedupe.buffer.size=1", "!log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."},
		{"*", "log.local.retention.ms=700000000", "!Invalid value 700000000 for configuration log.local.retention.ms: Value must not be more than log.retention.ms property value: 60000000"},
		{"*", "log.remote.copy.lag.ms=60000000", ""},
		{"*", "log.remote.copy.lag.ms=60000001", "!Invalid value 60000001 for configuration log.remote.copy.lag.ms: Value must not exceed log.local.retention.ms (effective value: 60000000)"},
		{"1", "log.local.retention.ms=10 log.remote.copy.lag.ms=11", "!Invalid value 11 for configuration log.remote.copy.lag.ms: Value must not exceed log.local.retention.ms (effective value: 10)"},
		{"1", "log.retention.bytes=10 log.remote.copy.lag.bytes=11", "!Invalid value 11 for configuration log.remote.copy.lag.bytes: Value must not exceed log.local.retention.bytes (effective value: 10)"},
		{"1", "log.remote.copy.lag.bytes=11", ""},
		{"*", "group.consumer.assignment.interval.ms=20000", "!group.consumer.assignment.interval.ms must be less than or equal to group.consumer.max.assignment.interval.ms"},
		{"*", "transaction.partition.verification.enable=false", ""},
		// Kafka applies these to its listeners; we have nothing to apply them to.
		{"1", "metric.reporters=org.example.Reporter", "!Cannot update these configs dynamically: [metric.reporters]"},
		{"1", "listeners=PLAINTEXT://127.0.0.1:1", "!Cannot update these configs dynamically: [listeners]"},
		{"1", "sasl.jaas.config=x", "!This broker has PLAINTEXT listeners only and cannot apply these security configs: [sasl.jaas.config]"},
		{"1", "listener.name.plaintext.ssl.keystore.location=/x", "!This broker has PLAINTEXT listeners only and cannot apply these security configs: [listener.name.plaintext.ssl.keystore.location]"},
		{"*", "ringmain.durability=page-cache", "!Cannot update these configs dynamically: [ringmain.durability]"},
		{"*", "ringmain.nothing=1", "!Unknown broker config name: ringmain.nothing"},
	} {
		next := settings(c.set)
		checkError(t, c.where+" "+c.set, l.ValidateBroker(next, c.where == "*", sortedNames(next)), c.want)
	}
}

func TestThreadsAreComparedWithWhatHolds(t *testing.T) {
	l := Layers{Cluster: map[string]string{"num.io.threads": "16"}}
	next := map[string]string{"num.io.threads": "32"}
	checkError(t, "double of the dynamic value", l.ValidateBroker(next, true, []string{"num.io.threads"}), "")
	// A value that is there already is not a change.
	checkError(t, "not set by the request", Layers{}.ValidateBroker(map[string]string{"num.io.threads": "64"}, true, nil), "")
}

func TestValidateGroup(t *testing.T) {
	const reset = "Invalid value %s for configuration share.auto.offset.reset: Invalid value `%s` for configuration share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
	bad := func(v string) string { return strings.ReplaceAll(reset, "%s", v) }
	for _, c := range [][2]string{
		{"consumer.session.timeout.ms=1000", "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
		{"consumer.session.timeout.ms=abc", "Invalid value abc for configuration consumer.session.timeout.ms: Not a number of type INT"},
		{"consumer.session.timeout.ms=50000", ""},
		{"consumer.heartbeat.interval.ms=0", "Invalid value 0 for configuration consumer.heartbeat.interval.ms: Value must be at least 1"},
		{"consumer.heartbeat.interval.ms=20000", "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive."},
		{"consumer.assignment.interval.ms=20000", "consumer.assignment.interval.ms must be in the range 0 to 15000 inclusive."},
		{"share.record.lock.duration.ms=500", "Invalid value 500 for configuration share.record.lock.duration.ms: Value must be at least 1000"},
		{"share.record.lock.duration.ms=10000", "share.record.lock.duration.ms must be in the range 15000 to 60000 inclusive."},
		{"share.delivery.count.limit=11", "share.delivery.count.limit must be in the range 2 to 10 inclusive."},
		{"share.partition.max.record.locks=5000", "share.partition.max.record.locks must be in the range 100 to 4000 inclusive."},
		{"share.auto.offset.reset=foo", bad("foo")},
		{"share.auto.offset.reset=LATEST", bad("LATEST")},
		{"share.auto.offset.reset=by_duration:-PT1H", bad("by_duration:-PT1H")},
		{"share.auto.offset.reset=by_duration:", bad("by_duration:")},
		{"share.auto.offset.reset=by_duration:PT", bad("by_duration:PT")},
		{"share.auto.offset.reset=by_duration:P1DT", bad("by_duration:P1DT")},
		{"share.auto.offset.reset=by_duration:PT-0.5S", bad("by_duration:PT-0.5S")},
		{"share.auto.offset.reset=by_duration:P99999999999999999D", bad("by_duration:P99999999999999999D")},
		{"share.auto.offset.reset=by_duration:PT1H", ""},
		{"share.auto.offset.reset=by_duration:P1DT-1H", ""},
		{"share.auto.offset.reset=by_duration:-PT-1H", ""},
		{"share.auto.offset.reset=by_duration:PT1M-0.5S", ""},
		{"share.auto.offset.reset=by_duration:PT+1H", ""},
		{"share.auto.offset.reset=by_duration:P2DT1H3M4.5S", ""},
		{"share.isolation.level=READ_COMMITTED", "Invalid value READ_COMMITTED for configuration share.isolation.level: String must be one of: read_committed, read_uncommitted"},
		{"streams.num.standby.replicas=3", "streams.num.standby.replicas must be less than or equal to 2"},
		{"streams.num.standby.replicas=2", ""},
		{"streams.num.warmup.replicas=21", "streams.num.warmup.replicas must be less than or equal to 20"},
		{"streams.task.offset.interval.ms=1", "streams.task.offset.interval.ms must be greater than or equal to 15000"},
		{"streams.assignor.name=foo", "streams.assignor.name 'foo' is not a registered task assignor. Registered assignors are: [sticky]."},
		{"streams.assignor.name= foo ", "streams.assignor.name 'foo' is not a registered task assignor. Registered assignors are: [sticky]."},
		{"streams.assignor.name=sticky", ""},
		{"streams.rack.aware.assignment.tags=a,b", ""},
		{"streams.rack.aware.assignment.tags=", ""},
		{"streams.rack.aware.assignment.tags=a, a", "streams.rack.aware.assignment.tags must not contain duplicate tag keys."},
		{"errors.deadletterqueue.topic.name=__x", "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'"},
		{"errors.deadletterqueue.topic.name=foo", ""},
		{"consumer.assignor.offload.enable=false", ""},
		{"foo=1", "Unknown group config name: foo"},
	} {
		checkError(t, c[0], Layers{}.ValidateGroup(settings(c[0])), c[1])
	}
}

func TestGroupBoundsAreTheBrokers(t *testing.T) {
	l := Layers{Server: mustLoad(t, pairs("group.consumer.min.session.timeout.ms=10", "group.consumer.max.session.timeout.ms=90000",
		"group.consumer.min.heartbeat.interval.ms=10", "group.consumer.max.heartbeat.interval.ms=50000"))}
	checkError(t, "within", l.ValidateGroup(settings("consumer.session.timeout.ms=6000 consumer.heartbeat.interval.ms=20")), "")
	checkError(t, "beyond", l.ValidateGroup(settings("consumer.session.timeout.ms=5")), "consumer.session.timeout.ms must be in the range 10 to 90000 inclusive.")
	checkError(t, "session not above heartbeat", l.ValidateGroup(settings("consumer.session.timeout.ms=4000")),
		"consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms")
}

func TestValidateClientMetrics(t *testing.T) {
	for _, c := range [][2]string{
		{"metrics=a.b,c", ""}, {"metrics=*", ""},
		{"interval.ms=10", "!Invalid value 10 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
		{"interval.ms=3600001", "!Invalid value 3600001 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
		{"interval.ms=x", "Invalid value x for configuration interval.ms: Not a number of type INT"},
		{"match=foo", "Illegal client matching pattern: foo"},
		// Of several mistakes: unknown keys, then what is no value, then what is out of bounds.
		{"zzz=1 interval.ms=x", "!Unknown client metrics configuration: zzz"},
		{"interval.ms=1 metrics=,", "Configuration 'metrics' values must not be empty."},
		{"match=foo interval.ms=1", "!Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
		{"foo=1", "!Unknown client metrics configuration: foo"},
	} {
		checkError(t, c[0], ValidateClientMetrics(settings(c[0])), c[1])
	}
	for pattern, want := range map[string]string{
		"client_id=.*": "", "client_id=a,client_software_name=b.*": "", "client_id": "Illegal client matching pattern: client_id",
		"client_id=": "Illegal client matching pattern: client_id=", "client_id=a=b": "Illegal client matching pattern: client_id=a=b",
		"foo=.*": "Illegal client matching pattern: foo=.*", "client_id=[": "Illegal client matching pattern: client_id=[",
	} {
		checkError(t, pattern, ValidateClientMetrics(map[string]string{"match": pattern}), want)
	}
}

func TestApply(t *testing.T) {
	holds := Layers{}.TopicHolds
	for _, c := range []struct {
		kind    Kind
		current string
		change  Change
		want    string // settings, or the message of an error
	}{
		{KindTopic, "", Change{Key: "retention.ms", Value: "5"}, "retention.ms=5"},
		{KindTopic, "retention.ms=5", Change{Key: "retention.ms", Op: OpDelete, Null: true}, ""},
		{KindTopic, "", Change{Key: "nobody.knows", Op: OpDelete}, ""},
		{KindTopic, "", Change{Key: "retention.ms", Null: true}, "!Null value not supported for : retention.ms"},
		{KindTopic, "", Change{Key: "retention.ms", Op: OpAppend, Value: "5"}, "Can't APPEND to key retention.ms because its type is not LIST."},
		{KindTopic, "", Change{Key: "retention.ms", Op: OpSubtract, Value: "5"}, "Can't SUBTRACT to key retention.ms because its type is not LIST."},
		{KindTopic, "", Change{Key: "foo", Op: OpAppend, Value: "5"}, "Can't APPEND to key foo because its type is not LIST."},
		{KindGroup, "", Change{Key: "streams.rack.aware.assignment.tags", Op: OpAppend, Value: "a"}, "Can't APPEND to key streams.rack.aware.assignment.tags because its type is not LIST."},
		{KindTopic, "", Change{Key: "cleanup.policy", Op: OpAppend, Value: "compact"}, "cleanup.policy=delete,compact"},
		{KindTopic, "cleanup.policy=delete,compact", Change{Key: "cleanup.policy", Op: OpAppend, Value: "compact"}, "cleanup.policy=delete,compact"},
		{KindTopic, "cleanup.policy=delete,compact", Change{Key: "cleanup.policy", Op: OpSubtract, Value: "delete"}, "cleanup.policy=compact"},
		{KindTopic, "", Change{Key: "cleanup.policy", Op: OpSubtract, Value: "delete"}, "cleanup.policy="},
		{KindTopic, "", Change{Key: "cleanup.policy", Op: OpSubtract, Value: "compact"}, "cleanup.policy=delete"},
		{KindTopic, "", Change{Key: "cleanup.policy", Op: OpAppend, Value: "compact,,"}, "cleanup.policy=delete,compact"},
		{KindTopic, "", Change{Key: "cleanup.policy", Op: OpAppend, Value: ",compact"}, "cleanup.policy=delete,,compact"}, // for validation to refuse
		{KindTopic, "", Change{Key: "cleanup.policy", Op: OpAppend, Value: ""}, "cleanup.policy=delete,"},
		{KindTopic, "", Change{Key: "cleanup.policy", Op: OpSubtract, Value: ",delete,"}, "cleanup.policy="},
		{KindTopic, "leader.replication.throttled.replicas=0:1,,0:1", Change{Key: "leader.replication.throttled.replicas", Op: OpSubtract, Value: "0:1"}, "leader.replication.throttled.replicas=0:1"},
		{KindTopic, "", Change{Key: "leader.replication.throttled.replicas", Op: OpAppend, Value: "0:1, 1:1"}, "leader.replication.throttled.replicas=0:1,1:1"},
		{KindBroker, "log.cleanup.policy=delete", Change{Key: "log.cleanup.policy", Op: OpAppend, Value: "compact"}, "log.cleanup.policy=delete,compact"},
		{KindTopic, "", Change{Key: "message.format.version", Value: "2.0"}, ""},
		{KindTopic, "", Change{Key: "retention.ms", Op: 9, Value: "1"}, "!Unknown operation for configuration retention.ms."},
	} {
		current := settings(c.current)
		if c.current == "" {
			current = nil
		}
		next, err := Apply(c.kind, current, holds, []Change{c.change})
		if err != nil {
			checkError(t, c.change.Key, err, c.want)
			continue
		}
		want := settings(c.want)
		if c.want == "" {
			want = map[string]string{}
		}
		if !maps.Equal(next, want) {
			t.Errorf("%+v on %q: %v, want %v", c.change, c.current, next, want)
		}
	}
	_, err := Apply(KindTopic, nil, nil, []Change{{Key: "retention.ms", Value: "1"}, {Key: "retention.ms", Op: OpDelete}})
	checkError(t, "one key twice", err, "!Error due to duplicate config keys")
	_, err = Apply(KindBroker, nil, nil, []Change{{Key: "a", Null: true}, {Key: "b", Op: OpAppend, Null: true}})
	checkError(t, "two nulls", err, "!Null value not supported for : a, b")
}

func TestApplyLeavesItsInputAlone(t *testing.T) {
	current := map[string]string{"retention.ms": "1", "cleanup.policy": "delete"}
	if _, err := Apply(KindTopic, current, nil, []Change{{Key: "retention.ms", Op: OpDelete}, {Key: "cleanup.policy", Op: OpAppend, Value: "compact"}}); err != nil {
		t.Fatal(err)
	}
	if len(current) != 2 || current["cleanup.policy"] != "delete" {
		t.Errorf("current is %v now", current)
	}
	changes := []Change{{Key: "message.format.version", Value: "1"}, {Key: "retention.ms", Value: "2"}}
	if kept, err := Apply(KindTopic, nil, nil, changes); err != nil || !maps.Equal(kept, map[string]string{"retention.ms": "2"}) {
		t.Errorf("kept %v, error %v", kept, err)
	}
}

func TestOnlySpacesAndControlCharactersAreTrimmed(t *testing.T) {
	for text, taken := range map[string]bool{" 7\t": true, "\r\n7\x01": true, "\u00a07": false, "7\u2003": false, "\u30007": false} {
		if err := ValidateTopic(map[string]string{"segment.ms": text}); (err == nil) != taken {
			t.Errorf("%q: %v", text, err)
		}
	}
}
