// kafkajs: administration, idempotent produce (counted by offsets), a group.
import assert from 'node:assert'
import kafkajs from 'kafkajs'
import SnappyCodec from 'kafkajs-snappy'
import LZ4 from 'kafkajs-lz4'
import * as group from './group.mjs'
import { check, finish, records, topic, until } from './smoke.mjs'

const { Kafka, PartitionAssigners, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel } = kafkajs
CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec
CompressionCodecs[CompressionTypes.LZ4] = new LZ4().codec

const kafka = new Kafka({ clientId: 'smoke', brokers: [process.argv[2]], logLevel: logLevel.ERROR })
const admin = kafka.admin()
await admin.connect()
const name = topic('kafkajs', 'admin')

const retention = async () => {
  const described = await admin.describeConfigs({ resources: [{ type: ConfigResourceTypes.TOPIC, name, configNames: ['retention.ms'] }] })
  return described.resources[0].configEntries[0].configValue
}

await check('create and describe a topic', async () => {
  assert.equal(await admin.createTopics({ waitForLeaders: true, topics: [{ topic: name, numPartitions: 2, replicationFactor: 1, configEntries: [{ name: 'retention.ms', value: '3600000' }] }] }), true)
  const { topics } = await admin.fetchTopicMetadata({ topics: [name] })
  assert.equal(topics[0].partitions.length, 2)
  assert.equal(await retention(), '3600000')
})
await check('alter a setting', async () => {
  await admin.alterConfigs({ resources: [{ type: ConfigResourceTypes.TOPIC, name, configEntries: [{ name: 'retention.ms', value: '7200000' }] }] })
  await until('the setting', async () => await retention() === '7200000')
})
await check('add partitions', async () => {
  await admin.createPartitions({ topicPartitions: [{ topic: name, count: 4 }] })
  await until('four partitions', async () => (await admin.fetchTopicMetadata({ topics: [name] })).topics[0].partitions.length === 4)
})
await check('describe the cluster', async () => {
  const cluster = await admin.describeCluster()
  assert.ok(cluster.clusterId && cluster.brokers.length >= 1)
})

const codecs = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4 }
for (const [codec, compression] of Object.entries(codecs)) {
  await check(`produce, ${codec}`, async () => {
    const t = topic('kafkajs', codec)
    await admin.createTopics({ waitForLeaders: true, topics: [{ topic: t, numPartitions: 2, replicationFactor: 1 }] })
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    const all = records(codec)
    for (let i = 0; i < all.length; i += 100) await producer.send({ topic: t, acks: -1, compression, messages: all.slice(i, i + 100) })
    await producer.disconnect()
    const offsets = await admin.fetchTopicOffsets(t)
    assert.deepEqual(offsets.map(o => [o.partition, o.high]).sort(), [[0, '500'], [1, '500']])
  })
}

await check('offset of a time, delete records', async () => {
  const t = topic('kafkajs', 'time')
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic: t, numPartitions: 1, replicationFactor: 1 }] })
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: t, messages: Array.from({ length: 100 }, (_, i) => ({ value: `${i}`, timestamp: `${1_700_000_000_000 + 1000 * i}` })) })
  await producer.disconnect()
  assert.equal((await admin.fetchTopicOffsetsByTimestamp(t, 1_700_000_000_000 + 41_500))[0].offset, '42')
  await admin.deleteTopicRecords({ topic: t, partitions: [{ partition: 0, offset: '30' }] })
  assert.equal((await admin.fetchTopicOffsets(t))[0].low, '30')
})
await check('group, round robin', async () => {
  const t = topic('kafkajs', 'group'), groupId = topic('kafkajs', 'members')
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic: t, numPartitions: group.partitions, replicationFactor: 1 }] })
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const produce = count => producer.send({ topic: t, acks: -1, messages: Array.from({ length: count * group.partitions }, (_, i) => ({ value: `${i}`, partition: i % group.partitions })) })
  const member = async () => {
    const consumer = kafka.consumer({ groupId, partitionAssigners: [PartitionAssigners.roundRobin], sessionTimeout: 6000, heartbeatInterval: 200, maxWaitTimeInMs: 100, retry: { initialRetryTime: 100 } })
    const m = { read: new Set(), has: [], assigned: () => m.has, stop: () => consumer.disconnect() }
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => { m.has = payload.memberAssignment[t] ?? [] })
    await consumer.connect()
    await consumer.subscribe({ topics: [t], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        m.read.add(`${partition}/${message.offset}`)
        await consumer.commitOffsets([{ topic: t, partition, offset: `${BigInt(message.offset) + 1n}`, metadata: 'note' }])
      },
    })
    return m
  }
  await group.course(produce, member)
  await producer.disconnect()
  const [kept] = await admin.fetchOffsets({ groupId, topics: [t] })
  assert.deepEqual(kept.partitions.map(p => [p.offset, p.metadata]), Array(group.partitions).fill([`${group.records}`, 'note']))
  const described = await admin.describeGroups([groupId])
  assert.equal(described.groups[0].state, 'Empty')
  assert.ok((await admin.listGroups()).groups.some(g => g.groupId === groupId))
  await admin.setOffsets({ groupId, topic: t, partitions: [{ partition: 1, offset: '7' }] })
  assert.equal((await admin.fetchOffsets({ groupId, topics: [t] }))[0].partitions.find(p => p.partition === 1).offset, '7')
  await admin.resetOffsets({ groupId, topic: t, earliest: true })
  await admin.deleteGroups([groupId])
  assert.ok(!(await admin.listGroups()).groups.some(g => g.groupId === groupId))
})
await check('delete topics', async () => {
  await admin.deleteTopics({ topics: [name] })
  await until('the topic is gone', async () => !(await admin.listTopics()).includes(name))
})
await admin.disconnect()
finish()
