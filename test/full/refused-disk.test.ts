// A disk that refuses: nothing ends the process, answers say so, memory and disk agree, and all goes on with the disk.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { type Answer, openTestService, type TestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { refuseFileWrites } from '../support/refused-disk.ts'

const fileOf = await writeParquetFiles({ numbers: { sql: 'SELECT toUInt32(number) AS n FROM numbers(1000)' } })
const refusal = 'docs/errors.md#disk_unavailable'

/** Every kind of request that writes into the catalog, and what shows whether it was done. */
const catalogWrites: readonly (readonly [name: string, run: (service: TestService) => Promise<Answer>])[] = [
  ['a new data source', (service) => service.create('fresh', 'n UInt32')],
  ['an event to an unknown name', (service) => service.events('unknown', '{"n":1}\n')],
  [
    'an import that creates',
    (service) => service.call('POST', '/v0/datasources?mode=create&name=made', { body: 'n\n1\n' }),
  ],
  ['a description', (service) => service.call('PUT', '/v0/datasources/kept?description=other')],
  ['a new name', (service) => service.call('PUT', '/v0/datasources/also?name=renamed')],
  ['a new column', (service) => service.call('POST', '/v0/datasources/kept/alter?schema=n%20UInt32,m%20UInt32')],
  ['a drop', (service) => service.call('DELETE', '/v0/datasources/kept')],
  ['a new pipe', (service) => service.call('POST', '/v0/pipes?name=new_pipe&sql=SELECT%201')],
  ['a description of a pipe', (service) => service.call('PUT', '/v0/pipes/stays?description=other')],
  ['a new node', (service) => service.call('POST', '/v0/pipes/stays/nodes?name=more&sql=SELECT%202')],
  ['a drop of a pipe', (service) => service.call('DELETE', '/v0/pipes/stays')],
  ['a new variable', (service) => service.call('POST', '/v0/variables?name=fresh&value=1')],
  ['another value', (service) => service.call('PUT', '/v0/variables/kept?value=2')],
  ['a drop of a variable', (service) => service.call('DELETE', '/v0/variables/kept')],
]

t.test('a catalog that the disk refuses to write is a 503 for each kind of change, and is as before', async (t) => {
  const service = await openTestService(t)
  for (const name of ['kept', 'also']) t.equal((await service.create(name, 'n UInt32')).status, 200)
  t.equal((await service.call('POST', '/v0/pipes?name=stays&sql=SELECT%201')).status, 200)
  t.equal((await service.call('POST', '/v0/variables?name=kept&value=1')).status, 200)
  const before = await shown(service)
  const allow = refuseFileWrites()
  t.teardown(allow)
  for (const [name, run] of catalogWrites) {
    const { status, text } = await run(service)
    t.match(JSON.parse(text), { documentation: refusal }, `${name}: ${text}`)
    t.equal(status, 503, name)
  }
  t.match(await service.call('GET', '/health/ready'), { status: 503, json: { documentation: refusal } })
  t.equal((await service.call('GET', '/health/live')).status, 200)
  t.same(await shown(service), before, 'readers see nothing of it')
  const told = service.log.entries.filter(({ level }) => level === 'error').map(({ message }) => message)
  t.equal(told.filter((message) => message.startsWith('The disk cannot be written')).length, 1, told.join('\n'))
  allow()
  await service.log.until('The disk can be written again.')
  t.equal((await service.call('GET', '/health/ready')).status, 200)
  t.same(await shown(service), before)
  for (const [name, run] of catalogWrites) {
    const { status, text } = await run(service)
    t.ok(status < 300, `${name}, again: ${status} ${text}`)
  }
})

t.test('a close while the disk refuses is in order', async (t) => {
  const service = await openTestService(t)
  await service.create('kept', 'n UInt32')
  const allow = refuseFileWrites()
  t.teardown(allow)
  t.equal((await service.call('POST', '/v0/variables?name=fresh&value=1')).status, 503)
  await service.close()
  allow()
})

async function shown(service: TestService): Promise<readonly unknown[]> {
  const lists = await Promise.all(
    ['/v0/datasources', '/v0/pipes', '/v0/variables'].map((path) => service.call('GET', path)),
  )
  return lists.map(({ json }) => json)
}

const rowsOf = (count: number): string => Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join('')
const append = '/v0/datasources?mode=append&name=kept'
const largeQuery = 'SELECT number, toString(number) FROM numbers(300000) FORMAT TSV'

/** What needs the disk beside the catalog: each stores nothing while it refuses. */
const otherWrites: readonly (readonly [name: string, run: (service: TestService) => Promise<Answer>])[] = [
  ['NDJSON', (service) => service.call('POST', `${append}&format=ndjson`, { body: rowsOf(5_000) })],
  ['CSV', (service) => service.call('POST', `${append}&format=csv`, { body: '1\n2\n'.repeat(5_000) })],
  ['Parquet', (service) => service.call('POST', `${append}&format=parquet`, { body: fileOf('numbers') })],
  ['packed CSV', (service) => service.call('POST', `${append}&format=csv`, { body: gzipSync('1\n'.repeat(5_000)) })],
  [
    'a replace',
    (service) =>
      service.call('POST', '/v0/datasources?mode=replace&name=kept&format=csv', { body: '1\n'.repeat(5_000) }),
  ],
  ['a truncate', (service) => service.call('POST', '/v0/datasources/kept/truncate')],
  ['a large answer', (service) => service.call('POST', '/v0/sql', { body: largeQuery })],
]

t.test('imports, replaces and answers that the disk refuses are 503, store nothing, and pass later', async (t) => {
  const service = await openTestService(t)
  await service.create('kept', 'n UInt32 `json:$.n`')
  t.match(await service.append('kept', 'csv', '1\n'), { status: 200 })
  const allow = refuseFileWrites()
  t.teardown(allow)
  for (const [name, run] of otherWrites) {
    const { status, text } = await run(service)
    t.equal(status, 503, `${name}: ${text.slice(0, 300)}`)
    t.match(text, 'disk_unavailable', name)
  }
  t.equal((await service.call('GET', '/health/ready')).status, 503)
  t.equal(await service.count('kept'), 1, 'nothing of them is stored')
  allow()
  await service.log.until('The disk can be written again.')
  for (const [name, run] of otherWrites) {
    const { status, text } = await run(service)
    t.ok(status < 300, `${name}, again: ${status} ${text.slice(0, 300)}`)
  }
  const told = service.log.entries.filter(({ level }) => level === 'error').map(({ message }) => message)
  t.equal(told.filter((message) => message.startsWith('The disk cannot be written')).length, 1, told.join('\n'))
})

t.test('folders of parts and results that are removed while it runs are made again', async (t) => {
  const service = await openTestService(t)
  await service.create('kept', 'n UInt32 `json:$.n`')
  for (const [name, run] of otherWrites) {
    for (const folder of ['parts', 'results']) rmSync(join(service.dataDir, folder), { recursive: true, force: true })
    const { status, text } = await run(service)
    t.ok(status < 300, `${name}: ${status} ${text.slice(0, 300)}`)
  }
  rmSync(join(service.dataDir, 'parts'), { recursive: true, force: true })
  t.match(await service.events('kept', '{"n":1}\n', { wait: 'true' }), { status: 200 })
})
