"""aiokafka: admin, idempotent produce with every codec, read by assignment."""
import asyncio
import sys
import threading

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.admin.records_to_delete import RecordsToDelete

import groups
import smoke

broker = sys.argv[1]
report = smoke.Report()


async def until(what, check, seconds=20):
    for _ in range(seconds * 20):
        if await check():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"not seen within {seconds} s: {what}")


async def read(consumer, topic, ends):
    tps = [TopicPartition(topic, p) for p in ends]
    consumer.assign(tps)
    await consumer.seek_to_beginning(*tps)
    got = {p: [] for p in ends}

    async def poll():
        for tp, batch in (await consumer.getmany(timeout_ms=500)).items():
            got[tp.partition] += [(m.offset, m.key, m.value, m.headers) for m in batch]
        return all(len(got[p]) >= n for p, n in ends.items())
    await until("the end", poll, 30)
    return got


class Member(ConsumerRebalanceListener):
    """A member of a group, in a loop and a thread of its own."""

    def __init__(self, assignor):
        self.assignor, self.read, self.stopped, self.has, self.error = assignor, [], False, set(), None

    def start(self, group, topic):
        self.thread = threading.Thread(target=lambda: asyncio.run(self.run(group, topic)), daemon=True)
        self.thread.start()

    async def run(self, group, topic):
        try:
            self.busy = asyncio.Lock()
            c = AIOKafkaConsumer(bootstrap_servers=broker, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest",
                                 partition_assignment_strategy=[self.assignor], session_timeout_ms=6000, heartbeat_interval_ms=200)
            c.subscribe([topic], listener=self)
            await c.start()
            while not self.stopped:
                # The client rebalances in the background: not between a record and its commit.
                async with self.busy:
                    kept = {}
                    for tp, batch in (await c.getmany(timeout_ms=0, max_records=10)).items():
                        self.read += [(tp.partition, m.offset) for m in batch]
                        kept[tp] = (batch[-1].offset + 1, f"note {batch[-1].offset}")
                    if kept:
                        await c.commit(kept)
                await asyncio.sleep(0.005)
            await c.stop()
        except Exception as e:
            self.error = e

    async def on_partitions_revoked(self, revoked):
        async with self.busy:
            self.has = set()

    async def on_partitions_assigned(self, assigned):
        self.has = {tp.partition for tp in assigned}

    def assigned(self):
        return self.has

    def stop(self):
        self.stopped = True
        self.thread.join(30)
        assert not self.thread.is_alive(), "a member does not end"
        if self.error:
            raise self.error


async def fill(topic, count):
    producer = AIOKafkaProducer(bootstrap_servers=broker)
    await producer.start()
    sent = [await producer.send(topic, value=str(i).encode(), partition=p) for p in range(groups.PARTITIONS) for i in range(count)]
    await asyncio.gather(*sent)
    await producer.stop()


async def main():
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()

    async def make(name, partitions, configs=None):
        answer = await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=configs or {})])
        assert all(t[1] == 0 for t in answer.topic_errors), answer

        async def led():
            d = await admin.describe_topics([name])
            return len(d[0]["partitions"]) == partitions and all(p["leader"] >= 0 for p in d[0]["partitions"])
        await until("the topic", led)

    async def retention(name):
        text = str(await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs={"retention.ms": None})]))
        return next(v for v in ("3600000", "7200000", "604800000") if v in text)

    with report.check("create and describe a topic"):
        name = smoke.topic("aiokafka", "admin")
        await make(name, 2, {"retention.ms": "3600000"})
        assert await retention(name) == "3600000"
    with report.check("alter a setting"):
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs={"retention.ms": "7200000"})])

        async def altered():
            return await retention(name) == "7200000"
        await until("the setting", altered)
    with report.check("add partitions"):
        await admin.create_partitions({name: NewPartitions(4)})

        async def four():
            return len((await admin.describe_topics([name]))[0]["partitions"]) == 4
        await until("four partitions", four)

    for codec in smoke.CODECS:
        with report.check(f"produce and read, {codec}"):
            t = smoke.topic("aiokafka", codec)
            await make(t, 2)
            producer = AIOKafkaProducer(bootstrap_servers=broker, compression_type=None if codec == "none" else codec,
                                        enable_idempotence=True, linger_ms=20)
            await producer.start()
            sent = [await producer.send(t, key=k, value=v, headers=h, partition=p) for k, v, h, p in smoke.records(codec)]
            await asyncio.gather(*sent)
            await producer.stop()
            c = AIOKafkaConsumer(bootstrap_servers=broker, enable_auto_commit=False, check_crcs=True)
            await c.start()
            smoke.compare(await read(c, t, {0: 500, 1: 500}), codec)
            await c.stop()

    with report.check("read by time"):
        t = smoke.topic("aiokafka", "time")
        await make(t, 1)
        producer = AIOKafkaProducer(bootstrap_servers=broker)
        await producer.start()
        for i in range(100):
            await producer.send(t, value=str(i).encode(), partition=0, timestamp_ms=1_700_000_000_000 + 1000 * i)
        await producer.stop()
        c = AIOKafkaConsumer(bootstrap_servers=broker, enable_auto_commit=False)
        await c.start()
        tp = TopicPartition(t, 0)
        found = (await c.offsets_for_times({tp: 1_700_000_000_000 + 41_500}))[tp]
        assert (found.offset, found.timestamp) == (42, 1_700_000_042_000), found
        await c.stop()
    with report.check("delete records"):
        await admin.delete_records({tp: RecordsToDelete(before_offset=30)})
        c = AIOKafkaConsumer(bootstrap_servers=broker, enable_auto_commit=False)
        await c.start()
        assert (await c.beginning_offsets([tp]))[tp] == 30
        await c.stop()
    for assignor in (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor):
        with report.check(f"group, {assignor.name}"):
            g, group = smoke.topic("aiokafka", "group"), smoke.topic("aiokafka", "members")
            await make(g, groups.PARTITIONS)
            course = groups.Course(g, group, lambda topic, count: asyncio.run(fill(topic, count)), lambda: Member(assignor))
            await asyncio.get_running_loop().run_in_executor(None, course.run)
            kept = (await admin.list_consumer_group_offsets(group))[TopicPartition(g, 2)]
            assert (kept.offset, kept.metadata) == (220, "note 219"), kept
            described = str(await admin.describe_consumer_groups([group]))
            assert "Empty" in described, described
            assert group in [x[0] for x in await admin.list_consumer_groups()]
    with report.check("delete topics"):
        await admin.delete_topics([name, t])

        async def gone():
            return not {name, t} & set(await admin.list_topics())
        await until("the topics are gone", gone)
    await admin.close()

asyncio.run(main())
report.end()
