import t from 'tap'
import { fillChunks } from '../../../src/materialize/populate/fill-chunks.ts'
import { clickhouseCodes } from '../../../src/store/engine-codes.ts'
import { StoreError } from '../../../src/store/store-error.ts'

/** An engine that has memory for chunks of so much together, and what it was asked for. */
class ScarceEngine {
  readonly stored: number[] = []
  readonly again: number[] = []
  mostAtOnce = 0
  #used = 0
  #running = 0
  readonly #sizes: readonly number[]
  readonly #memory: number

  constructor(sizes: readonly number[], memory: number) {
    this.#sizes = sizes
    this.#memory = memory
  }

  readonly fill = async (index: number, isAgain: boolean): Promise<void> => {
    if (isAgain) this.again.push(index)
    const size = this.#sizes[index] ?? 0
    this.#running += 1
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#running)
    this.#used += size
    try {
      await new Promise((resolve) => setImmediate(resolve))
      if (this.#used > this.#memory) throw lacking()
      await new Promise((resolve) => setImmediate(resolve))
      this.stored.push(index)
    } finally {
      this.#used -= size
      this.#running -= 1
    }
  }
}

function lacking(whose = '(total)'): StoreError {
  const message = `${whose} memory limit exceeded: would use 2.00 GiB`
  return new StoreError({ kind: 'engine', clickhouseCode: clickhouseCodes.memoryLimitExceeded, message })
}

const never = (): boolean => false

t.test('chunks are filled beside each other as long as there is memory for that', async (t) => {
  const engine = new ScarceEngine([1, 1, 1, 1, 1], 2)
  const filled = fillChunks({ from: 1, total: 5, atOnce: 2, fill: engine.fill, isStopped: never })
  t.equal(await filled, null)
  t.same([...engine.stored].sort(), [1, 2, 3, 4])
  t.equal(engine.mostAtOnce, 2)
  t.same(engine.again, [])
})

t.test('where memory lacks for two, each is filled by itself, and so are all behind them', async (t) => {
  const engine = new ScarceEngine([1, 1, 2, 2, 2, 1, 1], 3)
  t.equal(await fillChunks({ from: 0, total: 7, atOnce: 2, fill: engine.fill, isStopped: never }), null)
  t.same([...engine.stored].sort(), [0, 1, 2, 3, 4, 5, 6])
  t.equal(new Set(engine.stored).size, engine.stored.length)
  t.ok(engine.again.length > 0, 'a try that failed may have stored it')
  t.same(engine.stored.slice(-3), [4, 5, 6])
})

t.test('one that lacks memory by itself ends it, behind all that is under way', async (t) => {
  const engine = new ScarceEngine([1, 1, 9, 1, 1], 3)
  const failure = await fillChunks({ from: 0, total: 5, atOnce: 2, fill: engine.fill, isStopped: never })
  t.match(failure?.thrown, { message: /^\(total\) memory/ })
  t.notOk(engine.stored.includes(2) || engine.stored.includes(4))
  const single = new ScarceEngine([1, 9, 1], 3)
  const ended = await fillChunks({ from: 0, total: 3, atOnce: 1, fill: single.fill, isStopped: never })
  t.match(ended?.thrown, { message: /^\(total\) memory/ })
  t.same(single.again, [], 'by itself it lacked memory already')
})

t.test('another failure ends it, also of the memory that one may have, and so does a stop', async (t) => {
  const begun: number[] = []
  const fill = async (index: number): Promise<void> => {
    begun.push(index)
    if (index === 1) throw lacking('Query')
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.match(await fillChunks({ from: 0, total: 9, atOnce: 2, fill, isStopped: never }), {
    thrown: { message: /^Query memory/ },
  })
  t.same(begun, [0, 1])
  begun.length = 0
  const isStopped = (): boolean => begun.length >= 4
  t.equal(await fillChunks({ from: 2, total: 9, atOnce: 2, fill, isStopped }), null)
  t.same(begun, [2, 3, 4, 5])
})
