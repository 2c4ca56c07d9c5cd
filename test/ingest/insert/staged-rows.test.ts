import t from 'tap'
import { stageInPieces, withStagedRows } from '../../../src/ingest/insert/staged-rows.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { SeededRandom } from '../../support/seeded-random.ts'

const slow = new StoreError({ kind: 'engine', message: 'Timeout exceeded: elapsed 60 s', clickhouseCode: 159 })
const large = new StoreError({
  kind: 'engine',
  message: 'Query memory limit exceeded: would use 1 GiB',
  clickhouseCode: 241,
})
const wrong = new StoreError({ kind: 'engine', message: 'Cannot parse', clickhouseCode: 6 })

/** Inserts that take rows of so much cost together. */
function pieces(costOf: (row: number) => number | Error, costMax: number) {
  const taken: number[] = []
  const tried: number[] = []
  const insert = async (rows: readonly number[]): Promise<void> => {
    tried.push(rows.length)
    let cost = 0
    for (const row of rows) {
      const of = costOf(row)
      if (of instanceof Error) throw of
      cost += of
    }
    if (cost > costMax) throw slow
    taken.push(...rows)
  }
  return { insert, taken, tried }
}

const rowsUpTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

t.test('rows that cost too much together are all taken, in their order', async (t) => {
  for (const count of [1, 2, 3, 7, 64, 1_000]) {
    const { insert, taken } = pieces(() => 1, Math.max(1, count / 10))
    t.same(await stageInPieces(insert, rowsUpTo(count)), { refused: [], costly: [], untried: [] })
    t.same(taken, rowsUpTo(count))
  }
})

t.test('rows that cost too much alone are given, and the others are taken in their order', async (t) => {
  const bad = new Set([0, 17, 18, 99])
  const { insert, taken } = pieces((row) => (bad.has(row) ? 1_000 : 1), 100)
  t.same(await stageInPieces(insert, rowsUpTo(100)), { refused: [...bad], costly: [...bad], untried: [] })
  t.same(
    taken,
    rowsUpTo(100).filter((row) => !bad.has(row)),
  )
})

t.test('rows that are refused for what is in them are given beside those that cost too much', async (t) => {
  const { insert, taken } = pieces((row) => (row === 3 ? wrong : row === 7 ? 1_000 : 1), 5)
  t.same(await stageInPieces(insert, rowsUpTo(10)), { refused: [3, 7], costly: [7], untried: [] })
  t.same(taken, [0, 1, 2, 4, 5, 6, 8, 9])
})

t.test('a definition that is too costly for any row gives them all after a few', async (t) => {
  const { insert, tried } = pieces(() => 1_000, 100)
  const found = await stageInPieces(insert, rowsUpTo(5_000))
  const few = rowsUpTo(8)
  t.same(found, { refused: few, costly: few, untried: rowsUpTo(5_000).slice(8) })
  t.ok(tried.length < 30, `${tried.length} pieces`)
})

t.test('every row is taken or given, once, however many fail', async (t) => {
  const { insert, taken, tried } = pieces((row) => (row % 3 === 1 ? 1_000 : 1), 10)
  const { refused, costly, untried } = await stageInPieces(insert, rowsUpTo(3_000))
  t.same(costly, refused)
  t.same(
    [...taken, ...refused, ...untried].toSorted((a, b) => a - b),
    rowsUpTo(3_000),
  )
  t.ok(refused.every((row) => row % 3 === 1))
  t.ok(tried.length < 300, `${tried.length} pieces`)
})

/** What each row alone would be: the slow way to find what is set aside. */
async function oneByOne(costOf: (row: number) => number | Error, costMax: number, count: number) {
  const { insert, taken } = pieces(costOf, costMax)
  const refused: number[] = []
  const costly: number[] = []
  for (const row of rowsUpTo(count)) {
    const error = await insert([row]).catch((thrown: unknown) => thrown)
    if (error !== undefined) refused.push(row)
    if (error === slow || error === large) costly.push(row)
  }
  return { taken, found: { refused, costly, untried: [] } }
}

interface Mix {
  readonly name: string
  readonly count: number
  /** Of how many rows the engine refuses, and how many take too much. */
  readonly wrong: number
  readonly slow: number
  readonly large: number
  /** What good rows may cost together. */
  readonly costMax: number
}

const mixes: readonly Mix[] = [
  { name: 'many refused', count: 6_000, wrong: 150, slow: 0, large: 0, costMax: 1e9 },
  { name: 'a thousand refused', count: 6_000, wrong: 1_000, slow: 0, large: 0, costMax: 1e9 },
  { name: 'a few slow', count: 6_000, wrong: 0, slow: 3, large: 0, costMax: 1e6 },
  { name: 'a few slow beside many refused', count: 4_000, wrong: 200, slow: 3, large: 0, costMax: 1e6 },
  { name: 'many large', count: 3_000, wrong: 0, slow: 0, large: 40, costMax: 1e6 },
  { name: 'all three', count: 2_000, wrong: 50, slow: 2, large: 10, costMax: 1e6 },
  { name: 'good rows that are too much together', count: 3_000, wrong: 0, slow: 0, large: 0, costMax: 20 },
  { name: 'these beside others', count: 2_000, wrong: 100, slow: 1, large: 0, costMax: 100 },
  { name: 'two rows', count: 2, wrong: 1, slow: 1, large: 0, costMax: 1 },
]

for (const mix of mixes) {
  for (const seed of [1, 2, 3, 4]) {
    t.test(`no good row is set aside: ${mix.name}, seed ${seed}`, async (t) => {
      const random = new SeededRandom(seed)
      const rows = rowsUpTo(mix.count)
        .map((row) => ({ row, rank: random.fraction() }))
        .toSorted((a, b) => a.rank - b.rank)
        .map(({ row }) => row)
      const costs = new Map<number, number | Error>()
      const kinds = [
        { error: wrong, times: mix.wrong },
        { error: slow, times: mix.slow },
        { error: large, times: mix.large },
      ]
      for (const { error, times } of kinds) for (const row of rows.splice(0, times)) costs.set(row, error)
      const costOf = (row: number): number | Error => costs.get(row) ?? 1
      const { insert, taken } = pieces(costOf, mix.costMax)
      const found = await stageInPieces(insert, rowsUpTo(mix.count))
      const expected = await oneByOne(costOf, mix.costMax, mix.count)
      t.same(found, expected.found)
      t.same(taken, expected.taken)
    })
  }
}

t.test('rows in front of which seven take too much are taken', async (t) => {
  const { insert, taken } = pieces((row) => (row < 7 ? 1_000 : 1), 900)
  t.same(await stageInPieces(insert, rowsUpTo(500)), { refused: rowsUpTo(7), costly: rowsUpTo(7), untried: [] })
  t.same(taken, rowsUpTo(500).slice(7))
})

t.test(
  'when too much has failed, what is clean of the rest is taken, and the others are given as not tried',
  async (t) => {
    const { insert, taken, tried } = pieces((row) => (row < 1_000 && row % 10 === 9 ? slow : 1), 1e9)
    const { refused, costly, untried } = await stageInPieces(insert, rowsUpTo(3_000))
    t.same(costly, refused)
    t.ok(refused.every((row) => row % 10 === 9))
    t.ok(untried.length > 0)
    t.ok(taken.at(-1) === 2_999)
    t.equal(taken.length + refused.length + untried.length, 3_000)
    t.ok(tried.length < 500, `${tried.length} pieces`)
  },
)

t.test('what fails for another reason than the rows ends the search', async (t) => {
  const gone = new StoreError({ kind: 'engine', message: 'no table', clickhouseCode: 60 })
  await t.rejects(
    stageInPieces(async () => {
      throw gone
    }, [1, 2, 3]),
    gone,
  )
})

t.test('no rows are staged without an INSERT', async (t) => {
  const { insert, tried } = pieces(() => 1, 1)
  t.same(await stageInPieces(insert, []), { refused: [], costly: [], untried: [] })
  t.same(tried, [])
})

t.test('a piece whose INSERT ended at its limit, and had stored its rows, is staged once', async (t) => {
  const stored: number[] = []
  const tables = {
    countRows: async () => stored.length,
    drop: async () => undefined,
    recreateLike: async () => undefined,
  }
  const insert = async (rows: readonly number[]): Promise<number> => {
    const isLate = rows.length > 5
    if (!isLate || rows.includes(20)) stored.push(...rows)
    if (isLate) throw slow
    return rows.length
  }
  // Nothing else of a data source is read.
  const dataSource = { id: 't_1', columns: [], indexes: [], engine: { name: 'MergeTree', options: {} } } as never
  const rows = { dataSource, table: 't_1_pieces', candidates: rowsUpTo(40), insert }
  const { refused, source } = await withStagedRows(tables, rows, async (staged) => staged)
  t.same(refused, [])
  t.equal(source.rowCount, 40)
  t.same(stored, rowsUpTo(40))
})
