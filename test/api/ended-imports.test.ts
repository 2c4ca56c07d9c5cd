import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t, { type Test } from 'tap'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { byTier } from '../support/tier.ts'

const rowsPerPiece = 4_000_000
/** The first rows are soon stored, and that is what tells that an import is under way. */
const insertRowsMax = 50_000
const piece = Buffer.from('1\n'.repeat(rowsPerPiece))

interface Bomb {
  readonly name: string
  readonly body: Buffer
  readonly rowCount: number
}

function repeated(bytes: Buffer, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => bytes))
}

/** An archive of one file, whose bytes are pieces that stand by themselves. */
function zipOf(count: number): Buffer {
  const name = 'rows.csv'
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50, 0)
  header.writeUInt16LE(8, 6)
  header.writeUInt16LE(8, 8)
  header.writeUInt16LE(name.length, 26)
  const packed = repeated(deflateRawSync(piece, { finishFlush: constants.Z_FULL_FLUSH }), count)
  const descriptor = Buffer.concat([Buffer.from('PK\u0007\b', 'latin1'), Buffer.alloc(12)])
  const end = Buffer.concat([Buffer.from('PK\u0005\u0006', 'latin1'), Buffer.alloc(18)])
  return Buffer.concat([header, Buffer.from(name), packed, deflateRawSync(Buffer.alloc(0)), descriptor, end])
}

/** Bodies of some hundred kilobytes, all of which have arrived long before they are unpacked. */
async function bombs(): Promise<readonly Bomb[]> {
  const zstd = await compress(piece)
  const zstdCount = Math.ceil(200_000 / zstd.length)
  const all = [
    { name: 'zstd', body: repeated(zstd, zstdCount), rowCount: zstdCount * rowsPerPiece },
    { name: 'gzip', body: repeated(gzipSync(piece), 40), rowCount: 40 * rowsPerPiece },
    { name: 'zip', body: zipOf(200), rowCount: 200 * rowsPerPiece },
  ]
  return all.slice(0, byTier({ quick: 1, full: 3, soak: 3 }))
}

function headOf(service: TestService, { name, body }: Pick<Bomb, 'name' | 'body'>): string {
  const encoding = name === 'zip' ? [] : [`Content-Encoding: ${name}`]
  const path = `/v0/datasources?mode=append&name=${name}`
  return service.head('POST', path, 'Content-Type: text/csv', ...encoding, `Content-Length: ${body.length}`)
}

async function sendAll(t: Test, service: TestService, all: readonly Bomb[]) {
  const clients = []
  for (const bomb of all) {
    t.match(await service.create(bomb.name, 'id UInt32'), { status: 200 })
    const client = await service.openRaw()
    t.teardown(() => client.socket.destroy())
    client.send(headOf(service, bomb), bomb.body)
    clients.push(client)
  }
  for (const { name } of all) while ((await service.count(name)) === 0) await new Promise(setImmediate)
  return clients
}

t.test('imports that would unpack for minutes end soon after the service is told to close', async (t) => {
  const service = await openTestService(t, { closeTimeoutMs: 12_000, connectionIdleMsMax: 0, insertRowsMax })
  const all = await bombs()
  const clients = await sendAll(t, service, all)
  const plain = await service.openRaw()
  t.teardown(() => plain.socket.destroy())
  await service.create('plain', 'id UInt32')
  plain.send(
    headOf(service, { name: 'plain', body: Buffer.alloc(100) }).replace(/Content-Encoding: plain\r\n/, ''),
    '1\n2\n',
  )
  const events = await service.openRaw()
  t.teardown(() => events.socket.destroy())
  events.send(service.head('POST', '/v0/events?name=plain', 'Content-Length: 100'), '{"id":1}\n')
  // The answer behind them tells that they have arrived.
  await service.count('plain')
  const closed = service.close()
  for (const [index, client] of clients.entries()) {
    const { status, body } = await client.answer()
    const rowCount = Number(body['imported_rows'])
    t.equal(status, 503)
    t.match(body, { error: /^The service is shutting down and stopped the import/ })
    t.ok(rowCount > 0 && rowCount < (all[index]?.rowCount ?? 0), `${rowCount} rows of ${all[index]?.name} are stored`)
  }
  t.match(await plain.answer(), { status: 503, body: { error: /stopped the import/, imported_rows: 2 } })
  t.match(await events.answer(), { status: 503, body: { error: /nothing of this request was stored/ } })
  await closed
  const ended = service.log.entries.filter(({ message }) => message === 'An import ended early.')
  t.match(
    ended,
    Array.from({ length: all.length + 1 }, () => ({ level: 'warn', fields: { code: 'IMPORT_STOPPED' } })),
  )
})

t.test('an import whose client leaves stops unpacking, also when all of the body has arrived', async (t) => {
  const service = await openTestService(t, { insertRowsMax })
  const all = await bombs()
  const clients = await sendAll(t, service, all)
  for (const client of clients) client.socket.destroy()
  const ended = () => service.log.entries.filter(({ fields }) => 'importId' in fields)
  while (ended().length < all.length) await new Promise(setImmediate)
  for (const { name, rowCount } of all) {
    const [entry] = ended().filter(({ fields }) => fields['dataSource'] === name)
    t.match(entry, { level: 'warn', message: 'An import ended early.', fields: { code: 'CLIENT_LEFT' } }, name)
    const storedRows = Number(entry?.fields['storedRows'])
    t.ok(storedRows > 0 && storedRows < rowCount, `${storedRows} rows of ${name} are stored`)
    t.equal(await service.count(name), storedRows, 'and no others')
  }
})

t.test('a client that leaves behind a plain body, all of which has arrived, has its rows stored', async (t) => {
  const service = await openTestService(t)
  await service.create('plain', 'id UInt32')
  const client = await service.openRaw()
  const body = Buffer.from('1\n2\n3\n')
  client.send(
    service.head('POST', '/v0/datasources?mode=append&name=plain', 'Content-Type: text/csv', 'Content-Length: 6'),
    body,
  )
  client.socket.end()
  t.match(await service.log.until('An import ended.'), { level: 'info', fields: { storedRows: 3 } })
  t.equal(await service.count('plain'), 3)
})
