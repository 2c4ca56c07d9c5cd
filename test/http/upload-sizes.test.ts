// How large rows may be by the way in which they are sent: one byte below, at and above each limit.

import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { createApp } from '../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../support/http/fake-deps.ts'
import { multipart } from '../support/http/test-form.ts'

const uploads = { bodyUploadBytesMax: 40, multipartBytesMax: 60, multipartParquetBytesMax: 50 }

async function open(t: Test, given: Partial<typeof uploads> = uploads) {
  const deps = createFakeDeps()
  const app = createApp(deps, { ...limits, ...given })
  t.teardown(() => app.close())
  await deps.dataSources.create({ name: 'e', description: '', schema: 'id UInt32', engine: null, type: 'ndjson' })
  const headers = { authorization: `Bearer ${token}` }
  const url = (format: string) => `/v0/datasources?name=e&mode=append&format=${format}`
  const body = (payload: string | Readable) => {
    const more = typeof payload === 'string' ? {} : { 'transfer-encoding': 'chunked' }
    return ask(app, { method: 'POST', url: url('ndjson'), headers: { ...headers, ...more }, payload })
  }
  const file = (content: string, fileName: string, format: string) => {
    const { payload, type } = multipart([{ name: 'csv', fileName, content }])
    return ask(app, { method: 'POST', url: url(format), headers: { ...headers, 'content-type': type }, payload })
  }
  return { deps, body, file }
}

/** One record of so many bytes. */
function record(byteCount: number): string {
  return `{"id":1}${' '.repeat(byteCount - 9)}\n`
}

t.test('rows in the body have a limit, whether their length is announced or not', async (t) => {
  const { deps, body } = await open(t)
  for (const byteCount of [39, 40]) {
    t.equal((await body(record(byteCount))).statusCode, 200, `${byteCount} bytes`)
    t.equal((await body(Readable.from([record(20), record(byteCount - 20)]))).statusCode, 200, `${byteCount} bytes`)
  }
  t.equal(deps.hits.length, 0)
  const announced = await body(record(41))
  t.equal(announced.statusCode, 413)
  t.match(announced.json(), {
    error: 'The body is larger than 40 bytes (limit "body_upload_size")',
    hint: /the parameter "url"/,
    documentation: /#payload_too_large$/,
  })
  t.equal(announced.json().import_id, undefined, 'nothing of it was read')
  const streamed = await body(Readable.from([record(20), record(21)]))
  t.equal(streamed.statusCode, 413)
  t.match(streamed.json().error, /limit "body_upload_size"/)
  t.match(deps.hits, [
    { limit: 'body_upload_size', status: 413, resource: 'e' },
    { limit: 'body_upload_size', status: 413, resource: 'e' },
  ])
  t.equal(deps.hits.length, 2)
})

t.test('a file of a form has a limit, and one that begins as Parquet another', async (t) => {
  const { deps, file } = await open(t)
  for (const byteCount of [59, 60]) {
    t.equal((await file(record(byteCount), 'a.ndjson', 'ndjson')).statusCode, 200, `${byteCount} bytes`)
    t.equal((await file(`id\n${' '.repeat(byteCount - 3)}`, 'a.csv', 'csv')).statusCode, 200, `${byteCount} bytes`)
  }
  t.equal(deps.hits.length, 0)
  for (const [content, name, format] of [
    [record(61), 'a.ndjson', 'ndjson'],
    [`id\n${' '.repeat(58)}`, 'a.csv', 'csv'],
  ] as const) {
    const refused = await file(content, name, format)
    t.equal(refused.statusCode, 413, refused.body)
    t.match(refused.json().error, 'The body is larger than 60 bytes (limit "multipart_size")')
  }
  t.match(deps.hits.splice(0), [{ limit: 'multipart_size' }, { limit: 'multipart_size' }])
  // What makes no sense as Parquet is told as that where it may be read at all.
  for (const [byteCount, limit] of [
    [49, undefined],
    [50, undefined],
    [51, 'multipart_parquet_size'],
    [60, 'multipart_parquet_size'],
  ] as const) {
    const answer = await file(`PAR1${'x'.repeat(byteCount - 4)}`, 'a.csv', 'csv')
    t.equal(answer.statusCode === 413, limit !== undefined, `${byteCount} bytes: ${answer.body}`)
    t.equal(deps.hits.splice(0)[0]?.limit, limit)
  }
})

t.test('without limits, rows of any size pass', async (t) => {
  const { body, file } = await open(t, {})
  t.equal((await body(record(5_000))).statusCode, 200)
  t.equal((await file(record(5_000), 'a.ndjson', 'ndjson')).statusCode, 200)
})
