// Records of the catalog that hold nothing but counts and times: damaged, they keep no start from going on.

import { join } from 'node:path'
import { open } from 'lmdb'
import t from 'tap'
import { disposableKinds, isDisposable } from '../../src/storage/disposable-records.ts'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import type { RecordKind } from '../../src/storage/storage.types.ts'
import { liveOn, type TestService } from '../support/api/test-service.ts'
import { flippedBits } from '../support/flipped-bits.ts'
import { openRemoteServer } from '../support/remote-server.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const told =
  'A damaged record of the catalog, which has only counts and times, is begun anew; nothing else is lost with it.'

t.test('each record of counts that is damaged is named in a warning and begun anew', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const hook = await openRemoteServer(t, (_request, response) => response.writeHead(503).end())
  const given = {
    plan: 'developer' as const,
    ...{ queriesPerSecondMax: 1, queriesBurstFactor: 100, queriesPerDayMax: 1_000 },
    ...{ variablesRequestsPerSecondMax: 1, webhookUrl: `${hook.origin}/hook`, webhookSecret: '0123456789abcdef' },
    ...{ webhookAllow: '127.0.0.1', webhookAllowHttp: true },
  }
  const first = await liveOn(t, directory.path, given)
  t.equal((await first.create('kept', 'id UInt32')).status, 200)
  await use(first)
  await first.close()
  const path = join(directory.path, 'catalog.lmdb')
  const records = await disposableRecords(path)
  const kinds = records.map(({ kind, key }) => (kind === 'token_uses' ? kind : `${kind}/${key}`))
  t.same([...new Set(kinds)].sort(), [
    ...['settings/limit_overage_days', 'settings/limit_queries_per_day', 'settings/notifications', 'token_uses'],
  ])
  await flipBits(path, records)

  const second = await liveOn(t, directory.path, given)
  const warned = second.log.entries.filter(({ message }) => message === told).map(({ fields }) => fields['record'])
  t.same([...warned].sort(), records.map(({ kind, key }) => `${kind}/${key}`).sort())
  t.equal((await second.call('GET', '/v0/sql?q=SELECT+count()+FROM+kept')).status, 200)
  await use(second)
  await second.close()
  t.same(await disposableRecords(path), records, 'they are there again')

  const third = await liveOn(t, directory.path, given)
  t.same(
    third.log.entries.filter(({ message }) => message === told),
    [],
  )
})

/** Has each record written: queries over the rate, a notification that waits, the use of a token. */
async function use(service: TestService): Promise<void> {
  // However slow the machine is, two of so many at once are within one second.
  await Promise.all(Array.from({ length: 20 }, () => service.call('GET', '/v0/sql?q=SELECT+1')))
  while ((await service.call('GET', '/v0/variables')).status !== 429);
  await service.log.until('A notification was not taken; it is sent again.')
}

interface Place {
  readonly kind: RecordKind
  readonly key: string
}

async function disposableRecords(path: string): Promise<readonly Place[]> {
  const storage = await openLmdbStorage(path)
  const places: Place[] = []
  for (const kind of disposableKinds) {
    for (const { key } of await storage.list(kind)) if (isDisposable(kind, key)) places.push({ kind, key })
  }
  await storage.close()
  return places
}

/** One bit of each record, as a bad disk does it. */
async function flipBits(path: string, records: readonly Place[]): Promise<void> {
  const root = open<Uint8Array>({ path, noSubdir: true, encoding: 'binary', maxDbs: 16 })
  for (const { kind, key } of records) {
    const map = root.openDB<Uint8Array>({ name: kind, encoding: 'binary' })
    const [flipped] = flippedBits(map.get(key) ?? new Uint8Array())
    if (flipped === undefined) throw new Error(`${kind}/${key} is empty`)
    await map.put(key, flipped)
  }
  await root.close()
}
