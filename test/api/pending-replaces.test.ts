// Rows that are acknowledged while a replace has been asked for and has not begun.

import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'

const parquet = await writeParquetFiles({ rows: { sql: 'SELECT toUInt32(number) AS n FROM numbers(3)' } })
// Small, so that blocks of an import are stored before its body has come.
const service = await openTestService(t, { frameBytes: 4096, insertRowsMax: 100 })
const warningOf = (answer: Answer): string | null => answer.headers.get('x-warning')

/** A body that stands still in its middle until `goOn`, behind as much as tells a form from rows. */
function halting(
  body: Buffer,
  at: number,
): { readonly stream: ReadableStream; readonly goOn: (rest?: Buffer) => void } {
  let goOn = (_: Buffer): void => undefined
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(body.subarray(0, at))
      goOn = (rest) => {
        controller.enqueue(rest)
        controller.close()
      }
    },
  })
  return { stream, goOn: (rest = body.subarray(at)) => goOn(rest) }
}

async function create(name: string): Promise<void> {
  await service.create(name, 'n UInt32 `json:$.n`', { engine: 'MergeTree', engine_partition_key: 'n % 2' })
}

function replace(name: string, more: string, body: ReadableStream): Promise<Answer> {
  return service.call('POST', `/v0/datasources?mode=replace&name=${name}&${more}`, { body })
}

/** Sends events until one is told that it is to go; how many were told so is 1. */
async function untilPending(name: string): Promise<string> {
  for (;;) {
    const warning = warningOf(await service.events(name, '{"n":100}\n'))
    if (warning !== null) return warning
  }
}

t.test('rows that come while the body of a replace is on its way are told in both answers', async (t) => {
  await create('files')
  const { stream, goOn } = halting(parquet('rows'), 320)
  const replaced = replace('files', 'format=parquet', stream)
  t.match(await untilPending('files'), /^A replace of Data Source "files" is on its way: when it begins, these rows go/)
  const waited = await service.events('files', '{"n":101}\n{"n":102}\n{"n":"x"}\n', { wait: 'true' })
  t.match(warningOf(waited), /A replace of Data Source "files"/)
  const appended = await service.append('files', 'ndjson', '{"n":103}\n')
  t.match(appended, { status: 200, json: { warnings: [/^A replace of Data Source "files"/] } })
  await create('others')
  t.equal(warningOf(await service.events('others', '{"n":1}\n')), null, 'of another data source')
  goOn()
  t.match(await replaced, {
    status: 200,
    json: {
      imported_rows: 3,
      warnings: [
        /^4 rows were acknowledged for Data Source "files" between the arrival of this request and .*they went/,
      ],
    },
  })
  t.equal(await service.count('files'), 3)
  t.equal(warningOf(await service.events('files', '{"n":104}\n', { wait: 'true' })), null, 'it is over')
  t.equal(await service.count('files'), 4)
})

t.test('of a conditional replace the rows that match go', async (t) => {
  await create('parted')
  const { stream, goOn } = halting(parquet('rows'), 320)
  const replaced = replace('parted', `format=parquet&replace_condition=${encodeURIComponent('n % 2 = 0')}`, stream)
  t.match(await untilPending('parted'), /go with the old content where they match its condition\.$/)
  const { json } = await service.events('parted', '{"n":101}\n', { wait: 'true' })
  t.match(json, { successful_rows: 1 })
  goOn()
  t.match(await replaced, {
    json: { imported_rows: 2, warnings: [/^2 rows were .*: those that match its condition went/] },
  })
  t.same(await service.rows('SELECT n FROM parted ORDER BY n'), [['0'], ['2'], ['101']])
})

t.test('a replace that fails takes nothing, and one that has begun keeps what comes', async (t) => {
  await create('kept')
  const broken = halting(parquet('rows'), 320)
  const failed = replace('kept', 'format=parquet', broken.stream)
  await untilPending('kept')
  const before = await service.count('kept')
  broken.goOn(Buffer.from('no file'))
  const { status, json } = await failed
  t.equal(status, 400)
  t.notOk(Object.hasOwn(json as object, 'warnings'))
  t.equal(warningOf(await service.events('kept', '{"n":105}\n', { wait: 'true' })), null, 'it is over')
  t.ok((await service.count('kept')) > before)

  const rows = Buffer.from(`n\n${'\n'.repeat(2048)}`)
  const slow = halting(rows, rows.length)
  const running = replace('kept', 'format=csv', slow.stream)
  // An import is refused as soon as the replace has begun.
  while ((await service.append('kept', 'ndjson', '{"n":106}\n')).status !== 409) await service.count('kept')
  t.equal(warningOf(await service.events('kept', '{"n":107}\n')), null)
  slow.goOn(Buffer.from('1\n2\n'))
  const done = await running
  t.match(done, { status: 200, json: { imported_rows: 2 } })
  await service.untilStored('kept')
  t.same(await service.rows('SELECT n FROM kept ORDER BY n'), [['1'], ['2'], ['107']])
})

t.test('a replace that waits for an import keeps the events that come meanwhile', async (t) => {
  await create('waiting')
  const client = await service.openRaw()
  t.teardown(() => client.socket.destroy())
  const row = '{"n":2,"word":"a"}\n'
  const path = '/v0/datasources?name=waiting&mode=append&format=ndjson&progress=true'
  client.send(service.head('POST', path, `Content-Length: ${5001 * row.length}`), row.repeat(5000))
  await client.until((text) => text.includes('"done"'))
  const replaced = service.call('POST', '/v0/datasources?mode=replace&name=waiting&format=csv', { body: 'n\n1\n' })
  // Others are refused once the events are held.
  while ((await service.append('waiting', 'ndjson', '{"n":106}\n')).status !== 409) await service.count('waiting')
  t.equal(warningOf(await service.events('waiting', '{"n":107}\n')), null)
  client.send(row)
  await client.end()
  t.match(client.text, /"warnings":\["A replace of Data Source \\"waiting\\" is on its way/)
  t.match(await replaced, { status: 200, json: { imported_rows: 1 } })
  await service.untilStored('waiting')
  t.same(await service.rows('SELECT n FROM waiting ORDER BY n'), [['1'], ['107']])
})
