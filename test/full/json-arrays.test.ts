import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import { zipSync } from 'fflate'
import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)

type Pack = (bytes: Uint8Array) => Promise<Uint8Array> | Uint8Array

const packings: Readonly<Record<string, Pack>> = {
  plain: (bytes) => bytes,
  gzip: (bytes) => gzipSync(bytes),
  zstd: (bytes) => compress(Buffer.from(bytes)),
  zip: (bytes) => zipSync({ 'rows.json': bytes }),
}

function utf16(text: string, isBigEndian: boolean): Uint8Array {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le')
  return isBigEndian ? bytes.swap16() : bytes
}

let nameCount = 0

/** A name that nothing has. */
function newName(): string {
  nameCount += 1
  return `d${nameCount}`
}

/** As `import` of curl sends a file, in a form. */
function formOf(field: string, bytes: Uint8Array, fileName: string): FormData {
  const form = new FormData()
  form.set(field, new Blob([bytes]), fileName)
  return form
}

t.test('JSON in UTF-16 is known as what it is, whatever it is packed with', async (t) => {
  const texts = {
    array: '[{"n":1,"s":"é€"},\n {"n":2,"s":"ü"}]',
    'pretty array': '[\n  {\n    "n": 1,\n    "s": "é€"\n  },\n  {\n    "n": 2,\n    "s": "ü"\n  }\n]\n',
    lines: '{"n":1,"s":"é€"}\n{"n":2,"s":"ü"}\n',
    'lines of Windows': '{"n":1,"s":"é€"}\r\n{"n":2,"s":"ü"}\r\n',
  }
  for (const [kind, text] of Object.entries(texts)) {
    for (const isBigEndian of [false, true]) {
      for (const [packing, pack] of Object.entries(packings)) {
        const bytes = await pack(utf16(text, isBigEndian))
        const ways = [
          { parameters: '', body: Buffer.from(bytes) },
          { parameters: '&format=ndjson', body: Buffer.from(bytes) },
          { parameters: '', body: formOf('ndjson', bytes, 'rows') },
          { parameters: '', body: formOf('csv', bytes, 'rows') },
        ]
        for (const { parameters, body } of ways) {
          const name = newName()
          const said = `${kind} ${isBigEndian ? 'BE' : 'LE'} ${packing}${parameters} ${body instanceof FormData}`
          const schema = encodeURIComponent('n UInt32 `json:$.n`, s String `json:$.s`')
          const path = `/v0/datasources?name=${name}${parameters}`
          t.match(
            await service.call('POST', `${path}&schema=${schema}`, { body }),
            { status: 200, json: { imported_rows: 2 } },
            said,
          )
          const again = await service.call('POST', `${path}&mode=append`, { body })
          t.match(again, { status: 200, json: { imported_rows: 2, error: false } }, `${said}, appended`)
          t.same(
            await service.rows(`SELECT n, s, count() FROM ${name} GROUP BY n, s ORDER BY n`),
            [
              ['1', 'é€', '2'],
              ['2', 'ü', '2'],
            ],
            said,
          )
        }
      }
    }
  }
})

t.test(
  'what stands behind an array is refused with all of it, or is lines like others, however it is packed',
  async (t) => {
    await service.create('a', 'n UInt32 `json:$.n`')
    const small = '[{"n":1},{"n":2}]'
    /** More than is looked at before anything is stored. */
    const manyCount = 200_000
    const many = `[${Array.from({ length: manyCount }, (_, n) => `{"n":${n}}`).join(',')}]`
    const behind = ['{"n":3}\n{"n":4}\n', '\n{"n":3}\n', '[{"n":3}]', '\n\n[{"n":3}]\n{"n":4}', ',', ']', 'x']
    for (const rest of behind) {
      const objects = rest.split('\n').filter((line) => line.startsWith('{')).length
      const others = rest.split('\n').filter((line) => line !== '' && !line.startsWith('{')).length
      for (const [packing, pack] of Object.entries(packings)) {
        const said = `${packing}, ${JSON.stringify(rest)}`
        const refused = await service.append('a', 'ndjson', Buffer.from(await pack(Buffer.from(small + rest))))
        t.match(refused, { status: 400, json: { imported_rows: 0, error: /something follows its array/ } }, said)
        const name = newName()
        const parameters = `name=${name}&format=ndjson&schema=${encodeURIComponent('n UInt32 `json:$.n`')}`
        const body = Buffer.from(await pack(Buffer.from(small + rest)))
        t.match(await service.call('POST', `/v0/datasources?${parameters}`, { body }), { status: 400 }, said)
        t.equal(await service.count(name), 0, 'and nothing is stored')
        const taken = await service.append('a', 'ndjson', Buffer.from(await pack(Buffer.from(many + rest))))
        t.match(taken, { status: 200, json: { imported_rows: manyCount + objects, invalid_lines: others } }, said)
      }
    }
  },
)
