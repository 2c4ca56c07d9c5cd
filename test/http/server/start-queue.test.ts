import t, { type Test } from 'tap'
import { StartQueue } from '../../../src/http/server/start-queue.ts'

/** A queue whose requests each take so many milliseconds of a clock that stands still meanwhile. */
function openQueue(tookMs: number) {
  let nowMs = 1_000
  const queue = new StartQueue(() => nowMs)
  const begun: string[] = []
  const begins = new Set<() => void>()
  const connections = new Map<string, object>()
  /** All of them of one connection, the first one with none before it. */
  const add = (address: string, connectionName: string, ...names: readonly string[]): void => {
    const connection = connections.get(connectionName) ?? {}
    connections.set(connectionName, connection)
    for (const [index, name] of names.entries()) {
      const start = (): void => {
        begun.push(name)
        nowMs += tookMs
        for (const told of begins) told()
      }
      queue.add({ address, connection, isAhead: index > 0, start })
    }
  }
  /** Resolves when so many are begun. */
  const until = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (begun.length < count) return
        begins.delete(look)
        resolve()
      }
      begins.add(look)
      look()
    })
  return { queue, add, begun, until }
}

/** What is begun by each turn of the event loop, until so many are. */
async function turnsOf({ begun }: Pick<ReturnType<typeof openQueue>, 'begun'>, count: number): Promise<number[]> {
  const counts: number[] = []
  while (begun.length < count) {
    const before = begun.length
    await new Promise<void>((resolve) => setImmediate(resolve))
    counts.push(begun.length - before)
  }
  return counts
}

void t.test('requests of one connection are begun in the order of their coming', async (t: Test) => {
  const { add, begun, until } = openQueue(0)
  const names = Array.from({ length: 200 }, (_, index) => `a${index}`)
  add('a', 'one', ...names)
  await until(200)
  t.strictSame(begun, names)
})

void t.test(
  'one of each address is begun after the other, and of an address one of each connection',
  async (t: Test) => {
    const { add, begun, until } = openQueue(0)
    add('a', 'one', 'a0', 'a1', 'a2')
    add('a', 'two', 'A0')
    add('b', 'three', 'b0', 'b1')
    add('c', 'four', 'c0')
    await until(7)
    t.strictSame(begun, ['a0', 'b0', 'c0', 'A0', 'a1', 'b1', 'a2'])
  },
)

void t.test('what takes long leaves the rest of its turn to others', async (t: Test) => {
  const queue = openQueue(6)
  queue.add('a', 'one', ...Array.from({ length: 30 }, (_, index) => `a${index}`))
  const counts = await turnsOf(queue, 30)
  t.ok(
    counts.every((count) => count <= 2),
    `${counts}`,
  )
})

void t.test('few are begun in a turn that were sent ahead, and more that were not', async (t: Test) => {
  const ahead = openQueue(0)
  ahead.add('a', 'one', ...Array.from({ length: 30 }, (_, index) => `a${index}`))
  const aheadCounts = await turnsOf(ahead, 30)
  t.ok(Math.max(...aheadCounts) <= 5, `${aheadCounts}`)
  const firsts = openQueue(0)
  for (let index = 0; index < 30; index += 1) firsts.add('a', `connection ${index}`, `a${index}`)
  const firstCounts = await turnsOf(firsts, 30)
  t.ok(Math.max(...firstCounts) > 5, `${firstCounts}`)
})

void t.test('what was sent ahead holds up no other connection of its address', async (t: Test) => {
  const { add, queue, until } = openQueue(0)
  t.notOk(queue.hasFirst('a'))
  add('a', 'one', 'a0', 'a1', 'a2')
  add('b', 'two', 'b0')
  t.ok(queue.hasFirst('a'))
  t.notOk(queue.hasFirst('c'))
  await until(1)
  t.notOk(queue.hasFirst('a'), 'what is left of it was sent ahead')
  t.ok(queue.hasFirst('b'))
  await until(4)
  t.notOk(queue.hasFirst('b'))
})
