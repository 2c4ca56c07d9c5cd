import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { footerOf, readFooter } from '../../../src/ingest/parquet/parquet-footer.ts'
import { slicesOf, writeSlice } from '../../../src/ingest/parquet/parquet-slices.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { writeParquetFiles } from '../../support/parquet-files.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'
import { byTier } from '../../support/tier.ts'

// 50 row groups, so that the list of them has a header of the long form, of two columns of which one is a list.
const sql = 'SELECT number AS n, arrayMap(x -> toString(x), range(number % 5)) AS texts FROM numbers(1000)'
const fileOf = await writeParquetFiles({ rows: { sql, settings: { row_group_size: 20, batch_size: 20 } } })
const file = fileOf('rows')
const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(join(directory.path, 'data')), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})
const source = join(directory.path, 'whole.parquet')
writeFileSync(source, file)
const metadataStart = file.length - 8 - file.readUInt32LE(file.length - 8)
const footer = await readFooter(file.subarray(metadataStart, -8), metadataStart)

async function sumsOf(path: string): Promise<readonly number[]> {
  const [row] = await store.rows<{ readonly count: number; readonly total: number; readonly texts: number }>(
    `SELECT count() AS count, sum(n) AS total, sum(length(texts)) AS texts FROM file('${path}', 'Parquet')`,
  )
  return row === undefined ? [] : [row.count, row.total, row.texts]
}

t.test('the metadata tells row groups, their rows and their bytes', async (t) => {
  t.equal(footer.rowCount, 1000)
  t.same(new Set(footer.rowGroups.map(({ rowCount }) => rowCount)), new Set([20]))
  t.equal(footer.rowGroups.length, 50)
  let end = 4
  for (const { ranges } of footer.rowGroups) {
    for (const range of ranges) {
      t.ok(range.start >= end && range.end <= metadataStart, 'groups lie behind one another')
      end = range.end
    }
  }
})

t.test('slices are files that the engine reads, and together they are the file', async (t) => {
  for (const rowsMax of [20, 100, 330, 1000]) {
    const slices = [...slicesOf(footer, { rowsMax, bytesMax: 1e9 })]
    t.ok(
      slices.every(({ rowCount }) => rowCount <= rowsMax),
      `${slices.length} slices of up to ${rowsMax} rows`,
    )
    const total = [0, 0, 0]
    for (const [index, slice] of slices.entries()) {
      const target = join(directory.path, `${rowsMax}-${index}.parquet`)
      await writeSlice({ source, target }, footer, slice)
      for (const [at, sum] of (await sumsOf(target)).entries()) total[at] = (total[at] ?? 0) + sum
    }
    t.same(total, [1000, 499_500, 2000])
  }
})

t.test('metadata without a group in the middle is that of a file without it', async (t) => {
  const groups = footer.rowGroups.filter((_, index) => index !== 7)
  const target = join(directory.path, 'without.parquet')
  await writeSlice({ source, target }, footer, { groups, range: null, rowCount: 980, byteCount: 0 })
  const missing = Array.from({ length: 20 }, (_, row) => 140 + row)
  const texts = missing.reduce((total, n) => total + (n % 5), 0)
  t.same(await sumsOf(target), [980, 499_500 - missing.reduce((total, n) => total + n, 0), 2000 - texts])
})

t.test('a row group beyond twice the limits is cut into pieces, one that is near is not', async (t) => {
  const [group] = footer.rowGroups
  if (group === undefined) throw new Error('the file has groups')
  const of = (rowCount: number, byteCount: number) => ({ ...footer, rowGroups: [{ ...group, rowCount, byteCount }] })
  const rangesOf = (rowCount: number, byteCount: number) =>
    Array.from(slicesOf(of(rowCount, byteCount), { rowsMax: 10, bytesMax: 100 }), (slice) => [
      slice.range,
      slice.rowCount,
    ])
  t.same(rangesOf(20, 10), [[null, 20]])
  t.same(rangesOf(21, 10), [
    [{ start: 0, end: 7 }, 7],
    [{ start: 7, end: 14 }, 7],
    [{ start: 14, end: 21 }, 7],
  ])
  t.same(rangesOf(4, 400).length, 4)
  t.same(rangesOf(0, 400), [])
})

t.test('metadata that is cut or points elsewhere is refused, and nothing is read beyond it', async (t) => {
  const { metadata } = footer
  const step = byTier({ quick: 7, full: 2, soak: 1 })
  for (let length = 0; length < metadata.length; length += step) {
    await t.rejects(readFooter(metadata.subarray(0, length), metadataStart), { code: 'BODY_CORRUPT', status: 400 })
  }
  await t.rejects(readFooter(metadata, 100), { message: /its metadata points outside of it$/ })
  const deep = Uint8Array.from({ length: 200 }, () => 0x1c)
  await t.rejects(readFooter(deep, 100), { message: /nested too deep/ })
  const long = Uint8Array.of(0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f)
  await t.rejects(readFooter(long, 100), { message: /a list is longer than the metadata/ })
  const again = await readFooter(footerOf(footer, footer.rowGroups).subarray(0, -8), metadataStart)
  t.equal(again.rowCount, 1000)
})
