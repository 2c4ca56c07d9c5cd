import t from 'tap'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { grownLimits, mannerOf } from '../../../src/materialize/populate/populate-manner.ts'
import type { CheckedQuery } from '../../../src/schema/expressions/checked-text.types.ts'
import { mebibyte } from '../../../src/shared/bytes.ts'

// As far as it is looked at.
const source = {
  columns: [{ name: 'id' }, { name: 'kind' }],
  engine: { name: 'MergeTree', options: { sorting_key: 'id' } },
} as unknown as DataSource

function manner(selects: readonly string[], isOrdered = false) {
  // No engine sees them.
  const branches = selects.map((select) => ({ view: { select: select as CheckedQuery }, source }))
  return mannerOf(branches, { isOrdered, rowsMax: 1_000 })
}

const common = { rowsMax: 1_000, isByKey: false, mayGrow: false }
const grouped = { ...common, bytesMax: 128 * mebibyte }
const byKind = 'SELECT kind, count() AS n FROM rows GROUP BY kind'

t.test('where rows are grouped by what they are not sorted by, the first chunk shows what others may have', (t) => {
  t.same(manner([byKind]), { ...grouped, mayGrow: true })
  t.end()
})

t.test('all else has chunks of common size', (t) => {
  t.same(manner(['SELECT id, kind FROM rows']), { ...common, bytesMax: 64 * mebibyte })
  t.same(manner(['SELECT kind, groupArray(kind) AS ks FROM rows GROUP BY kind']), grouped, 'rows in their order')
  t.same(manner([byKind], true), grouped, 'chunks in their order')
  t.same(manner([byKind, byKind]), grouped, 'the first chunk is of one SELECT alone')
  const byId = 'SELECT id, count() AS n FROM rows GROUP BY id'
  t.same(manner([byId]), { ...grouped, isByKey: true }, 'ranges of the sorting key')
  t.end()
})

t.test('chunks grow so far that they come to no more groups than a common one has rows', (t) => {
  const grow = (rowCount: number, groupCount: number) => grownLimits({ pieces: [], rowCount }, groupCount, 2_000_000)
  const limits = (rowsMax: number) => ({ rowsMax, bytesMax: 256 * mebibyte })
  t.same(grow(2_000_000, 400_000), limits(10_000_000))
  t.same(grow(2_000_000, 10), limits(20_000_000), 'there is an end')
  t.same(grow(2_000_000, 1_000_000), limits(4_000_000))
  t.equal(grow(2_000_000, 1_000_001), null, 'they would not be worth it')
  t.equal(grow(2_000_000, 0), null, 'a table that keeps no rows tells nothing')
  t.equal(grow(131_071, 1), null, 'nor do so few rows')
  t.end()
})
