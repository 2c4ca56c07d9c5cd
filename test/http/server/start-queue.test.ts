import t, { type Test } from 'tap'
import { StartQueue } from '../../../src/http/server/start-queue.ts'

/** A queue whose requests each take so many milliseconds of a clock that stands still meanwhile. */
function openQueue(tookMs: number) {
  let nowMs = 1_000
  const queue = new StartQueue(() => nowMs)
  const begun: string[] = []
  const begins = new Set<() => void>()
  const add = (address: string, ...names: readonly string[]): void => {
    for (const name of names) {
      queue.add(address, () => {
        begun.push(name)
        nowMs += tookMs
        for (const told of begins) told()
      })
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

void t.test('requests of one address are begun in the order of their coming', async (t: Test) => {
  const { add, begun, until } = openQueue(0)
  const names = Array.from({ length: 40 }, (_, index) => `a${index}`)
  add('a', ...names)
  await until(40)
  t.strictSame(begun, names)
})

void t.test('one of each address is begun after the other', async (t: Test) => {
  const { add, begun, until } = openQueue(0)
  add('a', 'a0', 'a1', 'a2', 'a3')
  add('b', 'b0', 'b1')
  add('c', 'c0')
  await until(7)
  t.strictSame(begun, ['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3'])
})

void t.test('what takes long leaves the rest of its turn to others, and comes late to nobody', async (t: Test) => {
  const queue = openQueue(6)
  queue.add('a', ...Array.from({ length: 30 }, (_, index) => `a${index}`))
  const counts = await turnsOf(queue, 30)
  t.ok(
    counts.every((count) => count <= 2),
    `${counts}`,
  )
})

void t.test('an address has requests that wait until the last of them is begun', async (t: Test) => {
  const { add, queue, until } = openQueue(0)
  t.notOk(queue.has('a'))
  add('a', 'a0', 'a1')
  add('b', 'b0')
  t.ok(queue.has('a'))
  t.notOk(queue.has('c'))
  await until(3)
  t.notOk(queue.has('a'))
  t.notOk(queue.has('b'))
})
