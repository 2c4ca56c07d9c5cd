import { mock } from 'node:test'
import t, { type Test } from 'tap'
import type { FlushRule, LoggedBatch, SequenceRange } from '../../../src/ingest/events/events.types.ts'
import { EventsQueue } from '../../../src/ingest/events/events-queue.ts'
import { MemoryBudget } from '../../../src/ingest/memory-budget.ts'
import { toSequence } from '../../../src/wal/sequence.ts'

const rule = { eventsFlushRowsMax: 10, eventsFlushBytesMax: 100, eventsFlushIdleMs: 50, eventsFlushAgeMs: 200 }

interface Setting {
  readonly rule?: Partial<FlushRule>
  readonly budgetBytes?: number
  readonly behind?: SequenceRange
}

function open(t: Test, setting: Setting = {}) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const state = { nowMs: 0, wakeCount: 0 }
  const budget = new MemoryBudget(setting.budgetBytes ?? 1_000_000)
  const onTime = (): void => {
    state.wakeCount += 1
  }
  const deps = { rule: { ...rule, ...setting.rule }, budget, clock: () => state.nowMs, onTime }
  const queue = new EventsQueue(deps, setting.behind ?? null)
  const pass = (ms: number): void => {
    state.nowMs += ms
    mock.timers.tick(ms)
  }
  /** As the way into the log does: the bytes are counted before. */
  const add = (batch: LoggedBatch, mayHold = true): boolean => {
    budget.tryTake(batch.heldBytes)
    return queue.add(batch, mayHold)
  }
  return { queue, budget, add, pass, state }
}

/** A batch of consecutive entries. */
function batchOf(first: number, last: number, more: Partial<LoggedBatch> = {}): LoggedBatch {
  const sequences = Array.from({ length: last - first + 1 }, (_, n) => toSequence(first + n))
  const content = { kind: 'bodies', bodies: [] } as const
  return {
    sequences,
    acceptedAtMs: 0,
    loggedBytes: 20,
    heldBytes: 10,
    rowCount: 1,
    quarantinedRowCount: 0,
    content,
    ...more,
  }
}

const range = (first: number, last: number): SequenceRange => ({ first: toSequence(first), last: toSequence(last) })

t.test('batches wait in memory, in the order of the log', (t) => {
  const { queue, add, budget } = open(t)
  t.same([queue.first, queue.last, queue.behind], [null, null, null])
  t.ok(add(batchOf(1, 2)))
  t.ok(add(batchOf(5, 5)))
  t.same([queue.first, queue.last, queue.behind, budget.bytes], [1, 5, null, 20])
  t.throws(() => add(batchOf(5, 6)), /order of the log/)
  t.end()
})

t.test('what may not be held is in the log alone, and so is all behind it', (t) => {
  const { queue, add, budget } = open(t)
  add(batchOf(1, 1))
  t.notOk(add(batchOf(2, 3), false))
  t.notOk(add(batchOf(4, 4)), 'memory would be out of order')
  t.same([queue.first, queue.last, queue.behind, budget.bytes], [1, 4, range(2, 4), 10])
  t.same(
    queue.take().map(({ sequences }) => sequences),
    [[1]],
  )
  t.same([queue.first, queue.behind], [2, range(2, 4)])
  t.end()
})

t.test('a block is due at the limits of rows and bytes, when somebody waits, and when its time has come', (t) => {
  const { queue, add, pass } = open(t)
  t.notOk(queue.isDue(true), 'not of nothing')
  add(batchOf(1, 1, { rowCount: 6, quarantinedRowCount: 3 }))
  t.notOk(queue.isDue(false))
  t.ok(queue.isDue(true))
  add(batchOf(2, 2))
  t.ok(queue.isDue(false), 'of ten rows')
  queue.take()
  for (const [sequence, isDue] of [
    [3, false],
    [4, true],
  ] as const) {
    add(batchOf(sequence, sequence, { heldBytes: sequence === 3 ? 99 : 1 }))
    t.equal(queue.isDue(false), isDue, 'of a hundred bytes')
  }
  queue.take()
  add(batchOf(5, 5))
  pass(49)
  t.notOk(queue.isDue(false))
  pass(1)
  t.ok(queue.isDue(false), 'after silence')
  t.end()
})

t.test('a quarter of the memory of all is due, however large blocks may be', (t) => {
  const { queue, add } = open(t, { budgetBytes: 80 })
  add(batchOf(1, 1, { heldBytes: 19 }))
  t.notOk(queue.isDue(false))
  add(batchOf(2, 2, { heldBytes: 1 }))
  t.ok(queue.isDue(false))
  t.end()
})

t.test('a block has as many batches as its limits allow, and at least one', (t) => {
  const { queue, add } = open(t)
  for (const [sequence, rowCount, heldBytes] of [
    [1, 50, 500],
    [2, 5, 10],
    [3, 5, 10],
    [4, 1, 60],
    [5, 1, 40],
    [6, 1, 1],
  ] as const) {
    add(batchOf(sequence, sequence, { rowCount, heldBytes }))
  }
  const blocks = Array.from({ length: 5 }, () => queue.take().map(({ sequences }) => sequences[0]))
  t.same(blocks, [[1], [2, 3], [4, 5], [6], []])
  t.end()
})

t.test('batches that became no block are put back in front', (t) => {
  const { queue, add } = open(t)
  add(batchOf(1, 1, { rowCount: 10 }))
  add(batchOf(2, 2, { rowCount: 4 }))
  const taken = queue.take()
  t.notOk(queue.isDue(false))
  queue.putBack(taken)
  t.ok(queue.isDue(false), 'and counted again')
  t.same([queue.first, queue.last], [1, 2])
  t.same(queue.take(), taken)
  t.end()
})

t.test('what is let go gives its memory back, and is read back from the log', (t) => {
  const { queue, add, budget } = open(t)
  add(batchOf(1, 2))
  add(batchOf(3, 4))
  add(batchOf(7, 7), false)
  const before = queue.epoch
  queue.letGo()
  t.same([budget.bytes, queue.behind, queue.first, queue.last], [0, range(1, 7), 1, 7])
  t.equal(queue.epoch, before + 1)
  t.notOk(queue.isDue(true))
  queue.letGo()
  t.equal(queue.epoch, before + 1, 'nothing left memory')
  t.notOk(queue.wants(toSequence(1), before), 'what was read before is stale')
  t.same(
    [1, 7, 8].map((sequence) => queue.wants(toSequence(sequence), queue.epoch)),
    [true, true, false],
  )
  queue.takeBack(batchOf(1, 1))
  t.same([queue.first, queue.behind], [1, range(2, 7)])
  t.notOk(queue.wants(toSequence(1), queue.epoch), 'it is in memory again')
  queue.takeBack(batchOf(7, 7))
  t.same([queue.behind, queue.last], [null, 7])
  t.ok(add(batchOf(8, 8)), 'new batches go into memory again')
  t.end()
})

t.test('entries that a pass did not give have nothing to store', (t) => {
  const { queue } = open(t, { behind: range(3, 9) })
  t.same([queue.first, queue.last], [3, 9])
  queue.endReading(queue.epoch + 1, toSequence(9))
  queue.endReading(queue.epoch, toSequence(2))
  t.same(queue.behind, range(3, 9), 'another pass, and one that did not come so far')
  queue.endReading(queue.epoch, toSequence(5))
  t.same(queue.behind, range(6, 9))
  queue.endReading(queue.epoch, toSequence(9))
  t.same([queue.behind, queue.first, queue.last], [null, null, null])
  t.end()
})

t.test('it wakes when what has gathered is old enough, and when it is told to, until it is closed', (t) => {
  const { queue, add, pass, state } = open(t)
  add(batchOf(1, 1))
  pass(50)
  t.equal(state.wakeCount, 1)
  queue.take()
  queue.wakeAt(state.nowMs + 300)
  pass(299)
  t.equal(state.wakeCount, 1)
  pass(1)
  t.equal(state.wakeCount, 2)
  queue.wakeAt(state.nowMs + 10)
  queue.close()
  pass(1_000)
  t.equal(state.wakeCount, 2)
  t.end()
})
