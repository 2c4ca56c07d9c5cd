import t from 'tap'
import { CsvBoundary } from '../../../src/codec/csv/csv-boundary.ts'
import { csvDialect } from '../../../src/codec/csv/csv-dialect.ts'
import { FrameAssembler, FrameBuffers, NdjsonBoundary } from '../../../src/codec/frame-assembler.ts'
import { type PlacedFrame, PlacedFrames } from '../../../src/ingest/bodies/placed-frames.ts'
import { ImportLedger } from '../../../src/ingest/insert/import-ledger.ts'
import { type LedgerState, noCounts } from '../../../src/ingest/insert/import-ledger.types.ts'
import { type PlaceRange, RangeSet } from '../../../src/ingest/insert/range-set.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { byTier } from '../../support/tier.ts'

const limits = { frameBytes: 256, recordBytesMax: 4_096 }
type Format = 'csv' | 'ndjson'

function framesOf(format: Format, state: LedgerState | null) {
  const buffers = new FrameBuffers({ frameBytes: limits.frameBytes, keptMax: 0 })
  const changes = { name: 'a', count: () => 0 }
  const deps = {
    prefix: 'x',
    save: async () => undefined,
    sync: async () => undefined,
    changes,
    tableMark: async () => ({ blocks: 0, tables: '' }),
    now: () => 0,
  }
  const ledger = state === null ? undefined : new ImportLedger(state, deps)
  const createAssembler = (isContinued: boolean): FrameAssembler => {
    const boundary = format === 'csv' ? new CsvBoundary(csvDialect(',', null)) : new NdjsonBoundary()
    return new FrameAssembler({ ...limits, isContinued }, boundary, buffers)
  }
  return new PlacedFrames({ ledger, buffers, createAssembler })
}

interface ReadFrame {
  readonly text: string
  readonly range: PlaceRange
}

/** Reads a body that arrives in chunks of these sizes, over and over. */
function read(
  body: Buffer,
  format: Format,
  {
    state,
    sizes,
    isPassedOver = false,
  }: { state: LedgerState | null; sizes: readonly number[]; isPassedOver?: boolean },
) {
  const frames = framesOf(format, state)
  if (isPassedOver) frames.passOverStored()
  const found: ReadFrame[] = []
  const keep = ({ frame, range }: PlacedFrame): void => {
    found.push({ text: Buffer.from(frame.bytes.subarray(0, frame.byteCount)).toString('latin1'), range })
  }
  for (let start = isPassedOver ? frames.storedBytes : 0, index = 0; start < body.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1
    for (const placed of frames.push(body.subarray(start, start + size))) keep(placed)
    start += size
  }
  for (const placed of frames.end()) keep(placed)
  return found
}

t.test('frames follow one another, and a mark and a last line without an end are counted', async (t) => {
  for (const sizes of [[1], [7], [1_000]]) {
    const frames = read(Buffer.from('\ufeff{"a":1}\n{"a":2}'), 'ndjson', { state: null, sizes })
    t.same(frames, [{ text: '{"a":1}\n{"a":2}\n', range: { start: 0, end: 19 } }])
  }
})

t.test('a body that is gone on with gives each record once, and parts of named blocks as they were', async (t) => {
  const seed = testSeed()
  const random = new SeededRandom(seed)
  const rounds = byTier({ quick: 300, full: 2_000, soak: 200_000 })
  for (let round = 0; round < rounds; round += 1) {
    const format: Format = random.fraction() < 0.5 ? 'csv' : 'ndjson'
    const body = bodyOf(format, random)
    const first = read(body, format, { state: null, sizes: sizesOf(random) })
    const rows = sideOf(first, random, 'r')
    const quarantine = sideOf(first, random, 'q')
    const state = { fieldColumns: null, rows: rows.state, quarantine: quarantine.state }
    const again = read(body, format, { state, sizes: sizesOf(random) })
    const told = `seed ${seed}, round ${round}`
    const behind = read(body, format, { state, sizes: sizesOf(random), isPassedOver: true })
    t.same(again, behind, `${told}: the same when the body begins behind what is stored`)
    const whole = first.map(({ text }) => text).join('')
    for (const side of [rows, quarantine]) {
      const stored = new RangeSet(side.state.stored)
      for (const { blockId, ranges } of side.state.named) {
        for (const range of ranges) {
          const part = again.filter((one) => one.range.start === range.start && one.range.end === range.end)
          const before = first.find((one) => one.range.start === range.start)
          t.ok(part.length === 1 && part[0]?.text === before?.text, `${told}: ${blockId} at ${range.start}`)
        }
      }
      // What this side needs is read once, and cut nowhere else.
      const needed = again.filter((one) => !stored.covers(one.range))
      const texts = [...needed, ...first.filter((one) => stored.covers(one.range))]
      const joined = texts.toSorted((a, b) => a.range.start - b.range.start).map(({ text }) => text)
      t.equal(joined.join(''), whole, told)
    }
    if (!t.passing()) return
  }
})

t.test('a quote that is never closed was a line of its own, and is so when the body is gone on with', async (t) => {
  const rest = Array.from({ length: 600 }, (_, index) => `${index},word\n`).join('')
  const body = Buffer.from(`1,a\n2,"open\n${rest}`)
  const sizes = [10_000]
  const first = read(body, 'csv', { state: null, sizes })
  t.same(first[1], { text: '2,"open\n', range: { start: 4, end: 12 } })
  // The block behind it has a name, and that of the line itself had none yet.
  const named = [
    {
      blockId: 'r0',
      ranges: [first[2]?.range ?? { start: 0, end: 0 }],
      isSearched: false,
      changeCount: 0,
    },
  ]
  const side = { next: 1, stored: [], counts: noCounts, named }
  const state = { fieldColumns: null, rows: side, quarantine: { ...side, named: [] } }
  const again = read(body, 'csv', { state, sizes })
  t.same(
    again.find(({ range }) => range.start === 12),
    first[2],
  )
  t.equal(again.map(({ text }) => text).join(''), first.map(({ text }) => text).join(''))
})

function sizesOf(random: SeededRandom): readonly number[] {
  return Array.from({ length: 5 }, () => 1 + Math.floor(random.fraction() ** 3 * 900))
}

function bodyOf(format: Format, random: SeededRandom): Buffer {
  const records = Array.from({ length: Math.floor(random.fraction() * 120) }, (_, index) => {
    const text = 'x'.repeat(Math.floor(random.fraction() ** 4 * 300))
    if (format === 'ndjson') return JSON.stringify({ index, text })
    return random.fraction() < 0.2 ? `${index},"${text}\n""${text}"` : `${index},${text}`
  })
  const end = random.fraction() < 0.5 ? '\n' : ''
  return Buffer.from(`${random.fraction() < 0.2 ? '\ufeff' : ''}${records.join('\n')}${end}`)
}

/** Some frames are stored, some are parts of blocks that have names, and the others are open. */
function sideOf(frames: readonly ReadFrame[], random: SeededRandom, prefix: string) {
  const stored = new RangeSet()
  const blocks = new Map<number, PlaceRange[]>()
  for (const { range } of frames) {
    const choice = random.fraction()
    if (choice < 0.4) stored.add(range)
    else if (choice < 0.7) {
      const block = Math.floor(random.fraction() * 3)
      blocks.set(block, [...(blocks.get(block) ?? []), range])
    }
  }
  const named = [...blocks].map(([block, ranges]) => ({
    blockId: `${prefix}${block}`,
    ranges,
    isSearched: false,
    changeCount: 0,
  }))
  return { state: { next: 3, stored: stored.ranges, counts: noCounts, named } }
}
