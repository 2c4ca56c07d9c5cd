// Imports by URL that are tried again before anything of them is stored: their data source is held, or their server breaks off.

import t, { type Test } from 'tap'
import type { Answer } from '../support/api/test-service.ts'
import {
  jobIdOf,
  openUrlService,
  storedSumOf,
  sumOf,
  testJsonSchema,
  testRows,
  type UrlService,
  until,
  untilEnded,
} from '../support/imports/url-imports.ts'
import { answerFile } from '../support/remote-server.ts'

/** Holds the data source by a replace, which waits for an import whose body stands still; `letGo` ends both. */
async function hold({ service }: UrlService, name: string): Promise<() => Promise<void>> {
  let goOn = (): void => undefined
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from('{"id":1,"name":"a"}\n'.repeat(5_000)))
      goOn = () => controller.close()
    },
  })
  const append = service.append(name, 'ndjson', body)
  const replace = (): Promise<Answer> =>
    service.call('POST', `/v0/datasources?mode=replace&name=${name}&format=ndjson`, { body: '{"id":0,"name":"r"}\n' })
  const replaced = replace()
  // What comes before the replace goes with it.
  for (let status = 200; status !== 409; ) ({ status } = await service.append(name, 'ndjson', '{"id":2,"name":"b"}\n'))
  return async () => {
    goOn()
    const statuses = [(await append).status, (await replaced).status]
    if (String(statuses) !== '200,200') throw new Error(`the hold ended with ${statuses}`)
  }
}

async function heldOnce(t: Test, opened: UrlService, path: string): Promise<void> {
  const { service, start } = opened
  await service.create('a', testJsonSchema)
  const letGo = await hold(opened, 'a')
  const id = jobIdOf(await start({ name: 'a', mode: 'append' }, path))
  await service.log.until('An import by URL is tried again.', ({ job }) => job === id)
  await letGo()
  t.match(await untilEnded(service, id), { status: 'done', rows_read: 100, imported_rows: 100, quarantine_rows: 0 })
  t.same(await storedSumOf(service, 'a'), sumOf([{ id: 0, name: 'r' }, ...rows]))
}

const rows = testRows(100, 1).map(({ id }) => ({ id, name: `n${id}` }))

t.test('a file of a server that tells neither ETag nor Last-Modified is begun again behind a hold', async (t) => {
  const opened = await openUrlService(t)
  const content = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  opened.files.set('/rows.ndjson', answerFile({ content, etag: null, hasRanges: false, hasLength: false }))
  await heldOnce(t, opened, '/rows.ndjson')
})

t.test('a file that is another one behind a hold is read as it is then', async (t) => {
  const opened = await openUrlService(t)
  const old = Buffer.from(`id,name\n${rows.map(({ id }) => `${id},old\n`).join('')}`)
  const content = Buffer.from(`name;id\n${rows.map(({ id, name }) => `${name};${id}\n`).join('')}`)
  const answers = [answerFile({ content: old, etag: '"old"' }), answerFile({ content, etag: '"new"' })]
  opened.files.set('/rows.csv', (request, response) => {
    const [answer] = answers.length > 1 ? answers.splice(0, 1) : answers
    answer?.(request, response)
  })
  await heldOnce(t, opened, '/rows.csv')
})

t.test('a file that its server breaks off before a row is stored is begun again', async (t) => {
  const { service, files, start } = await openUrlService(t)
  const content = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  for (const mode of ['append', 'replace']) {
    await service.create(mode, testJsonSchema)
    for (const sentBytes of [1, content.length / 2]) {
      let breakOff = (): void => undefined
      files.set('/rows.ndjson', (_, response) => {
        response.writeHead(200, { 'content-length': content.length }).write(content.subarray(0, sentBytes))
        breakOff = () => void response.destroy()
      })
      const id = jobIdOf(await start({ name: mode, mode }, '/rows.ndjson'))
      await until(service, id, ({ bytes_read = 0 }) => bytes_read === sentBytes)
      files.set('/rows.ndjson', answerFile({ content, etag: null, hasRanges: false }))
      breakOff()
      const told = { status: 'done', rows_read: 100, imported_rows: 100 }
      t.match(await untilEnded(service, id), told, `${mode}, broken off after ${sentBytes}`)
    }
    t.equal(await service.count(mode), mode === 'append' ? 200 : 100)
  }
})
