"""confluent-kafka (librdkafka): admin, idempotent produce with every codec, read by assignment."""
import sys
import time

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition, OFFSET_BEGINNING
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic,
                                   OffsetSpec)

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
with report.check("delete topics"):
    result(admin.delete_topics([name, t]))
    smoke.wait_for("the topics are gone", lambda: name not in admin.list_topics(timeout=10).topics)
report.end()
