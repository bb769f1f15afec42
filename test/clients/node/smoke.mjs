// What the smoke tests of the Node clients share: data, report.
export const count = 1000

export function topic(client, what) {
  return `${client}-${what}-${process.pid}-${Date.now()}`
}

// The records that go into every codec's topic: two partitions, all with key, value and header.
export function records(codec) {
  return Array.from({ length: count }, (_, i) => ({
    partition: i % 2, key: `key-${i}`, value: `${codec} value ${i} `.repeat(5), headers: { n: `${i}` },
  }))
}

let bad = false

export async function check(name, fn) {
  try {
    await fn()
    console.log(`PASS ${name}`)
  } catch (error) {
    bad = true
    console.error(error)
    console.log(`FAIL ${name}: ${String(error.message).replaceAll('\n', ' ').slice(0, 300)}`)
  }
}

export async function until(what, fn, seconds = 20) {
  for (const end = Date.now() + seconds * 1000; ;) {
    let last
    try {
      if (await fn()) return
    } catch (error) {
      last = error
    }
    if (Date.now() > end) throw new Error(`not seen within ${seconds} s: ${what} (${last})`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

export function finish() {
  process.exit(bad ? 1 : 0)
}
