import t, { type Test } from 'tap'
import type { BlockCounts, BlockSource } from '../../../src/ingest/events/block-store.ts'
import { DataSourceEvents } from '../../../src/ingest/events/data-source-events.ts'
import type { LoggedBatch, RecoveredSource } from '../../../src/ingest/events/events.types.ts'
import { MemoryBudget } from '../../../src/ingest/memory-budget.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { toSequence } from '../../../src/wal/sequence.ts'
import { TestLog } from '../../support/api/test-service.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'

const dataSource = testDataSource('n UInt32')
const diskError = new StoreError({ kind: 'engine', message: 'Not enough space', clickhouseCode: 243 })
const viewError = new StoreError({ kind: 'engine', message: 'no: while pushing to view a', clickhouseCode: 395 })

/** Blocks are made when somebody waits, or of two rows. */
const rule = {
  eventsFlushRowsMax: 2,
  eventsFlushBytesMax: 1_000,
  eventsFlushIdleMs: 1_000_000,
  eventsFlushAgeMs: 1_000_000,
}

function batchOf(sequence: number): LoggedBatch {
  const content = { kind: 'bodies', bodies: [] } as const
  return {
    sequences: [toSequence(sequence)],
    acceptedAtMs: 1_000 * sequence,
    loggedBytes: 20,
    heldBytes: 10,
    rowCount: 1,
    quarantinedRowCount: 0,
    content,
  }
}

interface Insert {
  readonly source: BlockSource
  readonly end: (error?: Error) => void
}

const sequencesOf = ({ source }: Insert): readonly number[] => source.block.sequences

/** Each INSERT ends when the test says so. */
function open(t: Test, recovered?: RecoveredSource) {
  const state = { nowMs: 0, behindCount: 0, reported: [] as string[], noted: [] as string[] }
  const inserts: Insert[] = []
  const begun = new Set<() => void>()
  const budget = new MemoryBudget(1_000)
  const logger = new TestLog()
  let blockCount = 0
  const nextId = (): string => {
    blockCount += 1
    return `b${blockCount}`
  }
  const events = new DataSourceEvents(
    dataSource,
    {
      log: { noteStored: (_stream, { blockId }) => state.noted.push(blockId) },
      blocks: {
        name: async (_stream, batches) => ({
          blockId: nextId(),
          sequences: batches.flatMap(({ sequences }) => sequences),
          setAside: [],
          beyond: [],
          loggedBytes: batches.length * 20,
          namedAtMs: 0,
        }),
        insert: (source) =>
          new Promise<BlockCounts>((resolve, reject) => {
            const counts = { rowCount: source.block.sequences.length, quarantinedRowCount: 0 }
            const end = (error?: Error): void => (error === undefined ? resolve(counts) : reject(error))
            inserts.push({ source, end })
            for (const tell of begun) tell()
          }),
        isolate: () => Promise.reject(new Error('nothing is refused')),
        insertInPieces: () => Promise.reject(new Error('nothing is costly')),
      },
      places: { use: (_origin, work) => work() },
      budget,
      drain: { begin: () => undefined, end: () => undefined },
      rule,
      logger,
      disk: { report: (reason) => state.reported.push(reason) },
      now: () => state.nowMs,
      clock: () => state.nowMs,
      onBehind: () => {
        state.behindCount += 1
      },
    },
    recovered,
  )
  const add = (sequence: number): void => {
    budget.tryTake(10)
    events.add(batchOf(sequence), dataSource)
  }
  /** The INSERT with this number, from 1 on, when it has begun. */
  const insert = async (count: number): Promise<Insert> => {
    while (inserts.length < count) await new Promise<void>((resolve) => begun.add(resolve))
    begun.clear()
    const found = inserts[count - 1]
    if (found === undefined) throw new Error('no such insert has begun')
    return found
  }
  t.teardown(() => {
    const closed = events.close()
    for (const { end } of inserts) end()
    return closed
  })
  return { events, add, inserts, insert, budget, logger, state }
}

t.test('what waits is counted, and stored when somebody waits for it', async (t) => {
  const { events, add, insert, budget, inserts } = open(t)
  t.notOk(events.mayHaveEntries)
  t.equal(await events.untilStored(toSequence(1), 1_000_000), true, 'nothing waits')
  add(1)
  t.ok(events.mayHaveEntries)
  t.same(events.status, { waitingRows: 1, waitingBytes: 20, failure: null, delay: null })
  t.same([events.firstOutstanding, inserts.length], [1, 0])
  const stored = events.untilStored(toSequence(1), 1_000_000)
  const first = await insert(1)
  t.equal(events.firstOutstanding, 1, 'as long as it is under way')
  add(2)
  first.end()
  t.equal(await stored, true)
  t.match(events.status, { waitingRows: 1, waitingBytes: 20 })
  t.same([events.firstOutstanding, budget.bytes], [2, 10])
})

t.test('a reader waits until the events are stored, and hurries nothing', async (t) => {
  const { events, add, insert, inserts, state } = open(t)
  const { signal } = new AbortController()
  t.equal(await events.untilQueryable(toSequence(1), 1_000_000, signal), true, 'nothing waits')
  add(1)
  const reading = events.untilQueryable(toSequence(1), 1_000_000, signal)
  const leaving = new AbortController()
  const left = events.untilQueryable(toSequence(1), 1_000_000, leaving.signal)
  leaving.abort()
  t.equal(await left, false)
  t.equal(await events.untilQueryable(toSequence(1), 1_000_000, leaving.signal), false, 'it has left before')
  t.equal(await events.untilQueryable(toSequence(1), 1, signal), false, 'the time is over')
  t.equal(inserts.length, 0)
  state.nowMs = 5_000
  t.same(events.freshness, { acknowledgedAtMs: 1_000, queryableAtMs: null, waitingSinceMs: 1_000 })
  const stored = events.untilStored(toSequence(1), 1_000_000)
  const first = await insert(1)
  add(2)
  first.end()
  t.same(await Promise.all([reading, stored]), [true, true])
  t.same(events.freshness, { acknowledgedAtMs: 2_000, queryableAtMs: 1_000, waitingSinceMs: 2_000 })
  const rest = events.untilQueryable(toSequence(2), 1_000_000, signal)
  await events.close()
  t.equal(await rest, false, 'nobody stores it any more')
})

t.test('a reader that waits for a later place of the log has all there is when nothing waits any more', async (t) => {
  const { events, add, insert } = open(t)
  add(1)
  const reading = events.untilQueryable(toSequence(7), 1_000_000, new AbortController().signal)
  const stored = events.untilStored(toSequence(1), 1_000_000)
  const block = await insert(1)
  block.end()
  t.same(await Promise.all([reading, stored]), [true, true])
})

t.test('blocks are inserted one at a time, in the order of the log', async (t) => {
  const { events, add, insert, inserts, state } = open(t)
  for (let sequence = 1; sequence <= 5; sequence += 1) add(sequence)
  const first = await insert(1)
  t.same([sequencesOf(first), inserts.length], [[1, 2], 1])
  first.end()
  const second = await insert(2)
  t.same(sequencesOf(second), [3, 4])
  second.end()
  const drained = events.drain(1_000_000)
  const third = await insert(3)
  t.same(sequencesOf(third), [5])
  third.end()
  t.equal(await drained, true)
  t.same([events.firstOutstanding, state.noted], [null, ['b1', 'b2', 'b3']])
})

t.test('a failure lets go of the memory, and the same block is tried again after the pause', async (t) => {
  const { events, add, insert, inserts, budget, logger, state } = open(t)
  for (let sequence = 1; sequence <= 3; sequence += 1) add(sequence)
  const failing = await insert(1)
  failing.end(diskError)
  await logger.until('Events of a data source cannot be stored: they stay in the log, and are tried again.')
  t.match(events.status, { waitingRows: 3, failure: { kind: 'engine', message: 'Not enough space', attemptCount: 1 } })
  t.equal(budget.bytes, 0)
  t.same([events.firstOutstanding, events.behindFrom, events.mayRead], [1, 3, false])
  t.equal(await events.drain(1_000_000), false, 'a change does not wait for it')
  add(4)
  t.equal(budget.bytes, 0, 'what comes is in the log alone')
  events.wake()
  t.equal(inserts.length, 1, 'not before its time')
  state.nowMs += 250
  events.wake()
  const again = await insert(2)
  t.same([sequencesOf(again), again.source.block.blockId], [[1, 2], 'b1'])
  t.equal(again.source.content, null)
  const stored = events.untilStored(toSequence(2), 1_000_000)
  again.end()
  t.equal(await stored, true)
  await logger.until('The events of a data source are stored again.')
  t.same([events.status.failure, events.mayRead, state.behindCount > 0], [null, true, true])
  t.ok(events.wants(toSequence(3), events.epoch))
  budget.tryTake(10)
  t.ok(events.feed(batchOf(3), events.epoch))
  t.notOk(events.feed(batchOf(3), events.epoch), 'not twice')
  events.endReading(events.epoch, toSequence(4))
  t.same([events.behindFrom, events.mayRead], [null, false])
})

t.test('a disk that refuses is reported; a view that refuses is told to who waits', async (t) => {
  const { events, add, insert, state, logger } = open(t)
  add(1)
  const refused = t.rejects(events.untilStored(toSequence(1), 1_000_000), { code: 'VIEW_FAILED', status: 422 })
  const first = await insert(1)
  first.end(viewError)
  await refused
  t.match(events.status.failure, { kind: 'view' })
  t.same(state.reported, [])
  state.nowMs += 250
  events.wake()
  const second = await insert(2)
  second.end(Object.assign(new Error('write failed'), { code: 'ENOSPC' }))
  while (events.status.failure?.attemptCount !== 2) await new Promise((resolve) => setImmediate(resolve))
  t.same(state.reported, ['the disk is full'])
  t.equal(logger.entries.filter(({ level }) => level === 'error').length, 1, 'a state has one line')
})

t.test('events that are held go into the log alone, and come back when they are released', async (t) => {
  const { events, add, inserts, budget, state } = open(t)
  events.hold()
  for (let sequence = 1; sequence <= 3; sequence += 1) add(sequence)
  events.wake()
  t.same([inserts.length, budget.bytes, events.mayRead, state.behindCount], [0, 0, false, 0])
  events.release()
  t.same([events.mayRead, events.behindFrom, state.behindCount], [true, 1, 1])
})

t.test('what an earlier process left is stored in its order: blocks, then what is behind them', async (t) => {
  const named = [1, 2].map((sequence) => ({
    blockId: `old ${sequence}`,
    sequences: [toSequence(sequence)],
    setAside: [],
    beyond: [],
    loggedBytes: 20,
    namedAtMs: 0,
  }))
  const behind = { first: toSequence(3), last: toSequence(9) }
  const { events, insert, state } = open(t, { named, behind, waitingRows: 9, waitingBytes: 180, acceptedMs: null })
  t.ok(events.mayHaveEntries)
  t.same([events.firstOutstanding, events.behindFrom, events.mayRead], [1, 3, false])
  events.wake()
  const first = await insert(1)
  first.end()
  const second = await insert(2)
  t.same(second.source.block.blockId, 'old 2')
  t.ok(events.mayRead, 'beside the last of them')
  second.end()
  while (state.noted.length < 2) await new Promise((resolve) => setImmediate(resolve))
  t.match(events.status, { waitingRows: 7, waitingBytes: 140 })
  t.same([events.firstOutstanding, state.noted], [3, ['old 1', 'old 2']])
})

t.test('a close gives up what waits, and who waits for it hears that it is not stored', async (t) => {
  const { events, add, insert, budget, inserts } = open(t)
  for (let sequence = 1; sequence <= 3; sequence += 1) add(sequence)
  const stored = events.untilStored(toSequence(3), 1_000_000)
  const first = await insert(1)
  const closed = events.close()
  first.end()
  await closed
  t.equal(await stored, false)
  t.same([inserts.length, budget.bytes, events.firstOutstanding], [1, 0, 3])
  t.notOk(events.wants(toSequence(3), events.epoch))
})

t.test('a close does not wait for an insert longer than it may, and notes nothing of it', async (t) => {
  const { events, add, insert, state } = open(t)
  add(1)
  add(2)
  const first = await insert(1)
  await events.close(0)
  first.end()
  await new Promise((resolve) => setImmediate(resolve))
  t.same([events.firstOutstanding, state.noted], [1, []])
})
