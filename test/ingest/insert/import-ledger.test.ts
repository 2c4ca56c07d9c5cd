import t from 'tap'
import { ImportLedger } from '../../../src/ingest/insert/import-ledger.ts'
import { type LedgerState, noCounts, type PlaceCounts } from '../../../src/ingest/insert/import-ledger.types.ts'
import type { LikenessKind } from '../../../src/ingest/insert/text-likeness.types.ts'

const part = new Uint8Array(1)

/** A ledger whose saves and syncs are kept in the order in which they end. */
function open(state: LedgerState | null = null) {
  const saved: LedgerState[] = []
  const acts: string[] = []
  const clock = { nowMs: 0 }
  const changes = { name: 'a', changeCount: 0, count: () => changes.changeCount }
  const table = { blocks: 100, tables: 'a' }
  const during = { sync: (): void => undefined }
  const ledger = new ImportLedger(state, {
    prefix: 'job-0',
    async save(next) {
      saved.push(structuredClone(next))
      acts.push('save')
    },
    async sync() {
      acts.push('sync')
      during.sync()
    },
    changes,
    tableMark: async () => ({ ...table }),
    now: () => clock.nowMs,
  })
  return { ledger, saved, acts, clock, changes, during, table }
}

function counts(rows: number): PlaceCounts {
  return { ...noCounts, rows, records: rows }
}

t.test('a block has its name on disk before whoever asked for it goes on', async (t) => {
  const { ledger, saved } = open()
  const block = await ledger.rows.name([{ start: 0, end: 10 }], 1)
  t.equal(block.blockId, 'job-0-r0')
  t.match(saved.at(-1)?.rows.named, [{ blockId: 'job-0-r0', ranges: [{ start: 0, end: 10 }] }])
  const other = await ledger.quarantine.name([{ start: 0, end: 10 }], 1)
  t.equal(other.blockId, 'job-0-q0', 'the sides have names of their own')
})

t.test('what the engine has counts as stored once it is synced, and not before', async (t) => {
  const { ledger, saved, acts, clock } = open()
  const first = await ledger.rows.name([{ start: 0, end: 10 }], 1)
  ledger.rows.noteStored(first, counts(5))
  await ledger.rows.name([{ start: 10, end: 20 }], 1)
  t.same(acts, ['save', 'save'])
  t.same(saved.at(-1)?.rows.stored, [])
  t.equal(ledger.rows.counts.rows, 5, 'whoever asks now is told of it')
  clock.nowMs = 2_000
  await ledger.rows.name([{ start: 20, end: 30 }], 1)
  t.same(acts, ['save', 'save', 'sync', 'save'])
  t.same(saved.at(-1)?.rows.stored, [{ start: 0, end: 10 }])
  t.equal(saved.at(-1)?.rows.counts.rows, 5)
  t.same(
    saved.at(-1)?.rows.named.map(({ blockId }) => blockId),
    ['job-0-r1', 'job-0-r2'],
  )
})

t.test('one that goes on inserts a named block again when all of its parts are there, in their order', async (t) => {
  const before = open()
  await before.ledger.rows.name(
    [
      { start: 10, end: 20 },
      { start: 30, end: 40 },
    ],
    1,
  )
  const { ledger } = open(before.saved.at(-1) ?? null)
  const placed = (start: number, end: number) =>
    ledger.rows.place({ part, rowCount: 1, range: { start, end }, counts: noCounts })
  t.equal(placed(20, 30).kind, 'open', 'what has no name was never inserted')
  t.equal(placed(30, 40).kind, 'held')
  const whole = placed(10, 20)
  t.match(whole, { kind: 'whole', block: { blockId: 'job-0-r0' } })
  t.same(whole.kind === 'whole' && whole.parts.map(({ range }) => range.start), [10, 30])
  t.equal((await ledger.rows.name([{ start: 20, end: 30 }], 1)).blockId, 'job-0-r1', 'names are not given twice')
})

t.test('parts that are cut otherwise than those of a named block are refused', async (t) => {
  const before = open()
  await before.ledger.rows.name([{ start: 10, end: 20 }], 1)
  const { ledger } = open(before.saved.at(-1) ?? null)
  const range = { start: 15, end: 25 }
  t.equal(ledger.rows.place({ part, rowCount: 1, range, counts: noCounts }).kind, 'open')
  await t.rejects(ledger.rows.name([range], 1), { code: 'IMPORT_NOT_RESUMABLE' })
  await t.rejects(ledger.rows.claim(range, 1), { code: 'IMPORT_NOT_RESUMABLE' })
  t.match(await ledger.rows.claim({ start: 10, end: 20 }, 1), { blockId: 'job-0-r0' })
})

t.test('a body that ends before its named blocks are there is told', async (t) => {
  const before = open()
  await before.ledger.quarantine.name([{ start: 10, end: 20 }], 1)
  const { ledger } = open(before.saved.at(-1) ?? null)
  t.throws(() => ledger.checkWhole(), { code: 'IMPORT_NOT_RESUMABLE' })
})

t.test('what both tables have need not be read again', async (t) => {
  const { ledger } = open()
  ledger.rows.noteEmpty({ start: 0, end: 10 }, noCounts)
  ledger.quarantine.noteEmpty({ start: 0, end: 10 }, { ...noCounts, records: 3 })
  const block = await ledger.rows.name([{ start: 10, end: 20 }], 1)
  ledger.rows.noteStored(block, counts(4))
  await ledger.settle()
  t.same(ledger.stored.ranges, [{ start: 0, end: 10 }])
  ledger.quarantine.noteEmpty({ start: 10, end: 20 }, { ...noCounts, records: 4 })
  t.same(ledger.stored.ranges, [{ start: 0, end: 20 }])
  t.match(ledger.counts, { storedRows: 4, quarantinedRows: 0 })
})

t.test('a block that is stored while a sync runs may not be on the disk behind it, and is in doubt', async (t) => {
  const { ledger, saved, during } = open()
  const first = await ledger.rows.name([{ start: 0, end: 10 }], 1)
  const second = await ledger.rows.name([{ start: 10, end: 20 }], 1)
  ledger.rows.noteStored(first, counts(5))
  during.sync = () => {
    during.sync = () => undefined
    ledger.rows.noteStored(second, counts(7))
  }
  await ledger.settle()
  t.same(saved.at(-1)?.rows.stored, [{ start: 0, end: 10 }])
  t.same(
    saved.at(-1)?.rows.named.map(({ blockId }) => blockId),
    ['job-0-r1'],
  )
  t.equal(ledger.rows.counts.rows, 12)
  await ledger.settle()
  t.same(saved.at(-1)?.rows.stored, [{ start: 0, end: 20 }])
  t.equal(saved.at(-1)?.rows.counts.rows, 12)
})

t.test('a block that a change may have taken from the engine is not inserted again', async (t) => {
  const before = open()
  const { changes } = before
  await before.ledger.rows.name([{ start: 0, end: 10 }], 1)
  // Those that are named while a change is under way may come before it or behind it.
  changes.changeCount = 0.5
  await before.ledger.rows.name([{ start: 10, end: 20 }], 1)
  changes.changeCount = 1
  await before.ledger.rows.name([{ start: 20, end: 30 }], 1)
  await before.ledger.quarantine.name([{ start: 0, end: 10 }], 1)
  const after = open(before.saved.at(-1) ?? null)
  after.changes.changeCount = 1
  const placed = (start: number) =>
    after.ledger.rows.place({ part, rowCount: 1, range: { start, end: start + 10 }, counts: noCounts })
  t.throws(() => placed(0), { code: 'IMPORT_OVERTAKEN', message: /"a"/ })
  t.throws(() => placed(10), { code: 'IMPORT_OVERTAKEN' })
  t.equal(placed(20).kind, 'whole')
  await t.rejects(after.ledger.rows.claim({ start: 0, end: 10 }, 1), { code: 'IMPORT_OVERTAKEN' })
  after.changes.changeCount = 2
  await t.rejects(after.ledger.quarantine.claim({ start: 0, end: 10 }, 1), { code: 'IMPORT_OVERTAKEN' })
})

t.test('what the engine has stored of a block that it refused is on the disk before that is noted', async (t) => {
  const { ledger, saved, acts } = open()
  const block = await ledger.rows.name([{ start: 0, end: 10 }], 1)
  await ledger.rows.noteSearched(block)
  t.same(acts, ['save', 'sync', 'save'])
  t.match(saved.at(-1)?.rows.named, [{ isSearched: true }])
})

t.test('what is kept of blocks of many small parts is bounded: they are synced before their time', async (t) => {
  const { ledger, saved } = open()
  for (let block = 0; block < 100; block += 1) {
    const ranges = Array.from({ length: 128 }, (_, index) => ({
      start: 128 * block + index,
      end: 128 * block + index + 1,
    }))
    ledger.rows.noteStored(await ledger.rows.name(ranges, 1), counts(128))
  }
  const bytes = saved.map((state) => JSON.stringify(state).length)
  t.ok(Math.max(...bytes) < 64 * 1024, `${Math.max(...bytes)} bytes`)
})

t.test('a header of more fields than can be kept is not kept', async (t) => {
  const { ledger } = open()
  ledger.fieldColumns = Array.from({ length: 50_000 }, () => -1)
  t.equal(ledger.state().fieldColumns?.length, 50_000)
  ledger.fieldColumns = Array.from({ length: 50_001 }, () => -1)
  t.equal(ledger.state().fieldColumns, null)
})

t.test('rows of a block that is stored in part are told, and not kept as stored', async (t) => {
  const { ledger, saved } = open()
  await ledger.rows.name([{ start: 0, end: 10 }], 1)
  ledger.rows.notePartly({ rows: 4, refusedRows: 1 })
  await ledger.settle()
  t.match(ledger.counts, { storedRows: 3, quarantinedRows: 1 })
  t.match(saved.at(-1)?.rows, { counts: noCounts, named: [{ blockId: 'job-0-r0' }] })
})

t.test('a block that so many others came behind that the engine may not know it is not inserted again', async (t) => {
  const before = open()
  await before.ledger.rows.name([{ start: 0, end: 10 }], 1)
  const { ledger, table } = open(before.saved.at(-1) ?? null)
  const placed = ledger.rows.place({ part, rowCount: 1, range: { start: 0, end: 10 }, counts: noCounts })
  t.ok(placed.kind === 'whole')
  if (placed.kind !== 'whole') return
  table.blocks = 9_100
  await ledger.rows.checkRemembered(placed.block)
  table.blocks = 9_101
  await t.rejects(ledger.rows.checkRemembered(placed.block), { code: 'IMPORT_OVERTAKEN' })
})

t.test('a block is not inserted again when the tables behind the views are other ones by then', async (t) => {
  const before = open()
  await before.ledger.rows.name([{ start: 0, end: 10 }], 1)
  const { ledger, table } = open(before.saved.at(-1) ?? null)
  const [block] = before.saved.at(-1)?.rows.named ?? []
  if (block === undefined) throw new Error('a block has its name')
  await ledger.rows.checkRemembered(block)
  table.tables = 'others'
  await t.rejects(ledger.rows.checkRemembered(block), { code: 'IMPORT_OVERTAKEN' })
})

t.test('rows of blocks that are named and not known to be stored are in doubt', async (t) => {
  const before = open()
  const first = await before.ledger.rows.name([{ start: 0, end: 10 }], 5)
  await before.ledger.quarantine.name([{ start: 0, end: 10 }], 2)
  t.equal(before.ledger.doubtfulRows, 7)
  before.ledger.rows.noteStored(first, counts(5))
  t.equal(before.ledger.doubtfulRows, 2)
  const { ledger } = open(before.saved.at(-1) ?? null)
  t.equal(ledger.doubtfulRows, 7, 'one that goes on knows what was kept')
})

t.test('one that reads a body anew keeps what an earlier process knew of its text', (t) => {
  const text = { kind: 'open' as LikenessKind }
  const { ledger } = open()
  t.equal(ledger.likeness, 'open')
  ledger.follow(text)
  text.kind = 'same'
  const later = open(ledger.state()).ledger
  later.follow({ kind: 'open' })
  t.equal(later.likeness, 'same')
  later.follow({ kind: 'other' })
  t.equal(later.likeness, 'other')
  const { likeness: _, ...older } = ledger.state()
  t.equal(open(older).ledger.likeness, 'other', 'earlier versions have kept nothing of it')
  t.end()
})

t.test('a block that is noted while the end of its import notes it too counts once', async (t) => {
  const { ledger, saved, clock } = open()
  const block = await ledger.rows.name([{ start: 0, end: 10 }], 5)
  ledger.rows.noteStored(block, counts(5))
  clock.nowMs = 5_000
  await Promise.all([ledger.noteInTime(), ledger.settle(), ledger.noteInTime(), ledger.settle()])
  t.equal(ledger.counts.storedRows, 5)
  t.equal(saved.at(-1)?.rows.counts.rows, 5)
})

t.test('what is told as kept is on disk, and so no kill takes it back', async (t) => {
  const { ledger, saved, clock } = open()
  const block = await ledger.rows.name([{ start: 0, end: 10 }], 5)
  ledger.rows.noteStored(block, counts(5))
  t.equal(ledger.counts.storedRows, 5)
  await ledger.noteInTime()
  t.equal(ledger.keptCounts.storedRows, 0, 'it was synced a moment ago')
  clock.nowMs = 2_000
  await ledger.noteInTime()
  t.equal(ledger.keptCounts.storedRows, 5)
  t.equal(open(saved.at(-1) ?? null).ledger.keptCounts.storedRows, 5)
})

t.test('a block that the engine got nothing of is in doubt no more, but one of an earlier process is', async (t) => {
  const before = open()
  const block = await before.ledger.rows.name([{ start: 0, end: 10 }], 5)
  const { ledger } = open(before.saved.at(-1) ?? null)
  const own = await ledger.rows.name([{ start: 10, end: 20 }], 7)
  ledger.rows.takeBack(own)
  ledger.rows.takeBack(block)
  t.equal(ledger.doubtfulRows, 5)
})
