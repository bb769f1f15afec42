// A group that grows, shrinks and is left, the same for both clients. Both may read records again around a rebalance.
import assert from 'node:assert'
import { until } from './smoke.mjs'

export const partitions = 6
export const records = 220 // in each partition at the end

// produce(count) writes so many records to each partition. member() begins a member: { assigned() gives its
// partitions, read: Set of "partition/offset", stop() }; it commits every record that it has read.
export async function course(produce, member) {
  const members = []
  let written = 0
  const more = async count => { await produce(count); written += count }
  const join = async () => { const m = await member(); members.push(m); return m }
  const stop = async m => { m.left = true; await m.stop() }
  const settled = (what, ...shares) => until(what, () => {
    const have = members.filter(m => !m.left).map(m => m.assigned())
    const read = new Set(members.flatMap(m => [...m.read]))
    assert.deepEqual([have.map(a => a.length).sort(), new Set(have.flat()).size, read.size], [shares, partitions, written * partitions])
    return true
  })
  try {
    await more(50)
    const one = await join()
    await settled('one member reads all', 6)
    const two = await join()
    await settled('two have half each', 3, 3)
    await more(50)
    await settled('two read', 3, 3)
    const three = await join()
    await settled('three have a third each', 2, 2, 2)
    await more(50)
    await settled('three read', 2, 2, 2)
    await stop(one)
    await settled('two are left', 3, 3)
    await stop(two)
    await settled('one is left', 6)
    await more(50)
    await settled('the last reads on', 6)
    await stop(three)
    await more(records - written)
    const later = await join()
    await settled('a later one goes on', 6)
    await stop(later)
    assert.equal(later.read.size, 20 * partitions)
  } finally {
    for (const m of members) if (!m.left) await stop(m)
  }
}
