// A disk that is full while tables are made, and definitions of tables that are damaged between two starts.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openService } from '../../src/service.ts'
import { TestLog, TestService, testOptions } from '../support/api/test-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

async function start(dataDir: string): Promise<TestService> {
  const log = new TestLog()
  return new TestService(await openService(testOptions({ dataDir }), log), { log, dataDir })
}

function definitionsIn(dataDir: string): readonly string[] {
  const metadata = join(dataDir, 'clickhouse', 'metadata', 'ws_0001')
  return readdirSync(metadata).map((name) => join(metadata, name))
}

t.test('changes on a disk with one free block are 503, and the next start opens all', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=80m', 'tmpfs', directory.path]).status !== 0) {
    t.pass('only a user who may mount can fill a disk')
    return
  }
  t.teardown(() => execFileSync('umount', ['-l', directory.path]))
  const dataDir = join(directory.path, 'data')
  const filling = join(directory.path, 'filling')
  const first = await start(dataDir)
  t.match(await first.create('kept', 'n UInt32 `json:$.n`'), { status: 200 })
  t.match(await first.append('kept', 'csv', '1\n2\n'), { status: 200 })
  spawnSync('dd', ['if=/dev/zero', `of=${filling}`, 'bs=4k'])
  execFileSync('truncate', ['-s', '-4096', filling])
  const alter = '/v0/datasources/kept/alter?schema=n%20UInt32%20%60json:$.n%60,m%20UInt32'
  const changes = [
    first.create('fresh', 'n UInt32'),
    first.events('unknown', '{"n":1}\n'),
    first.call('POST', alter),
    first.call('POST', '/v0/datasources?mode=create&name=made', { body: 'n\n1\n' }),
  ]
  for (const { status, text } of await Promise.all(changes)) t.equal(status, 503, text)
  t.equal((await first.call('GET', '/health/ready')).status, 503)
  for (const path of definitionsIn(dataDir)) t.not(readFileSync(path, 'utf8'), '', path)
  rmSync(filling)
  await first.log.until('The disk can be written again.')
  t.match(await first.call('POST', alter), { status: 200 })
  await first.close()
  const last = await start(dataDir)
  t.equal(await last.count('kept'), 2)
  t.match(await last.create('fresh', 'n UInt32'), { status: 200 })
  await last.close()
})

t.test('definitions that are emptied or cut keep no other data source closed', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const first = await start(directory.path)
  for (const name of ['whole', 'empty', 'cut', 'lost']) {
    t.match(await first.create(name, 'n UInt32'), { status: 200 })
    t.match(await first.append(name, 'csv', '1\n2\n'), { status: 200 })
  }
  const list = (await first.call('GET', '/v0/datasources')).json as {
    datasources: readonly { readonly id: string; readonly name: string }[]
  }
  const idOf = (name: string): string => list.datasources.find((it) => it.name === name)?.id ?? ''
  await first.close()
  const pathOf = (name: string): string =>
    join(directory.path, 'clickhouse', 'metadata', 'ws_0001', `${idOf(name)}.sql`)
  truncateSync(pathOf('empty'), 0)
  truncateSync(pathOf('cut'), 70)
  truncateSync(pathOf('lost'), 0)
  rmSync(join(directory.path, 'definitions', `${idOf('lost')}.sql`))
  const second = await start(directory.path)
  for (const name of ['whole', 'empty', 'cut']) t.equal(await second.count(name), 2, name)
  t.equal(await second.count('lost'), 0)
  const told = second.log.entries.filter(({ level }) => level === 'error').map(({ message }) => message)
  t.equal(told.filter((message) => message.includes('put back from its copy')).length, 2, told.join('\n'))
  t.equal(told.filter((message) => message.includes('it is set aside')).length, 1, told.join('\n'))
  t.match(await second.append('lost', 'csv', '3\n'), { status: 200 })
  await second.close()
})

t.test(
  'a directory whose parts are taken away while it runs is not ready, and is again when they are back',
  async (t) => {
    const directory = await createTestDirectory()
    t.teardown(() => directory.remove())
    const dataDir = join(directory.path, 'data')
    const service = await start(dataDir)
    t.match(await service.create('kept', 'n UInt32 `json:$.n`'), { status: 200 })
    for (const name of ['', 'wal', 'catalog.lmdb']) {
      const path = join(dataDir, name)
      const aside = join(directory.path, 'aside')
      renameSync(path, aside)
      if (name === 'wal') mkdirSync(path)
      if (name === 'catalog.lmdb') writeFileSync(path, '')
      await service.log.until(
        'A part of the data directory is not in its place: all requests are refused until it is again.',
      )
      t.match(await service.call('GET', '/health/ready'), { status: 503 }, name)
      t.match(await service.events('kept', '{"n":1}\n'), { status: 503 }, name)
      t.match(await service.call('GET', '/v0/datasources'), { status: 503 }, name)
      rmSync(path, { recursive: true, force: true })
      renameSync(aside, path)
      await service.log.until('The data directory is whole again.')
      t.match(await service.call('GET', '/health/ready'), { status: 200 }, name)
      const told = service.log.entries.filter(({ message }) => message.startsWith('A part of the data directory'))
      t.equal(told.length, 1, name)
      service.log.entries.splice(0)
    }
    t.match(await service.events('kept', '{"n":1}\n', { wait: 'true' }), { status: 200 })
    await service.close()
  },
)
