import { writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { mock } from 'node:test'
import t from 'tap'
import { readFooter } from '../../../src/ingest/parquet/parquet-footer.ts'
import { checkPages } from '../../../src/ingest/parquet/parquet-pages.ts'
import { writeParquetFiles } from '../../support/parquet-files.ts'
import { createTestDirectory } from '../../support/store/test-store.ts'

const sql = `SELECT number AS n, toString(number % 100) AS word, arrayMap(x -> toString(x), range(number % 5)) AS texts
  FROM numbers(3000)`
const methods = ['none', 'snappy', 'lz4', 'gzip', 'zstd', 'brotli'] as const
const fileOf = await writeParquetFiles({
  ...Object.fromEntries(
    (['zstd', 'gzip'] as const).map((compression_method) => [
      `groups of ${compression_method}`,
      { sql, settings: { compression_method, row_group_size: 1 } },
    ]),
  ),
  ...Object.fromEntries(
    methods.flatMap((compression_method) => [
      [compression_method, { sql, settings: { compression_method, data_page_size: 4096 } }],
      [`${compression_method} of Arrow`, { sql, settings: { compression_method, use_custom_encoder: 0 } }],
    ]),
  ),
})
const directory = await createTestDirectory()
t.teardown(() => directory.remove())

function footerOf(file: Buffer) {
  const start = file.length - 8 - file.readUInt32LE(file.length - 8)
  return readFooter(file.subarray(start, -8), start)
}

async function check(file: Buffer): Promise<void> {
  const path = join(directory.path, 'file.parquet')
  writeFileSync(path, file)
  await checkPages(path, await footerOf(file))
}

/** The same file, but the first page of a column says that it unpacks to more than it does. */
async function withLargerPage(file: Buffer, column: number): Promise<Buffer> {
  const changed = Buffer.from(file)
  const { start } = (await footerOf(file)).rowGroups[0]?.chunks[column] ?? { start: 0 }
  t.equal(changed[start + 2], 0x15, 'the second field of a page is its unpacked size')
  let at = start + 3
  while ((changed[at] ?? 0) >= 0x80) at += 1
  changed[at] = (changed[at] ?? 0) + 2
  return changed
}

t.test('files of all codecs are as they should be', async (t) => {
  for (const method of methods) {
    await t.resolves(check(fileOf(method)), method)
    await t.resolves(check(fileOf(`${method} of Arrow`)), `${method}, by Arrow`)
  }
})

t.test('a file of many small row groups is read in few pieces', async (t) => {
  for (const method of ['zstd', 'gzip']) {
    const file = fileOf(`groups of ${method}`)
    const { rowGroups } = await footerOf(file)
    t.equal(rowGroups.length, 3000)
    const handle = await open(import.meta.filename)
    const reads = mock.method(Object.getPrototypeOf(handle), 'read')
    t.teardown(() => reads.mock.restore())
    await handle.close()
    await check(file)
    const pieceCount = Math.ceil(file.length / 65_536)
    t.ok(reads.mock.callCount() < 2 * pieceCount + 20, `${reads.mock.callCount()} for ${pieceCount} of 64 KiB`)
    reads.mock.restore()
  }
})

t.test('a page that unpacks to less than it says is refused, for which the engine would wait for ever', async (t) => {
  for (const method of ['gzip', 'zstd', 'brotli']) {
    for (const name of [method, `${method} of Arrow`]) {
      for (const [column, leaf] of ['n', 'word', 'texts.list.element'].entries()) {
        const refused = {
          code: 'BODY_CORRUPT',
          status: 400,
          message: new RegExp(`in the column ${leaf} a page unpacks`),
        }
        await t.rejects(check(await withLargerPage(fileOf(name), column)), refused, `${name}, ${leaf}`)
      }
    }
  }
})

t.test('a page is refused when its packed bytes break off', async (t) => {
  const file = Buffer.from(fileOf('zstd'))
  const frame = file.indexOf(Buffer.of(0x28, 0xb5, 0x2f, 0xfd))
  const blockAt = frame + 6
  // The size of its first block, which then ends behind the page.
  file.writeUInt8((file[blockAt + 2] ?? 0) | 0x40, blockAt + 2)
  await t.rejects(check(file), { code: 'BODY_CORRUPT', message: /in the column n a page cannot be unpacked/ })
})

t.test('a damaged header of a page is refused with its column, wherever it is damaged', async (t) => {
  const file = fileOf('none')
  const [, chunk] = (await footerOf(file)).rowGroups[0]?.chunks ?? []
  if (chunk === undefined) throw new Error('the file has a second column')
  for (const value of [0, 0xff]) {
    const changed = Buffer.from(file)
    changed.fill(value, chunk.start, chunk.start + 8)
    await t.rejects(check(changed), { code: 'BODY_CORRUPT', message: /in the column word / })
  }
})

t.test('metadata with another number of values than of rows is refused', async (t) => {
  const file = fileOf('none')
  const { metadata, rowGroups } = await footerOf(file)
  const start = file.length - 8 - metadata.length
  const changed = Buffer.from(file)
  // 3000 values, as the metadata has it: in zigzag 6000.
  const at = Buffer.from(metadata).indexOf(Buffer.of(0x16, 0xf0, 0x2e, 0x16))
  t.ok(at > 0 && rowGroups.length === 1)
  changed[start + at + 1] = 0xf2
  await t.rejects(footerOf(changed), {
    code: 'BODY_CORRUPT',
    message: /the column n has 3001 values in a row group of 3000 rows/,
  })
})
