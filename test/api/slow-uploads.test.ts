import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { parquetSaying } from '../support/parquet-footers.ts'
import type { RawClient } from '../support/raw-client.ts'

const file = parquetSaying([{ rowCount: 1 }])

/** One file, `rows.csv`, with the row 7, not packed. */
const zip = Buffer.from(
  'UEsDBBQAAAAAAAAAIQDVWwsxAgAAAAIAAAAIAAAAcm93cy5jc3Y3ClBLAQIUAxQAAAAAAAAAIQDVWwsxAgAAAAIAAAAIAAAAAAAA' +
    'AAAAAACAAQAAAAByb3dzLmNzdlBLBQYAAAAAAQABADYAAAAoAAAAAAA=',
  'base64',
)

function fileCount({ dataDir }: TestService): number {
  return readdirSync(join(dataDir, 'parts')).length
}

/** Clients that send the beginning of a body and no more, as soon as it lies on the disk. */
async function sendSlowly(t: Test, service: TestService, body: Buffer, type: string): Promise<readonly RawClient[]> {
  const clients: RawClient[] = []
  const before = fileCount(service)
  for (let index = 0; index < 4; index += 1) {
    const client = await service.openRaw()
    t.teardown(() => client.socket.destroy())
    const path = `/v0/datasources?mode=append&name=rows${type.includes('octet') ? '&format=parquet' : ''}`
    client.send(service.head('POST', path, `Content-Type: ${type}`, 'Content-Length: 100000000'), body)
    clients.push(client)
  }
  while (fileCount(service) < before + clients.length) await new Promise(setImmediate)
  return clients
}

const append = '/v0/datasources?mode=append&name=rows&format=parquet'

t.test('slow uploads of files keep nobody else from importing and analysing', async (t) => {
  const service = await openTestService(t)
  t.match(await service.create('rows', 'n Int64'), { status: 200 })
  const slow = [
    ...(await sendSlowly(t, service, Buffer.from('PAR1'.padEnd(600)), 'application/octet-stream')),
    ...(await sendSlowly(t, service, Buffer.from('PK\u0003\u0004 and more'.padEnd(6_000)), 'text/csv')),
  ]
  t.match(await service.call('POST', append, { body: file }), { status: 200, json: { imported_rows: 1 } })
  t.match(await service.call('POST', '/v0/analyze?format=parquet', { body: file }), { status: 200 })
  t.match(await service.call('POST', '/v0/datasources?mode=append&name=rows', { body: zip }), {
    status: 200,
    json: { imported_rows: 1 },
  })
  t.equal(await service.count('rows'), 2)
  for (const { socket } of slow) socket.destroy()
  while (fileCount(service) > 0) await new Promise(setImmediate)
  t.match(await service.call('POST', append, { body: file }), { status: 200 })
})

t.test('files that would be more on the disk than four of the largest are refused until there is room', async (t) => {
  const service = await openTestService(t, { parquetBytesMax: 1024 })
  t.match(await service.create('rows', 'n Int64'), { status: 200 })
  const slow = await sendSlowly(t, service, Buffer.from('PAR1'.padEnd(1020)), 'application/octet-stream')
  // Their bytes may still be on their way.
  for (;;) {
    const answer = await service.call('POST', append, { body: file })
    if (answer.status === 200) continue
    t.match(answer, { status: 503, json: { error: /Too many request bodies are being received/ } })
    break
  }
  slow[0]?.socket.destroy()
  while (fileCount(service) > 3) await new Promise(setImmediate)
  t.match(await service.call('POST', append, { body: file }), { status: 200 })
})
