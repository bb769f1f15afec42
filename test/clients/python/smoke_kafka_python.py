"""kafka-python: admin, idempotent produce with every codec, read by assignment."""
import sys

from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic

import groups
import smoke

broker = sys.argv[1]
report = smoke.Report()
admin = KafkaAdminClient(bootstrap_servers=broker)


def make(name, partitions, configs=None):
    admin.create_topics([NewTopic(name=name, num_partitions=partitions, replication_factor=1, topic_configs=configs or {})])


def retention(name):
    text = str(admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs={"retention.ms": None})]))
    return next(v for v in ("3600000", "7200000", "604800000") if v in text)


def read(consumer, topic, partitions, ends):
    got = {p: [] for p in partitions}
    tps = [TopicPartition(topic, p) for p in partitions]
    consumer.assign(tps)
    consumer.seek_to_beginning(*tps)
    smoke.wait_for("the end", lambda: _poll(consumer, got) or all(len(got[p]) >= ends[p] for p in partitions), 30)
    return got


def _poll(consumer, got):
    for tp, batch in consumer.poll(timeout_ms=500).items():
        got[tp.partition] += [(m.offset, m.key, m.value, m.headers) for m in batch]
    return False


with report.check("create and describe a topic"):
    name = smoke.topic("kafka-python", "admin")
    make(name, 2, {"retention.ms": "3600000"})
    smoke.wait_for("the setting", lambda: retention(name) == "3600000")
with report.check("alter a setting"):
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs={"retention.ms": "7200000"})])
    smoke.wait_for("the setting", lambda: retention(name) == "7200000")
with report.check("add partitions"):
    admin.create_partitions({name: NewPartitions(total_count=4)})
    smoke.wait_for("four partitions", lambda: len(admin.describe_topics([name])[0]["partitions"]) == 4)

for codec in smoke.CODECS:
    with report.check(f"produce and read, {codec}"):
        t = smoke.topic("kafka-python", codec)
        make(t, 2)
        producer = KafkaProducer(bootstrap_servers=broker, compression_type=None if codec == "none" else codec, linger_ms=20,
                                 enable_idempotence=True, acks="all")
        sent = [producer.send(t, key=k, value=v, headers=h, partition=p) for k, v, h, p in smoke.records(codec)]
        producer.flush(30)
        for f in sent:
            f.get(10)
        producer.close()
        c = KafkaConsumer(bootstrap_servers=broker, enable_auto_commit=False, group_id=None)
        smoke.compare(read(c, t, [0, 1], {0: 500, 1: 500}), codec)
        assert c.end_offsets([TopicPartition(t, 0)]) == {TopicPartition(t, 0): 500}
        c.close()

with report.check("read by time"):
    t = smoke.topic("kafka-python", "time")
    make(t, 1)
    producer = KafkaProducer(bootstrap_servers=broker)
    for i in range(100):
        producer.send(t, value=str(i).encode(), partition=0, timestamp_ms=1_700_000_000_000 + 1000 * i)
    producer.flush(30)
    producer.close()
    c = KafkaConsumer(bootstrap_servers=broker, enable_auto_commit=False, group_id=None)
    tp = TopicPartition(t, 0)
    found = c.offsets_for_times({tp: 1_700_000_000_000 + 41_500})[tp]
    assert (found.offset, found.timestamp) == (42, 1_700_000_042_000), found
    c.close()
with report.check("delete records"):
    admin.delete_records({TopicPartition(t, 0): 30})
    c = KafkaConsumer(bootstrap_servers=broker, enable_auto_commit=False, group_id=None)
    assert c.beginning_offsets([tp])[tp] == 30
    c.close()


class Member(groups.Threaded):
    def __init__(self, assignor):
        super().__init__()
        self.assignor = assignor

    def open(self, group, topic):
        self.c = KafkaConsumer(bootstrap_servers=broker, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest",
                               partition_assignment_strategy=[self.assignor], session_timeout_ms=6000, heartbeat_interval_ms=200, max_poll_records=10)
        self.has = set()
        member = self

        class Listener(ConsumerRebalanceListener):
            def on_partitions_revoked(self, revoked):
                member.has = set()

            def on_partitions_assigned(self, assigned):
                member.has = {tp.partition for tp in assigned}
        self.c.subscribe([topic], listener=Listener())

    def assigned(self):
        return self.has

    def poll(self):
        got, kept = [], {}
        # When a poll runs out of time in the middle of a join, the next one takes the join for done and never looks at
        # its share (kafka-python 3.0.12): so a poll has the time that a join takes.
        for tp, batch in self.c.poll(timeout_ms=1000).items():
            got += [(tp.partition, m.offset) for m in batch]
            kept[tp] = OffsetAndMetadata(batch[-1].offset + 1, f"note {batch[-1].offset}", -1)
        if kept:
            self.c.commit(kept)
        return got

    def close(self):
        self.c.close(autocommit=False)


def fill(topic, count):
    producer = KafkaProducer(bootstrap_servers=broker)
    for p in range(groups.PARTITIONS):
        for i in range(count):
            producer.send(topic, value=str(i).encode(), partition=p)
    producer.flush(30)
    producer.close()


for assignor in (RangePartitionAssignor, RoundRobinPartitionAssignor):
    with report.check(f"group, {assignor.name}"):
        grouped, group = smoke.topic("kafka-python", "group"), smoke.topic("kafka-python", "members")
        make(grouped, groups.PARTITIONS)
        groups.Course(grouped, group, fill, lambda: Member(assignor)).run()
        tp = TopicPartition(grouped, 2)
        c = KafkaConsumer(bootstrap_servers=broker, group_id=group, enable_auto_commit=False)
        kept = c.committed(tp, metadata=True)
        assert (kept.offset, kept.metadata) == (220, "note 219"), kept
        c.close()
with report.check("delete topics"):
    admin.delete_topics([name, t])
    smoke.wait_for("the topics are gone", lambda: name not in admin.list_topics() and t not in admin.list_topics())
admin.close()
report.end()
