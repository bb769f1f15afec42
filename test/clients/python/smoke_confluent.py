"""confluent-kafka (librdkafka): admin, idempotent produce with every codec, read by assignment."""
import sys
import time

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition, OFFSET_BEGINNING
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic,
                                   OffsetSpec)

import groups
import smoke

broker = sys.argv[1]
report = smoke.Report()
admin = AdminClient({"bootstrap.servers": broker})


def result(futures):
    return [f.result(30) for f in futures.values()]


def consumer():
    return Consumer({"bootstrap.servers": broker, "group.id": "unused", "enable.auto.commit": False,
                     "enable.partition.eof": True, "check.crcs": True})


def read(c, topic, partitions, offset=OFFSET_BEGINNING):
    c.assign([TopicPartition(topic, p, offset) for p in partitions])
    got, left = {p: [] for p in partitions}, set(partitions)
    end = time.monotonic() + 30
    while left and time.monotonic() < end:
        m = c.poll(1)
        if m is None:
            continue
        if m.error():
            assert m.error().code() == KafkaError._PARTITION_EOF, m.error()
            left.discard(m.partition())
        else:
            got[m.partition()].append((m.offset(), m.key(), m.value(), m.headers()))
    assert not left, "the end was not reached"
    return got


with report.check("create and describe a topic"):
    name = smoke.topic("confluent", "admin")
    result(admin.create_topics([NewTopic(name, 2, 1, config={"retention.ms": "3600000"})]))
    smoke.wait_for("the topic", lambda: len(admin.list_topics(name, timeout=10).topics[name].partitions) == 2)
    entries = result(admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, name)]))[0]
    assert entries["retention.ms"].value == "3600000" and entries["segment.bytes"].value == "1073741824", entries
with report.check("alter a setting"):
    result(admin.incremental_alter_configs([ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=[
        ConfigEntry("retention.ms", "7200000", incremental_operation=AlterConfigOpType.SET)])]))
    smoke.wait_for("the setting", lambda: result(admin.describe_configs(
        [ConfigResource(ConfigResource.Type.TOPIC, name)]))[0]["retention.ms"].value == "7200000")
with report.check("add partitions"):
    result(admin.create_partitions([NewPartitions(name, 4)]))
    smoke.wait_for("four partitions", lambda: len(admin.list_topics(name, timeout=10).topics[name].partitions) == 4)
with report.check("describe the cluster"):
    d = admin.describe_cluster().result(30)
    assert d.cluster_id and len(d.nodes) >= 1, d

for codec in smoke.CODECS:
    with report.check(f"produce and read, {codec}"):
        t = smoke.topic("confluent", codec)
        result(admin.create_topics([NewTopic(t, 2, 1)]))
        producer = Producer({"bootstrap.servers": broker, "enable.idempotence": True, "compression.type": codec, "linger.ms": 20})
        failures = []
        for key, value, headers, p in smoke.records(codec):
            producer.produce(t, key=key, value=value, headers=headers, partition=p,
                             on_delivery=lambda err, m: failures.append(err) if err else None)
        assert producer.flush(30) == 0 and not failures, failures[:1]
        c = consumer()
        smoke.compare(read(c, t, [0, 1]), codec)
        assert c.get_watermark_offsets(TopicPartition(t, 0), timeout=10) == (0, 500)
        middle = read(c, t, [0], 123)[0]
        assert middle[0][0] == 123 and len(middle) == 377, middle[:1]
        c.close()

with report.check("read by time"):
    t = smoke.topic("confluent", "time")
    result(admin.create_topics([NewTopic(t, 1, 1)]))
    producer = Producer({"bootstrap.servers": broker})
    for i in range(100):
        producer.produce(t, value=str(i), partition=0, timestamp=1_700_000_000_000 + 1000 * i)
    producer.flush(30)
    c = consumer()
    at = c.offsets_for_times([TopicPartition(t, 0, 1_700_000_000_000 + 41_500)], timeout=10)[0]
    assert at.offset == 42, at
    c.close()
    offsets = result(admin.list_offsets({TopicPartition(t, 0): OffsetSpec.max_timestamp()}))
    assert offsets[0].offset == 99, offsets
with report.check("delete records"):
    result(admin.delete_records([TopicPartition(t, 0, 30)]))
    assert result(admin.list_offsets({TopicPartition(t, 0): OffsetSpec.earliest()}))[0].offset == 30


class Member(groups.Threaded):
    def __init__(self, **how):
        super().__init__()
        self.how, self.has = how, set()

    def open(self, group, topic):
        config = {"bootstrap.servers": broker, "group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest",
                  "enable.auto.offset.store": False, **self.how}
        if self.how.get("group.protocol") != "consumer":
            config |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200}
        self.c = Consumer(config)
        self.c.subscribe([topic], on_assign=self.on_assign, on_revoke=self.on_revoke)

    def on_assign(self, c, partitions):
        self.has |= {p.partition for p in partitions}

    def on_revoke(self, c, partitions):
        self.has -= {p.partition for p in partitions}

    def assigned(self):
        return self.has

    def poll(self):
        got = []
        m = self.c.poll(0.05)
        if m is not None:
            assert not m.error(), m.error()
            got.append((m.partition(), m.offset()))
            self.c.commit(offsets=[TopicPartition(m.topic(), m.partition(), m.offset() + 1, f"note {m.offset()}")], asynchronous=False)
        return got

    def close(self):
        self.c.close()


def group_topic():
    t = smoke.topic("confluent", "group")
    result(admin.create_topics([NewTopic(t, groups.PARTITIONS, 1)]))
    smoke.wait_for("the topic", lambda: len(admin.list_topics(t, timeout=10).topics[t].partitions) == groups.PARTITIONS)
    return t


def fill(topic, count):
    p = Producer({"bootstrap.servers": broker})
    for partition in range(groups.PARTITIONS):
        for i in range(count):
            p.produce(topic, value=str(i), partition=partition)
    assert p.flush(30) == 0


for how in [{"partition.assignment.strategy": "range"}, {"partition.assignment.strategy": "roundrobin"},
            {"partition.assignment.strategy": "cooperative-sticky"}, {"group.protocol": "consumer"},
            {"group.protocol": "consumer", "group.remote.assignor": "range"}]:
    with report.check("group, " + ", ".join(how.values())):
        group = smoke.topic("confluent", "members")
        t = group_topic()
        groups.Course(t, group, fill, lambda: Member(**how)).run()
        kept = result(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [TopicPartition(t, 2)])]))[0].topic_partitions[0]
        assert (kept.offset, kept.metadata) == (220, "note 219"), kept
with report.check("administer a group"):
    group, t = smoke.topic("confluent", "admin"), group_topic()
    told = result(admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [TopicPartition(t, p, 10 * p) for p in range(3)])]))[0]
    assert all(p.error is None for p in told.topic_partitions), told.topic_partitions
    offsets = result(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))[0].topic_partitions
    assert sorted((p.partition, p.offset) for p in offsets) == [(0, 0), (1, 10), (2, 20)], offsets
    d = result(admin.describe_consumer_groups([group]))[0]
    assert d.state.name == "EMPTY" and d.is_simple_consumer_group and not d.members, d
    assert group in [g.group_id for g in admin.list_consumer_groups().result(30).valid]
    result(admin.delete_consumer_groups([group]))
    assert group not in [g.group_id for g in admin.list_consumer_groups().result(30).valid]
    try:
        result(admin.delete_consumer_groups([group]))
        raise AssertionError("a deleted group was deleted again")
    except KafkaException as e:
        assert e.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND, e
with report.check("transactions begin or are refused"):
    p = Producer({"bootstrap.servers": broker, "transactional.id": smoke.topic("confluent", "txn")})
    try:
        p.init_transactions(20)
    except KafkaException as e:
        assert e.args[0].code() != KafkaError._TIMED_OUT, e
        print("refused:", e)
with report.check("delete topics"):
    result(admin.delete_topics([name, t]))
    smoke.wait_for("the topics are gone", lambda: name not in admin.list_topics(timeout=10).topics)
report.end()
