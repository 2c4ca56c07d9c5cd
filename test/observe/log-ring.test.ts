import t from 'tap'
import { LogRing, logRecordBytesMax } from '../../src/observe/log-ring.ts'

/** All that is in the ring, in its order. */
function drain(ring: LogRing, bytesMax = 4_096): string[] {
  const texts: string[] = []
  for (;;) {
    const records = ring.peek(bytesMax)
    if (records.length === 0) return texts
    texts.push(...records.map(({ kind, bytes }) => `${kind} ${bytes.toString()}`))
    ring.release(records)
  }
}

t.test('records come out as they were put in, in their order, over many turns of the ring', async (t) => {
  const ring = new LogRing()
  const reader = new LogRing(ring.memory)
  const kinds = ['entry', 'error-text', 'output-text'] as const
  for (let turn = 0; turn < 300; turn += 1) {
    const texts = Array.from(
      { length: 5 },
      (_, index) => `${turn}/${index} é ${'x'.repeat((turn * 977 + index) % 9_000)}`,
    )
    for (const [index, text] of texts.entries()) t.ok(ring.put(kinds[index % 3] ?? 'entry', text, false))
    t.same(
      drain(reader),
      texts.map((text, index) => `${kinds[index % 3]} ${text}`),
    )
  }
})

t.test('what has no room is dropped and counted once, and errors have room of their own', async (t) => {
  const ring = new LogRing()
  const entry = 'x'.repeat(1_020)
  let keptCount = 0
  while (ring.put('entry', entry, false)) keptCount += 1
  t.equal(keptCount, 896, 'seven eighths of a MiB')
  t.notOk(ring.put('entry', entry, false))
  t.equal(ring.takeDropped(), 2)
  t.equal(ring.takeDropped(), 0)
  t.ok(ring.put('entry', 'an error', true))
  t.ok(ring.put('entry', entry, true))
  t.equal(drain(ring).length, 898)
  t.ok(ring.put('entry', entry, false), 'there is room again')
})

t.test('a record has a maximum', async (t) => {
  const ring = new LogRing()
  t.ok(ring.put('entry', 'x'.repeat(logRecordBytesMax - 1), false))
  t.ok(ring.put('entry', 'x'.repeat(logRecordBytesMax), false))
  t.notOk(ring.put('entry', 'x'.repeat(logRecordBytesMax + 1), false))
  t.equal(ring.takeDropped(), 1)
})

t.test('a wait for the ring to be empty ends by its time when nobody reads', async (t) => {
  const ring = new LogRing()
  let clockMs = 0
  const now = () => {
    clockMs += 10
    return clockMs
  }
  t.ok(ring.waitUntilEmpty(0, now), 'an empty ring is not waited for')
  ring.put('entry', 'text', false)
  t.notOk(ring.waitUntilEmpty(10, now))
})
