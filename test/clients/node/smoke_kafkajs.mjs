// kafkajs: administration and idempotent produce. It reads only through groups, so what it wrote is counted by offsets.
import assert from 'node:assert'
import kafkajs from 'kafkajs'
import SnappyCodec from 'kafkajs-snappy'
import LZ4 from 'kafkajs-lz4'
import { check, finish, records, topic, until } from './smoke.mjs'

const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel } = kafkajs
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
await check('delete topics', async () => {
  await admin.deleteTopics({ topics: [name] })
  await until('the topic is gone', async () => !(await admin.listTopics()).includes(name))
})
await admin.disconnect()
finish()
