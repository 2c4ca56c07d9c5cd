import t from 'tap'
import { type Chunk, type ChunkLimits, cutChunks } from '../../../src/materialize/populate/populate-chunks.ts'
import type { PinnedPart } from '../../../src/store/pins.types.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { byTier } from '../../support/tier.ts'

/** The numbers of the rows that chunks take, counted through all parts. */
function rowsOf(chunks: readonly Chunk[], parts: readonly PinnedPart[]): readonly number[] {
  const before = new Map<string, number>()
  let count = 0
  for (const { name, rowCount } of parts) {
    before.set(name, count)
    count += rowCount
  }
  return chunks.flatMap(({ pieces }) =>
    pieces.flatMap(({ part, range, sample }) => {
      const rowCount = parts.find(({ name }) => name === part)?.rowCount ?? 0
      const { from, to } = range ?? { from: 0, to: rowCount }
      const rows = Array.from({ length: to - from }, (_, index) => from + index)
      const taken = sample === undefined ? rows : rows.filter((row) => row % sample.step === sample.rest)
      return taken.map((row) => row + (before.get(part) ?? 0))
    }),
  )
}

t.test('chunks have every row once, or every n-th, within the limits and partition by partition', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  for (let round = 0; round < byTier({ quick: 40, full: 200, soak: 10_000 }); round += 1) {
    const parts = Array.from({ length: random.below(12) }, (_, index) => {
      const rowCount = 1 + random.below(random.below(3) === 0 ? 90_000 : 50)
      return {
        name: `p_${index}`,
        partition: String(Math.floor(index / 4)),
        rowCount,
        byteCount: rowCount * (1 + random.below(200)),
      }
    })
    const limits = {
      rowsMax: 1 + random.below(80_000),
      bytesMax: 1 + random.below(2_000_000),
      step: random.below(2) === 0 ? 1 : 2 + random.below(40),
      isByKey: random.below(2) === 0,
      isEven: random.below(2) === 0,
    }
    const chunks = cutChunks(parts, limits)
    const total = parts.reduce((rows, { rowCount }) => rows + rowCount, 0)
    const wanted = Array.from({ length: Math.ceil(total / limits.step) }, (_, index) => index * limits.step)
    const context = JSON.stringify({ round, limits })
    const rows = rowsOf(chunks, parts)
    const taken = limits.isByKey ? rows.toSorted((a, b) => a - b) : rows
    if (!t.same(taken, wanted, context)) break
    t.same(cutChunks(parts, limits), chunks, 'always the same')
    for (const { pieces, rowCount } of chunks) {
      t.equal(rowsOf([{ pieces, rowCount }], parts).length, rowCount)
      t.ok(rowCount <= limits.rowsMax, context)
      const partitions = new Set(pieces.map(({ part }) => parts.find(({ name }) => name === part)?.partition))
      t.equal(partitions.size, 1)
    }
  }
})

t.test('a chunk has a bounded number of pieces', async (t) => {
  const parts = Array.from({ length: 1_001 }, (_, index) => {
    return { name: `p_${index}`, partition: 'all', rowCount: 1, byteCount: 8 }
  })
  const chunks = cutChunks(parts, { rowsMax: 1_000_000, bytesMax: 1_000_000, step: 1 })
  t.same(
    chunks.map(({ pieces }) => pieces.length),
    [200, 200, 200, 200, 200, 1],
  )
})

t.test('chunks by key take the same share of each large part, and small parts beside', (t) => {
  const sizes = [200_000, 100_000, 500]
  const parts = sizes.map((rowCount, index) => {
    return { name: `p_${index}`, partition: 'all', rowCount, byteCount: rowCount }
  })
  const chunks = cutChunks(parts, { rowsMax: 170_000, bytesMax: 1_000_000, step: 1, isByKey: true })
  t.same(
    chunks.map(({ pieces }) => pieces.map(({ part, range }) => [part, range?.from, range?.to])),
    [
      [
        ['p_0', 0, 98_304],
        ['p_1', 0, 49_152],
      ],
      [
        ['p_0', 98_304, 200_000],
        ['p_1', 49_152, 100_000],
      ],
      [['p_2', undefined, undefined]],
    ],
  )
  t.end()
})

t.test('where it is asked for, pieces of a part are alike, and as few as the limits let', (t) => {
  const part = { name: 'p', partition: 'all', rowCount: 6_000_000, byteCount: 48_000_000 }
  const sizes = (limits: Pick<ChunkLimits, 'isEven' | 'rowsMax'>): readonly number[] =>
    cutChunks([part], { ...limits, bytesMax: 64_000_000, step: 1 }).map(({ rowCount }) => rowCount)
  t.same(sizes({ rowsMax: 2_000_000 }), [1_998_848, 1_998_848, 1_998_848, 3_456], 'as a populate of an earlier release')
  t.same(sizes({ rowsMax: 2_000_000, isEven: true }), [1_507_328, 1_507_328, 1_507_328, 1_478_016])
  t.same(sizes({ rowsMax: 2_007_040, isEven: true }), [2_007_040, 2_007_040, 1_985_920])
  t.end()
})

const piecesOf = (chunks: readonly Chunk[]) => chunks.map(({ pieces }) => pieces)

t.test('behind wide chunks that are kept come common ones of the rows that are left', (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  for (let round = 0; round < byTier({ quick: 40, full: 200, soak: 10_000 }); round += 1) {
    const parts = Array.from({ length: 1 + random.below(8) }, (_, index) => {
      const rowCount = 1 + random.below(random.below(2) === 0 ? 60_000 : 50)
      return { name: `p_${index}`, partition: String(Math.floor(index / 4)), rowCount, byteCount: rowCount * 10 }
    })
    const common = { rowsMax: 8_192, bytesMax: 1_000_000 }
    const limits = { rowsMax: 32_768, bytesMax: 4_000_000, step: 1 + random.below(2) * random.below(9), isEven: true }
    const wide = cutChunks(parts, { ...limits, wide: { groupsMax: 8_192, common } })
    t.same(wide, cutChunks(parts, limits))
    t.equal(wide[0]?.areAll ?? false, wide.length === 1 && limits.step === 1)
    const count = random.below(wide.length + 1)
    const chunks = cutChunks(parts, { ...limits, wide: { groupsMax: 8_192, common, count } })
    t.same(piecesOf(chunks.slice(0, count)), piecesOf(wide.slice(0, count)))
    t.ok(chunks.slice(count).every(({ rowCount }) => rowCount <= common.rowsMax))
    t.same(rowsOf(chunks, parts), rowsOf(wide, parts), 'every row once')
  }
  t.end()
})
