import t from 'tap'
import { recoverEvents } from '../../../src/ingest/events/events-recovery.ts'
import { IdempotencyIndex } from '../../../src/ingest/events/idempotency-index.ts'
import { KeptBlocks, placeBehind } from '../../../src/ingest/events/kept-blocks.ts'
import type { NamedBlock } from '../../../src/ingest/insert/block.types.ts'
import { bookkeepingEntry, encodeBlockName, encodeStored } from '../../../src/wal/entry-payloads.ts'
import { firstSequence, type Sequence, toSequence } from '../../../src/wal/sequence.ts'
import type { NewEntry, WalEntry } from '../../../src/wal/wal.types.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'

function blockOf(blockId: string, ...sequences: readonly number[]): NamedBlock {
  const loggedBytes = sequences.length * 10
  return { blockId, sequences: sequences.map(toSequence), setAside: [], beyond: [], loggedBytes, namedAtMs: 0 }
}

function open(bytesMax = 1_000) {
  const state = { beyond: 0 }
  const kept = new KeptBlocks({
    bytesMax,
    onBeyond: () => {
      state.beyond += 1
    },
  })
  const idsOf = (keeper: string): readonly string[] => kept.blocksOf(keeper).map(({ blockId }) => blockId)
  return { kept, state, idsOf }
}

t.test('blocks are kept from the place of each keeper on', (t) => {
  const { kept, idsOf } = open()
  kept.noteStored('s', blockOf('a', 1))
  t.same([kept.first(), kept.size.bytes], [null, 0])
  kept.keep({ keeper: 'one', dataSourceId: 's', place: toSequence(2) })
  kept.noteStored('s', blockOf('b', 2, 3))
  kept.noteStored('other', blockOf('x', 4))
  kept.keep({ keeper: 'two', dataSourceId: 's', place: toSequence(5) })
  kept.noteStored('s', blockOf('c', 5))
  t.same([idsOf('one'), idsOf('two'), idsOf('none')], [['b', 'c'], ['c'], []])
  t.same(kept.countsOf('one'), { blockCount: 2, byteCount: 30 })
  t.same([kept.first(), kept.size.bytes], [2, 30])
  t.same([...kept.firstBefore(toSequence(3))], [['s', 2]])
  t.same([...kept.firstBefore(toSequence(2))], [])

  kept.moveTo('one', placeBehind(blockOf('b', 2, 3)))
  t.same([idsOf('one'), idsOf('two'), kept.first(), kept.size.bytes], [['c'], ['c'], 4, 10])
  kept.letGo('one')
  t.same([idsOf('two'), kept.first()], [['c'], 5])
  kept.letGo('two')
  kept.letGo('two')
  t.same([kept.first(), kept.size.bytes], [null, 0])
  t.end()
})

t.test('what is beyond the bound is told, and kept until somebody lets go', (t) => {
  const { kept, state, idsOf } = open(20)
  kept.keep({ keeper: 'one', dataSourceId: 's', place: firstSequence })
  kept.noteStored('s', blockOf('a', 1, 2))
  t.equal(state.beyond, 0)
  kept.noteStored('s', blockOf('b', 3))
  t.equal(state.beyond, 1)
  t.same(idsOf('one'), ['a', 'b'])
  t.end()
})

/** A log in memory. */
class FakeLog {
  readonly entries: WalEntry[] = []

  get next(): number {
    return this.entries.length + 1
  }

  write(entry: NewEntry): Sequence {
    const sequence = toSequence(this.next)
    this.entries.push({ ...entry, sequence })
    return sequence
  }

  rows(stream: string): Sequence {
    const payload = new Uint8Array(5)
    const kind = { kind: 'rows', stream, version: 0, encoding: 'identity', flags: 0, acceptedAtMs: 0 } as const
    return this.write({ ...kind, rowCount: 1, quarantinedRowCount: 0, payload })
  }

  name(stream: string, block: NamedBlock): void {
    this.write(bookkeepingEntry({ kind: 'blockName', stream, atMs: 0, payload: encodeBlockName(block) }))
  }

  stored(stream: string, { blockId, sequences }: NamedBlock): void {
    const last = sequences.at(-1) ?? null
    const payload = encodeStored({ blockId, last, rowCount: 1, quarantinedRowCount: 0 })
    this.write(bookkeepingEntry({ kind: 'stored', stream, atMs: 0, payload }))
  }

  async *replay(): AsyncGenerator<WalEntry> {
    yield* this.entries
  }
}

async function recover(log: FakeLog, keptFrom: ReadonlyMap<string, Sequence>) {
  const places = { released: firstSequence, keptFrom, nowMs: 0 }
  return await recoverEvents(() => log.replay(), new IdempotencyIndex(10), places)
}

t.test('a start finds the blocks again that are stored and kept, and those that are not stored', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  for (let round = 0; round < 200; round += 1) {
    const log = new FakeLog()
    const named: NamedBlock[] = []
    let waiting: Sequence[] = []
    let storedCount = 0
    for (let step = 0; step < 40; step += 1) {
      const next = named[storedCount]
      switch (random.below(4)) {
        case 0:
          log.rows('other')
          break
        case 1:
          waiting.push(log.rows('s'))
          break
        case 2:
          if (waiting.length === 0) break
          named.push(blockOf(`b${named.length}`, ...waiting))
          waiting = []
          for (const block of named.slice(-1)) {
            log.name('s', block)
            log.name('s', block)
          }
          break
        default:
          if (next === undefined) break
          log.stored('s', next)
          storedCount += 1
      }
    }
    const firstKept = random.below(storedCount + 1)
    const from = named[firstKept]?.sequences[0] ?? toSequence(log.next)
    const { kept, sources } = await recover(log, new Map([['s', from]]))
    const history = kept.get('s')
    const place = `round ${round}`
    const idsOf = (blocks: readonly NamedBlock[] = []) => blocks.map(({ blockId, sequences }) => [blockId, sequences])
    t.same(idsOf(history?.blocks), idsOf(named.slice(firstKept, storedCount)), place)
    t.equal(history?.hasGaps, false, place)
    t.same(idsOf(sources.get('s')?.named), idsOf(named.slice(storedCount)), place)
    // Without a keeper nothing of it is looked for.
    t.same([...(await recover(log, new Map())).kept], [])
  }
})

t.test('blocks whose names or rows are lost are gaps', async (t) => {
  const make = (): FakeLog => {
    const log = new FakeLog()
    const block = blockOf('b', log.rows('s'), log.rows('s'))
    log.name('s', block)
    log.stored('s', block)
    return log
  }
  const without = (isLost: (entry: WalEntry) => boolean): FakeLog => {
    const log = make()
    log.entries.splice(0, log.entries.length, ...log.entries.filter((entry) => !isLost(entry)))
    return log
  }
  const from = new Map([['s', firstSequence]])
  t.equal((await recover(make(), from)).kept.get('s')?.hasGaps, false)
  for (const isLost of [({ kind }: WalEntry) => kind === 'blockName', ({ sequence }: WalEntry) => sequence === 1]) {
    t.equal((await recover(without(isLost), from)).kept.get('s')?.hasGaps, true)
  }
})
