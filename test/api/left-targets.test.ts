// Data sources that a kill has left of views that were being made.

import { join } from 'node:path'
import t from 'tap'
import { catalogName } from '../../src/service.ts'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import { openSettings } from '../../src/storage/settings.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

async function noteOf(dataDir: string, write?: string): Promise<string | undefined> {
  const storage = await openLmdbStorage(join(dataDir, catalogName))
  const settings = await openSettings(storage)
  if (write !== undefined) await settings.write('made-targets', write)
  const text = settings.read('made-targets')
  await storage.close()
  return text
}

const exists = async (service: TestService, name: string): Promise<boolean> =>
  (await service.call('GET', `/v0/datasources/${name}`)).status === 200

t.test('a start drops what was made for a view that there is not, if it is empty and nobody uses it', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const first = await openTestService(t, { dataDir: directory.path })
  await first.create('events', 'n UInt32')
  await new ViewCalls(first).fill('whole', 'SELECT n FROM events', { datasource: 'filled' })
  const names = ['left', 'with_rows', 'read', 'filled']
  for (const name of ['left', 'with_rows', 'read']) await first.create(name, 'n UInt32')
  await first.events('with_rows', '{"n":1}', { wait: 'true' })
  await first.call('POST', '/v0/pipes', {
    body: JSON.stringify({ name: 'reader', nodes: [{ name: 'reader_0', sql: 'SELECT n FROM read' }] }),
  })
  const ids = await Promise.all(names.map((name) => first.idOf(name)))
  await first.close()
  t.equal(await noteOf(directory.path), '', 'what was made with its view is not noted')
  await noteOf(directory.path, [...ids, `t_${'0'.repeat(32)}`].join(' '))
  const second = await openTestService(t, { dataDir: directory.path })
  t.same(await Promise.all(names.map((name) => exists(second, name))), [false, true, true, true])
  t.ok(second.log.entries.some(({ message }) => /was being made for a view is dropped/.test(message)))
  await second.close()
  t.equal(await noteOf(directory.path), '')
})
