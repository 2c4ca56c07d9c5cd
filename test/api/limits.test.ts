// Each limit of the options at one less, exactly, and one more.

import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const max = 1024
const service = await openTestService(t, {
  recordBytesMax: max,
  frameBytes: 4096,
  eventsBodyBytesMax: max,
  decompressedBytesMax: 8 * max,
  formBytesMax: max,
  columnsMax: 3,
  sqlBytesMax: 200,
})
const columns = 'n UInt32, s Nullable(String), more Nullable(String)'

/** A record of so many bytes, its line feed not counted. */
function recordOf(format: 'csv' | 'ndjson', byteCount: number): string {
  const [start, end] = format === 'csv' ? ['1,"', '",'] : ['{"n":1,"s":"', '"}']
  return start + 'x'.repeat(byteCount - start.length - end.length) + end
}

t.test('recordBytesMax holds to the byte, wherever the record stands', async (t) => {
  await service.create('records', columns)
  for (const format of ['csv', 'ndjson'] as const) {
    const short = recordOf(format, 40)
    for (const [byteCount, isTaken] of [
      [max - 1, true],
      [max, true],
      [max + 1, false],
    ] as const) {
      const record = recordOf(format, byteCount)
      const bodies = [record, `${record}\n`, `${short}\n${record}\n${short}\n`, `${`${short}\n`.repeat(99)}${record}`]
      for (const body of bodies) {
        const { status, json } = await service.append('records', format, body)
        const rowCount = body.trimEnd().split('\n').length
        t.equal(status, isTaken ? 200 : 413, `${format}, ${byteCount} bytes, ${rowCount} rows`)
        const before = body.startsWith(short) ? (rowCount === 3 ? 1 : 99) : 0
        t.match(json, isTaken ? { imported_rows: rowCount, error: false } : { imported_rows: before })
        if (!isTaken) t.match(json, { error: 'A record is longer than 1 KiB' })
      }
    }
  }
})

t.test('eventsBodyBytesMax holds as sent and as unpacked', async (t) => {
  await service.create('events', columns)
  for (const [byteCount, status] of [
    [max - 1, 202],
    [max, 202],
    [max + 1, 413],
  ] as const) {
    const body = Buffer.from(recordOf('ndjson', byteCount))
    const incompressible = Buffer.from(`{"n":2}${'\n'.repeat(byteCount - 7)}`)
    const packed = { gzip: gzipSync(body), zstd: await compress(body) }
    t.equal((await service.events('events', body)).status, status, `${byteCount} bytes`)
    t.equal((await service.events('events', incompressible)).status, status, `${byteCount} bytes, most of them blank`)
    t.equal((await service.events('events', new Blob([body]).stream())).status, status, `${byteCount} bytes, chunked`)
    for (const [encoding, bytes] of Object.entries(packed)) {
      const answer = await service.events('events', bytes, {}, { headers: { 'content-encoding': encoding } })
      t.equal(answer.status, status, `${byteCount} bytes out of ${encoding}`)
    }
  }
  await service.untilStored('events')
  t.equal(await service.count('events'), 10)
})

t.test('decompressedBytesMax holds to the byte', async (t) => {
  await service.create('unpacked', columns)
  const row = recordOf('ndjson', 1023)
  for (const [byteCount, isTaken] of [
    [8 * max - 1, true],
    [8 * max, true],
    [8 * max + 1, false],
  ] as const) {
    const body = Buffer.from(`${row}\n`.repeat(8).padEnd(byteCount, '\n').slice(0, byteCount))
    const packed = { gzip: gzipSync(body), zstd: await compress(body) }
    for (const [encoding, bytes] of Object.entries(packed)) {
      const answer = await service.append('unpacked', 'ndjson', bytes, { headers: { 'content-encoding': encoding } })
      t.equal(answer.status, isTaken ? 200 : 413, `${byteCount} bytes out of ${encoding}`)
      t.match(answer.json, isTaken ? { imported_rows: 8 } : { error: 'The body is larger than 8 KiB when unpacked' })
    }
  }
})

t.test('columnsMax holds', async (t) => {
  const schemas = ['a UInt8, b UInt8', 'a UInt8, b UInt8, c UInt8', 'a UInt8, b UInt8, c UInt8, d UInt8']
  const answers = await Promise.all(schemas.map((schema, index) => service.create(`columns_${index}`, schema)))
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 400],
  )
  t.match(answers[2], { json: { error: 'Wrong schema at line 1, column 28: The schema has more than 3 columns' } })
})

t.test('sqlBytesMax holds, in bytes, in the URL and in the body', async (t) => {
  for (const [byteCount, status] of [
    [199, 200],
    [200, 200],
    [201, 400],
  ] as const) {
    const rest = byteCount - "SELECT 'ü' AS x".length - 1
    const query = `SELECT '${'x'.repeat(rest)}ü' AS x`
    t.equal(Buffer.byteLength(query), byteCount)
    const answers = [
      await service.call('POST', '/v0/sql', { body: query }),
      await service.call('GET', `/v0/sql?${new URLSearchParams({ q: query })}`),
      await service.call('POST', '/v0/sql', { body: JSON.stringify({ q: query }) }),
      await service.call('POST', '/v0/sql', { body: `q=${encodeURIComponent(query)}` }),
    ]
    for (const { status: got, json } of answers) {
      t.equal(got, status, `${byteCount} bytes`)
      t.match(json, status === 200 ? { rows: 1 } : { error: 'The query is longer than 200 bytes' })
    }
  }
})

t.test('formBytesMax holds for forms, fields of multipart forms and bodies of queries', async (t) => {
  for (const [byteCount, isTaken] of [
    [max - 1, true],
    [max, true],
    [max + 1, false],
  ] as const) {
    const form = `name=form_${byteCount}&schema=n UInt8&description=`
    const answer = await service.call('POST', '/v0/datasources', {
      body: form + 'x'.repeat(byteCount - form.length),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    t.equal(answer.status, isTaken ? 200 : 413, `a form of ${byteCount} bytes`)
    const fields = new FormData()
    const given = { name: `fields_${byteCount}`, schema: 'n UInt8' }
    for (const [name, value] of Object.entries(given)) fields.append(name, value)
    fields.append('description', 'x'.repeat(byteCount - Object.values(given).join('').length))
    const multipart = await service.call('POST', '/v0/datasources', { body: fields })
    t.equal(multipart.status, isTaken ? 200 : 413, `fields of ${byteCount} bytes`)
    const query = await service.call('POST', '/v0/sql', { body: 'SELECT 1'.padEnd(byteCount) })
    t.equal(query.status, isTaken ? 200 : 413, `a query body of ${byteCount} bytes`)
  }
})
