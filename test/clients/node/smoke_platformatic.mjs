// @platformatic/kafka: administration, produce (counted by offsets), a group.
import './node20.mjs'
import assert from 'node:assert'
import zlib from 'node:zlib'
import { Admin, Consumer, Producer, ListOffsetTimestamps, ProduceAcks, stringSerializers } from '@platformatic/kafka'
import * as group from './group.mjs'
import { check, finish, records, topic, until } from './smoke.mjs'

const base = { clientId: 'smoke', bootstrapBrokers: [process.argv[2]], strict: true, retries: 3 }
const admin = new Admin(base)
const name = topic('platformatic', 'admin')

const retention = async () => {
  const [described] = await admin.describeConfigs({ resources: [{ resourceType: 2, resourceName: name, configurationKeys: ['retention.ms'] }] })
  return described.configs.find(c => c.name === 'retention.ms').value
}

await check('create and describe a topic', async () => {
  await admin.createTopics({ topics: [name], partitions: 2, replicas: 1, configs: [{ name: 'retention.ms', value: '3600000' }] })
  await until('the topic', async () => (await admin.metadata({ topics: [name] })).topics.get(name).partitions.length === 2)
  await until('the setting', async () => await retention() === '3600000')
})
await check('alter a setting', async () => {
  await admin.incrementalAlterConfigs({ resources: [{ resourceType: 2, resourceName: name, configs: [{ name: 'retention.ms', configOperation: 0, value: '7200000' }] }] })
  await until('the setting', async () => await retention() === '7200000')
})
await check('add partitions', async () => {
  const broker = [...(await admin.metadata({ topics: [name] })).brokers.keys()][0]
  await admin.createPartitions({ topics: [{ name, count: 4, assignments: [{ brokerIds: [broker] }, { brokerIds: [broker] }] }] })
  await until('four partitions', async () => (await admin.metadata({ topics: [name], forceUpdate: true })).topics.get(name).partitions.length === 4)
})

// The client takes zstd from Node, which has it since 22.15.
for (const compression of ['none', 'gzip', 'snappy', 'lz4', ...('zstdCompressSync' in zlib ? ['zstd'] : [])]) {
  await check(`produce, ${compression}`, async () => {
    const t = topic('platformatic', compression)
    await admin.createTopics({ topics: [t], partitions: 2, replicas: 1 })
    await until('the topic', async () => (await admin.metadata({ topics: [t] })).topics.get(t)?.partitions.length === 2)
    const producer = new Producer({ ...base, serializers: stringSerializers, idempotent: true, acks: ProduceAcks.ALL })
    const all = records(compression)
    for (let i = 0; i < all.length; i += 100) {
      await producer.send({ compression, messages: all.slice(i, i + 100).map(m => ({ topic: t, ...m })) })
    }
    await producer.close()
    const offsets = await admin.listOffsets({ topics: [{ name: t, partitions: [0, 1].map(p => ({ partitionIndex: p, timestamp: ListOffsetTimestamps.LATEST })) }] })
    assert.deepEqual(offsets[0].partitions.map(p => p.offset), [500n, 500n])
  })
}
for (const how of [{ groupProtocol: 'classic', sessionTimeout: 6000, heartbeatInterval: 200 }, { groupProtocol: 'consumer', groupRemoteAssignor: 'uniform' }]) {
  await check(`group, ${how.groupProtocol} protocol`, async () => {
    const t = topic('platformatic', 'group'), groupId = topic('platformatic', 'members')
    await admin.createTopics({ topics: [t], partitions: group.partitions, replicas: 1 })
    await until('the topic', async () => (await admin.metadata({ topics: [t], forceUpdate: true })).topics.get(t)?.partitions.length === group.partitions)
    const producer = new Producer({ ...base, serializers: stringSerializers, idempotent: true, acks: ProduceAcks.ALL })
    const produce = count => producer.send({ messages: Array.from({ length: count * group.partitions }, (_, i) => ({ topic: t, value: `${i}`, partition: i % group.partitions })) })
    const member = async () => {
      const consumer = new Consumer({ ...base, groupId, ...how, maxWaitTime: 100, autocommit: false })
      const stream = await consumer.consume({ topics: [t], mode: 'committed', fallbackMode: 'earliest' })
      const m = { read: new Set(), assigned: () => consumer.assignments?.find(a => a.topic === t)?.partitions ?? [] }
      stream.on('error', error => { if (!m.left) console.error(error) })
      const reading = (async () => {
        for await (const message of stream) {
          m.read.add(`${message.partition}/${message.offset}`)
          await message.commit()
        }
      })().catch(error => { if (!m.left) throw error })
      m.stop = async () => { await stream.close(); await reading; await consumer.close() }
      return m
    }
    await group.course(produce, member)
    await producer.close()
    const [kept] = await admin.listConsumerGroupOffsets({ groups: [groupId] })
    assert.deepEqual(kept.topics[0].partitions.map(p => p.committedOffset), Array(group.partitions).fill(BigInt(group.records)))
    assert.ok((await admin.listGroups({ types: [how.groupProtocol] })).has(groupId))
    await admin.deleteGroups({ groups: [groupId] })
    assert.ok(!(await admin.listGroups({ types: [how.groupProtocol] })).has(groupId))
  })
}
await check('delete topics', async () => {
  await admin.deleteTopics({ topics: [name] })
  await until('the topic is gone', async () => !(await admin.listTopics()).includes(name))
})
await admin.close()
finish()
