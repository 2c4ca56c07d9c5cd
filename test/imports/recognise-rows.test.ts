import { gzipSync } from 'node:zlib'
import { compress as zstd } from '@mongodb-js/zstd'
import t from 'tap'
import type { ImportOrder, ImportSource } from '../../src/imports/imports.types.ts'
import { recogniseFormat, recogniseRows } from '../../src/imports/recognise-rows.ts'
import { bodyOf, cutBodies, orderOf, sourceOf } from '../support/imports/import-requests.ts'
import { packedMember, zipEnd } from '../support/zip-archive.ts'

const csv = Buffer.from('id,tag\n1,a\n2,b\n')
const ndjson = Buffer.from('{"id":1}\n{"id":2}\n')
const parquet = Buffer.from('PAR1\u0015\u0004\u0015\u0010', 'latin1')

t.test('the bytes tell packing and format, wherever they are cut, and are all still there', async (t) => {
  const cases: readonly (readonly [name: string, bytes: Buffer, encoding: string | undefined, format: string])[] = [
    ['CSV', csv, undefined, 'csv'],
    ['NDJSON', ndjson, undefined, 'ndjson'],
    ['an array', Buffer.from('[{"id":1},\n{"id":2}]'), undefined, 'ndjson'],
    ['UTF-16', Buffer.from('\ufeff{"id":1}\n', 'utf16le'), undefined, 'ndjson'],
    ['Parquet', parquet, undefined, 'parquet'],
    ['gzip of CSV', gzipSync(csv), 'gzip', 'csv'],
    ['gzip of NDJSON', gzipSync(ndjson), 'gzip', 'ndjson'],
    ['gzip of Parquet', gzipSync(parquet), 'gzip', 'parquet'],
    ['zstd of NDJSON', await zstd(ndjson), 'zstd', 'ndjson'],
    ['zip of NDJSON', Buffer.concat([packedMember('rows', ndjson), zipEnd]), 'zip', 'ndjson'],
    ['zip of a file with a name', Buffer.concat([packedMember('rows.csv', csv), zipEnd]), 'zip', 'csv'],
  ]
  for (const [name, bytes, contentEncoding, format] of cases) {
    for (const [cut, body] of cutBodies(bytes).entries()) {
      const rows = await recogniseRows(sourceOf(body), orderOf())
      t.match(rows, { contentEncoding, format }, `${name}, cut at ${cut + 1}`)
      const pieces: Uint8Array[] = []
      for await (const chunk of rows.body) pieces.push(chunk)
      t.same(Buffer.concat(pieces), bytes)
    }
  }
})

t.test(
  'the order goes before the name of the file, that before the bytes, and they before the field and the schema',
  async (t) => {
    const withPaths = 'id UInt8 `json:$.id`'
    const cases: readonly (readonly [Buffer, Partial<ImportSource>, Partial<ImportOrder>, string])[] = [
      [csv, { format: 'csv' }, { format: 'ndjson' }, 'ndjson'],
      [ndjson, { format: 'csv' }, {}, 'csv'],
      [ndjson, { fieldFormat: 'csv' }, {}, 'ndjson'],
      [csv, { isFile: true, fieldFormat: 'ndjson' }, {}, 'ndjson'],
      [ndjson, {}, { csv: { delimiter: ';', escapeCharacter: undefined } }, 'csv'],
      [csv, {}, { schema: withPaths }, 'ndjson'],
      [csv, {}, {}, 'csv'],
    ]
    for (const [bytes, said, order, format] of cases) {
      const { format: recognised } = await recogniseRows(sourceOf(bodyOf(bytes), said), orderOf(order))
      t.equal(recognised, format, JSON.stringify({ said, order }))
    }
  },
)

t.test('where nothing tells the format, it is left to whoever guesses', async (t) => {
  const { format } = await recogniseFormat(sourceOf(bodyOf(csv), { fieldFormat: 'ndjson' }), orderOf())
  t.equal(format, undefined)
})

t.test('an encoding that was said is taken for true', async (t) => {
  const rows = await recogniseRows(sourceOf(bodyOf(gzipSync(ndjson)), { contentEncoding: 'gzip' }), orderOf())
  t.match(rows, { contentEncoding: 'gzip', format: 'ndjson' })
})

t.test('what is no table is refused before it is read', async (t) => {
  const pdf = sourceOf(bodyOf('%PDF-1.7\n'))
  await t.rejects(recogniseRows(pdf, orderOf()), { code: 'FILE_UNSUPPORTED' })
  const packedTwice = sourceOf(bodyOf(gzipSync(gzipSync(csv))))
  await t.rejects(recogniseRows(packedTwice, orderOf()), { code: 'FILE_UNSUPPORTED' })
  const document = sourceOf(bodyOf('{"meta":[],"data":[\n{"id":1}\n]}\n'))
  await t.rejects(recogniseRows(document, orderOf()), { code: 'JSON_DOCUMENT' })
})
