import t from 'tap'
import { type ParquetFooter, readFooter } from '../../../src/ingest/parquet/parquet-footer.ts'
import { slicesOf } from '../../../src/ingest/parquet/parquet-slices.ts'
import { pageBytes, parquetSaying, type SaidGroup } from '../../support/parquet-footers.ts'

async function footerOf(file: Buffer): Promise<ParquetFooter> {
  const start = file.length - 8 - file.readUInt32LE(file.length - 8)
  return await readFooter(file.subarray(start, -8), start)
}

async function said(groups: readonly SaidGroup[], rowCount?: number): Promise<ParquetFooter> {
  return await footerOf(parquetSaying(groups, rowCount))
}

t.test('more rows than a group or a file may have are refused, whatever the columns say', async (t) => {
  for (const rowCount of [1e11, 1e12, 1e14, 2 ** 53, 2 ** 31 + 1]) {
    await t.rejects(said([{ rowCount }]), {
      code: 'BODY_CORRUPT',
      message: /rows, and may have|bytes in a row group of \d+ rows|more than a file/,
    })
  }
  const beside = { rowCount: 1, byteCount: 16 }
  const large = { rowCount: 2 ** 31, byteCount: 32 }
  t.equal((await said([large, beside])).rowCount, 2 ** 31 + 1)
  await t.rejects(said([{ ...large, rowCount: 2 ** 31 + 1 }, beside]), { message: /and may have 2147483648$/ })
  const many = Array.from({ length: 48 }, () => ({ rowCount: 2 ** 31 - 1, byteCount: 16 }))
  await t.rejects(said(many), { message: /more than a file may have/ })
  t.equal((await said(many.slice(0, 46))).rowGroups.length, 46)
})

t.test('rows are held against the values and the bytes of the columns', async (t) => {
  await t.rejects(said([{ rowCount: 10, valueCount: 9 }]), {
    message: /the column n has 9 values in a row group of 10 rows/,
  })
  t.equal((await said([{ rowCount: 10, valueCount: 10 }])).rowCount, 10)
  await t.rejects(said([{ rowCount: 10, valueCount: 11 }]), { message: /the column n has 11 values/ })
  await t.rejects(said([{ rowCount: 1, byteCount: 15 }]), { message: /the column n has 15 bytes in a row group/ })
  // As a table without rows is written.
  t.equal((await said([{ rowCount: 0, byteCount: 0, pageAt: 0 }])).rowCount, 0)
  await t.rejects(said([{ rowCount: 1, byteCount: 0, pageAt: 0 }]), {
    message: /the column n has 0 bytes in a row group/,
  })
  // One page of a run has as many as its header can say.
  t.equal((await said([{ rowCount: 2 ** 31 - 1, byteCount: 16 }])).rowCount, 2 ** 31 - 1)
  await t.rejects(said([{ rowCount: 2 ** 31, byteCount: 31 }, { rowCount: 0 }]), {
    message: /the column n has 31 bytes in a row group/,
  })
  await t.rejects(said([{ rowCount: 1 }], 2), { message: /it says 2 rows, and its row groups have 1/ })
  await t.rejects(said([{ rowCount: -1 }], -1), { message: /a size below 0/ })
})

t.test('groups that share their bytes are refused, as they would be copied for each', async (t) => {
  const groups = Array.from({ length: 3 }, () => ({ rowCount: 1, pageAt: 4 }))
  t.equal((await said(groups)).rowCount, 3, 'no more bytes than the file')
  const twice = groups.map((group) => ({ ...group, byteCount: 2 * pageBytes }))
  await t.rejects(said(twice), { message: /its columns have more bytes than it/ })
})

t.test('slices are made one by one, however many rows are said', async (t) => {
  const footer = await said([{ rowCount: 2 ** 31 - 1 }])
  const slices = slicesOf(footer, { rowsMax: 1, bytesMax: 1e9 })
  const ranges = [slices.next(), slices.next()].map(({ value }) => value?.range)
  t.same(ranges, [
    { start: 0, end: 1 },
    { start: 1, end: 2 },
  ])
})

t.test('metadata has bounds for columns, fields and elements, and they are counted as they are read', async (t) => {
  const refusedBy = async (metadata: readonly Buffer[], message: RegExp) => {
    await t.rejects(readFooter(Buffer.concat([...metadata, end]), 100), { code: 'BODY_CORRUPT', message })
  }
  const list = (header: number, count: number, element: readonly number[]) => {
    const lengths = [0xf0 | 12, (count & 127) | 128, ((count >> 7) & 127) | 128, count >> 14]
    const elements = Array.from({ length: count }, () => Buffer.from(element))
    return Buffer.concat([Buffer.from([header, ...lengths]), ...elements])
  }
  const end = Buffer.from([0])
  /** A root with one column. */
  const schema = Buffer.from([0x29, 0x2c, 0x55, 2, 0, 0x15, 4, 0])
  await refusedBy([schema, list(0x29, 400_000, [0])], /its schema has 1 columns, and a row group has 0/)
  await refusedBy([list(0x49, 1, [0])], /no schema in front of its row groups/)
  await refusedBy([list(0x29, 100_001, [0])], /its schema has more than 100000 elements/)
  const chunks = Buffer.concat([Buffer.from([0x29, 0x1c]), list(0x19, 300_001, [0])])
  await refusedBy([schema, chunks, end], /its row groups have more than 300000 columns together/)
  const fields = Buffer.concat([Buffer.from([0x29, 0x1c]), Buffer.alloc(1000, 0x11)])
  await refusedBy([schema, fields, end], /a structure has more than 100 fields/)
})
