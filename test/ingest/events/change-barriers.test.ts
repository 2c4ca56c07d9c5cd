import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { ChangeBarriers } from '../../../src/ingest/events/change-barriers.ts'
import type { DataSourceEvents } from '../../../src/ingest/events/data-source-events.ts'
import { silentLogger } from '../../support/store/test-store.ts'

// Nothing else of a data source is used.
const sourceOf = (name: string) => ({ id: name, name }) as unknown as DataSource

function createBarriers({ isDrained = true, bytesMax = 10 } = {}) {
  const steps: string[] = []
  const all = new Map<string, DataSourceEvents>()
  let bytesLeft = bytesMax
  const of = ({ id, name }: Pick<DataSource, 'id' | 'name'>): DataSourceEvents => {
    const events = {
      stream: id,
      name,
      isBarred: false,
      mayHaveEntries: true,
      status: { waitingRows: 0 },
      drain: async () => {
        steps.push(`drain ${id}`)
        return isDrained
      },
      hold: () => steps.push(`hold ${id}`),
      release: () => steps.push(`release ${id}`),
      close: async () => {
        steps.push(`close ${id}`)
      },
    }
    // It has what a barrier asks of events.
    const found = all.get(id) ?? (events as unknown as DataSourceEvents)
    all.set(id, found)
    return found
  }
  const barriers = new ChangeBarriers({
    sources: { of, find: (id) => all.get(id), remove: (id) => steps.push(`remove ${id}`) },
    settle: async (stream) => {
      steps.push(`settle ${stream}`)
    },
    log: {
      barrier: async (stream, isFinal) => {
        steps.push(`${isFinal ? 'last ' : ''}barrier ${stream}`)
      },
    },
    budget: {
      tryTake: (byteCount) => {
        if (byteCount > bytesLeft) return false
        bytesLeft -= byteCount
        return true
      },
      give: (byteCount) => {
        bytesLeft += byteCount
      },
    },
    logger: silentLogger,
    drainMsMax: 1_000,
    retryAfterSeconds: () => 1,
  })
  const change = async (): Promise<string> => {
    steps.push('change')
    return 'changed'
  }
  return { barriers, change, steps, of, bytesLeft: () => bytesLeft }
}

const caught = (promise: Promise<unknown>): Promise<unknown> => promise.catch((thrown: unknown) => thrown)
const a = sourceOf('a')
const b = sourceOf('b')

const replaced = { reason: 'replaced' } as const
const forView = { reason: 'held for a Materialized View' } as const

t.test(
  'a change runs after what waits is stored and the barrier is written; events are refused meanwhile',
  async (t) => {
    const { barriers, steps, of } = createBarriers()
    const barred: boolean[] = []
    await barriers.withBarrier({ dataSource: a, isFinal: false }, async () => {
      barred.push(of(a).isBarred)
      steps.push('change')
    })
    t.same(steps, ['settle a', 'drain a', 'barrier a', 'change'])
    t.same([...barred, of(a).isBarred], [true, false])
  },
)

t.test('a change does not run while events cannot be stored, unless the data source goes', async (t) => {
  const { barriers, change, steps, of } = createBarriers({ isDrained: false })
  t.match(await caught(barriers.withBarrier({ dataSource: a, isFinal: false }, change)), { code: 'CHANGE_BLOCKED' })
  t.same(steps.splice(0), ['settle a', 'drain a'])
  t.equal(of(a).isBarred, false)
  t.equal(await barriers.withBarrier({ dataSource: a, isFinal: true }, change), 'changed')
  t.same(steps, ['settle a', 'drain a', 'close a', 'remove a', 'last barrier a', 'change'])
  t.equal(of(a).isBarred, true, 'nothing of it comes into the log any more')
})

t.test('a hold stores what came before it, and releases what came meanwhile, also when the change fails', async (t) => {
  const { barriers, steps } = createBarriers()
  const failed = await caught(
    barriers.withHold(
      [a, b],
      async () => {
        t.ok(barriers.isHeld('a'))
        throw new Error('the change failed')
      },
      replaced,
    ),
  )
  t.match(failed, { message: 'the change failed' })
  t.notOk(barriers.isHeld('a'))
  t.same(steps.slice(-4), ['hold a', 'hold b', 'release a', 'release b'])
  t.same(steps.filter((step) => step.startsWith('barrier')).sort(), ['barrier a', 'barrier b'])
})

t.test('a data source has one change at a time, and one that is to go waits for it', async (t) => {
  const { barriers, change, steps } = createBarriers()
  let end = (): void => undefined
  const running = barriers.withHold([a], () => new Promise<void>((resolve) => (end = resolve)), forView)
  while (!steps.includes('hold a')) await setImmediate()
  const busy = { code: 'DATASOURCE_BUSY', message: /"a" is being held for a Materialized View/ }
  t.match(await caught(barriers.withHold([b, a], change, replaced)), busy)
  t.notOk(barriers.isHeld('b'))
  t.match(await caught(barriers.withBarrier({ dataSource: a, isFinal: false }, change)), busy)
  const gone = barriers.withBarrier({ dataSource: a, isFinal: true }, change)
  await setImmediate()
  t.notOk(steps.includes('change'))
  end()
  await running
  t.equal(await gone, 'changed')
})

t.test('an event that comes while a hold begins waits for it within the memory that there is', async (t) => {
  const { barriers, steps, bytesLeft } = createBarriers()
  const running = barriers.withHold([a], async () => undefined, replaced)
  t.ok(barriers.isHoldBeginning('a'))
  const body = Buffer.alloc(6)
  const first = barriers.untilHeld({ dataSource: a, body })
  t.equal(bytesLeft(), 4)
  t.match(await caught(barriers.untilHeld({ dataSource: a, body })), { code: 'BACKLOG_FULL' })
  await first
  t.ok(steps.includes('hold a'))
  t.equal(bytesLeft(), 10)
  await running
})
