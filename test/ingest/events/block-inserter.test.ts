import t from 'tap'
import { BlockInserter } from '../../../src/ingest/events/block-inserter.ts'
import type { BlockCounts, BlockSource, BlockStore } from '../../../src/ingest/events/block-store.ts'
import type { LoggedBatch } from '../../../src/ingest/events/events.types.ts'
import type { NamedBlock } from '../../../src/ingest/insert/block.types.ts'
import { PartitionsExceededError } from '../../../src/ingest/insert/partition-limits.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { toSequence } from '../../../src/wal/sequence.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'

const dataSource = testDataSource('n UInt32')
const diskError = new StoreError({ kind: 'engine', message: 'Not enough space', clickhouseCode: 243 })
const rowsError = new StoreError({ kind: 'engine', message: 'Division by zero', clickhouseCode: 153 })
const costlyError = new StoreError({ kind: 'engine', message: 'Timeout exceeded', clickhouseCode: 159 })

function batchOf(first: number, last = first): LoggedBatch {
  const sequences = Array.from({ length: last - first + 1 }, (_, n) => toSequence(first + n))
  const content = { kind: 'bodies', bodies: [] } as const
  return { sequences, acceptedAtMs: 0, loggedBytes: 20, heldBytes: 10, rowCount: 1, quarantinedRowCount: 0, content }
}

function blockOf(name: string, batches: readonly LoggedBatch[]): NamedBlock {
  const sequences = batches.flatMap((batch) => batch.sequences)
  return { blockId: name, sequences, setAside: [], beyond: [], loggedBytes: 20 * batches.length, namedAtMs: 0 }
}

interface Setting {
  readonly named?: readonly NamedBlock[]
  readonly blocks?: Partial<Pick<BlockStore, 'insert' | 'insertInPieces' | 'isolate' | 'name'>>
  /** Takes longer than an INSERT may in a common place. */
  readonly isSlow?: boolean
}

/** An inserter behind a queue of batches; `steps` has what it did. */
function open(queued: readonly (readonly LoggedBatch[])[], setting: Setting = {}) {
  const steps: string[] = []
  const sources: BlockSource[] = []
  const waiting = queued.map((batches) => [...batches])
  let blockCount = 0
  const counts: BlockCounts = { rowCount: 1, quarantinedRowCount: 0 }
  const blocks = {
    name: async (_stream: string, batches: readonly LoggedBatch[]) => {
      blockCount += 1
      return blockOf(`b${blockCount}`, batches)
    },
    insert: async (source: BlockSource) => {
      sources.push(source)
      return counts
    },
    isolate: async ({ block }: BlockSource) => ({ ...block, setAside: [0] }),
    insertInPieces: async ({ block }: BlockSource) => ({ block, counts }),
    ...setting.blocks,
  }
  const inserter: BlockInserter = new BlockInserter(
    {
      stream: dataSource.id,
      named: setting.named ?? [],
      queue: { take: () => waiting.shift() ?? [], putBack: (batches) => waiting.unshift([...batches]) },
    },
    {
      blocks,
      log: { noteStored: (_stream, { blockId }) => steps.push(`log ${blockId}`) },
      places: {
        use: async (_origin, work, onSlow) => {
          if (setting.isSlow === true) onSlow?.()
          return await work()
        },
      },
      budget: { give: (byteCount) => steps.push(`give ${byteCount}`) },
      drain: { begin: () => undefined, end: (drained) => steps.push(drained === null ? 'failed' : 'drained') },
      now: () => 77,
    },
    {
      onSlow: (isFirst) => steps.push(`slow, first: ${isFirst}, since ${inserter.delay?.sinceMs}`),
      onStored: ({ blockId }) => steps.push(`stored ${blockId}`),
      isClosed: () => false,
    },
  )
  return { inserter, steps, sources, waiting }
}

t.test('a block is named, inserted out of memory, told to the log, and gives its memory back', async (t) => {
  const { inserter, steps, sources } = open([[batchOf(1, 2), batchOf(3)]])
  t.same([inserter.first, inserter.last, inserter.blockCount], [null, null, 0])
  await inserter.storeNext(dataSource)
  t.same(steps, ['drained', 'give 10', 'give 10', 'log b1', 'stored b1'])
  t.match(sources, [{ stream: dataSource.id, dataSource, block: { blockId: 'b1', sequences: [1, 2, 3] } }])
  t.equal(sources[0]?.content?.length, 2)
  t.same([inserter.first, inserter.last, inserter.blockCount, inserter.delay], [null, null, 0, null])
})

t.test('while a block is named, its entries are outstanding; when that fails, they wait again', async (t) => {
  let fail = (_error: Error): void => undefined
  const name = () =>
    new Promise<never>((_resolve, reject) => {
      fail = reject
    })
  const { inserter, steps, waiting } = open([[batchOf(4), batchOf(5)]], { blocks: { name } })
  const storing = inserter.storeNext(dataSource)
  t.same([inserter.first, inserter.last, inserter.blockCount, waiting.length], [4, 5, 0, 0])
  fail(new Error('the log is full'))
  await t.rejects(storing, { message: 'the log is full' })
  t.same([inserter.first, inserter.blockCount, waiting.length, steps], [null, 0, 1, []])
})

t.test('a block that failed is tried again under its id, before any other', async (t) => {
  let tries = 0
  const ids: string[] = []
  const insert = async ({ block }: BlockSource): Promise<BlockCounts> => {
    ids.push(block.blockId)
    tries += 1
    if (tries <= 2) throw diskError
    return { rowCount: 1, quarantinedRowCount: 0 }
  }
  const { inserter, steps } = open([[batchOf(1)], [batchOf(2)]], { blocks: { insert } })
  await t.rejects(inserter.storeNext(dataSource), diskError)
  t.same([inserter.first, inserter.last, inserter.blockCount], [1, 1, 1])
  inserter.letGo()
  await t.rejects(inserter.storeNext(dataSource), diskError)
  await inserter.storeNext(dataSource)
  await inserter.storeNext(dataSource)
  t.same(ids, ['b1', 'b1', 'b1', 'b2'])
  const ends = ['drained', 'log b1', 'stored b1', 'drained', 'give 10', 'log b2', 'stored b2']
  t.same(steps, ['failed', 'give 10', 'failed', ...ends], 'memory is given back once')
})

t.test('blocks that an earlier process named come first, in their order, and are read from the log', async (t) => {
  const named = [blockOf('old 1', [batchOf(1)]), blockOf('old 2', [batchOf(2, 3)])]
  const { inserter, sources } = open([[batchOf(4)]], { named })
  t.same([inserter.first, inserter.last, inserter.blockCount], [1, 3, 2])
  for (let block = 0; block < 3; block += 1) await inserter.storeNext(dataSource)
  t.same(
    sources.map(({ block, content }) => [block.blockId, content?.length ?? null]),
    [
      ['old 1', null],
      ['old 2', null],
      ['b1', 1],
    ],
  )
})

t.test('rows that are refused are set aside, and the block is inserted without them under the same id', async (t) => {
  for (const error of [rowsError, new PartitionsExceededError('body', 1, new Set())]) {
    const blocksSeen: NamedBlock[] = []
    const insert = async ({ block }: BlockSource): Promise<BlockCounts> => {
      blocksSeen.push(block)
      if (block.setAside.length === 0) throw error
      return { rowCount: 0, quarantinedRowCount: 1 }
    }
    const { inserter, steps } = open([[batchOf(1)]], { blocks: { insert } })
    await inserter.storeNext(dataSource)
    t.same([inserter.blockCount, steps], [1, ['failed', 'give 10']], 'nothing is stored yet')
    await inserter.storeNext(dataSource)
    t.match(blocksSeen, [
      { blockId: 'b1', setAside: [] },
      { blockId: 'b1', setAside: [0] },
    ])
    t.same(steps.slice(2), ['drained', 'log b1', 'stored b1'])
  }
})

t.test('a block that costs too much is inserted in pieces, and said to be slow meanwhile', async (t) => {
  const failures: unknown[] = []
  const insertInPieces: BlockStore['insertInPieces'] = async ({ block }, { failure, isGivenUp }) => {
    failures.push(failure, isGivenUp())
    t.match(inserter.delay, { sinceMs: 77, reason: 'Timeout exceeded' })
    return { block: { ...block, setAside: [0] }, counts: { rowCount: 0, quarantinedRowCount: 1 } }
  }
  const insert = async (): Promise<never> => {
    throw costlyError
  }
  const { inserter, steps } = open([[batchOf(1)], [batchOf(2)]], { blocks: { insert, insertInPieces } })
  await inserter.storeNext(dataSource)
  t.same(failures, [costlyError, false])
  t.same(steps, ['failed', 'slow, first: true, since 77', 'give 10', 'log b1', 'stored b1'])
  t.equal(inserter.delay, null)
  await inserter.storeNext(dataSource)
  t.equal(steps[6], 'slow, first: false, since 77')
})

t.test('a search for refused rows that costs too much ends in pieces too', async (t) => {
  const insert = async (): Promise<never> => {
    throw rowsError
  }
  const isolate = async (): Promise<never> => {
    throw costlyError
  }
  const { inserter, steps } = open([[batchOf(1)]], { blocks: { insert, isolate } })
  await inserter.storeNext(dataSource)
  t.same(steps, ['failed', 'slow, first: true, since 77', 'give 10', 'log b1', 'stored b1'])
})

t.test('slow blocks are told as the first until one is quick again', async (t) => {
  const setting = { isSlow: true }
  const { inserter, steps } = open([[batchOf(1)], [batchOf(2)], [batchOf(3)], [batchOf(4)]], setting)
  await inserter.storeNext(dataSource)
  await inserter.storeNext(dataSource)
  setting.isSlow = false
  await inserter.storeNext(dataSource)
  setting.isSlow = true
  await inserter.storeNext(dataSource)
  const told = steps.filter((step) => step.startsWith('slow')).map((step) => step.split(',')[1])
  t.same(told, [' first: true', ' first: false', ' first: true'])
})

t.test('what an insert came to after the log closed is not noted', async (t) => {
  let end = (): void => undefined
  const insert = () =>
    new Promise<BlockCounts>((resolve) => {
      end = () => resolve({ rowCount: 1, quarantinedRowCount: 0 })
    })
  const { inserter, steps } = open([], { named: [blockOf('old', [batchOf(1)])], blocks: { insert } })
  const storing = inserter.storeNext(dataSource)
  inserter.abandon()
  end()
  await storing
  t.same([inserter.isAbandoned, inserter.blockCount, steps], [true, 1, ['drained']], 'the next start inserts it again')
})
