// What only the file does: it outlives its process, and agrees with its readers whatever the disk does.

import { mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import t, { type Test } from 'tap'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import type { RecordStorage, RecordWrite } from '../../src/storage/storage.types.ts'
import { temporaryDirectory } from '../support/catalog/test-catalog.ts'
import { flippedBits } from '../support/flipped-bits.ts'
import { refuseFileWrites } from '../support/refused-disk.ts'

function created(key: string, value: unknown): RecordWrite {
  return { kind: 'variables', key, value, version: null }
}

async function openAt(t: Test, path: string): Promise<RecordStorage> {
  const storage = await openLmdbStorage(path)
  t.teardown(() => storage.close())
  return storage
}

t.test('records outlive the process, and are conditions of writes after it', async (t) => {
  const path = join(temporaryDirectory(t), 'catalog.lmdb')
  const first = await openLmdbStorage(path)
  await first.commit([created('a', 1), created('b', [2])])
  const version = await first.commit([created('gone', 1)])
  await first.commit([{ kind: 'variables', key: 'gone', value: null, version }])
  await first.close()
  const second = await openAt(t, path)
  const [a, b] = await second.list('variables')
  t.match(
    [a, b],
    [
      { key: 'a', value: 1 },
      { key: 'b', value: [2] },
    ],
  )
  await t.rejects(second.commit([created('a', 3)]), { name: 'StorageConflictError' })
  const changed = await second.commit([{ kind: 'variables', key: 'a', value: 3, version: a?.version ?? null }])
  t.same(await second.get('variables', 'a'), { key: 'a', value: 3, version: changed })
  t.same(await second.get('variables', 'b'), b)
})

t.test('what the disk refuses was never there, for readers, watchers, versions and the next batch', async (t) => {
  const path = join(temporaryDirectory(t), 'catalog.lmdb')
  const storage = await openAt(t, path)
  const version = await storage.commit([created('kept', 1), created('other', 1)])
  const before = await storage.list('variables')
  const told: unknown[] = []
  storage.watch('variables', (changes) => told.push(changes))
  const allow = refuseFileWrites()
  t.teardown(allow)
  const refused: readonly (readonly RecordWrite[])[] = [
    [{ kind: 'variables', key: 'kept', value: 2, version }, created('fresh', 1)],
    [{ kind: 'variables', key: 'other', value: null, version }, created('fresh', 'x'.repeat(600_000))],
    [{ kind: 'variables', key: 'kept', value: 3, version }],
  ]
  for (const writes of refused) {
    await t.rejects(storage.commit(writes), { code: 'DISK_UNAVAILABLE', status: 503 })
    t.same(await storage.list('variables'), before)
    t.same(await storage.get('variables', 'kept'), { key: 'kept', value: 1, version })
    t.equal(await storage.get('variables', 'fresh'), null)
  }
  allow()
  const later = await storage.commit([created('fresh', 2)])
  t.same(told, [[{ key: 'fresh', value: 2, version: later }]])
  await storage.commit([{ kind: 'variables', key: 'kept', value: 4, version }])
  await storage.close()
  const values = (await (await openAt(t, path)).list('variables')).map(({ key, value }) => [key, value])
  t.same(values, [
    ['fresh', 2],
    ['kept', 4],
    ['other', 1],
  ])
})

t.test('a batch under way is not read before it is on disk', async (t) => {
  const storage = await openAt(t, join(temporaryDirectory(t), 'catalog.lmdb'))
  const version = await storage.commit([created('a', 1), created('b', 1)])
  let isWritten = false
  const written = storage
    .commit([
      { kind: 'variables', key: 'a', value: 2, version },
      { kind: 'variables', key: 'b', value: null, version },
      created('c', 1),
    ])
    .then(() => {
      isWritten = true
    })
  let count = 0
  for (; !isWritten; count += 1) {
    const values = (await storage.list('variables')).map(({ key, value }) => `${key}${String(value)}`).join()
    if (!isWritten) t.equal(values, 'a1,b1')
    await new Promise(setImmediate)
  }
  await written
  t.ok(count > 0)
  t.match(await storage.list('variables'), [
    { key: 'a', value: 2 },
    { key: 'c', value: 1 },
  ])
})

t.test('a record that is not as it was written is not read, and one that is missing is missed', async (t) => {
  for (const [name, change] of [
    ['another value', (maps: Maps) => maps.variables.put('a', 2)],
    ['no value', (maps: Maps) => maps.variables.remove('a')],
    ['a checksum of another', (maps: Maps) => maps.checksums.put('variables/a', 1)],
  ] as const) {
    const path = join(temporaryDirectory(t), 'catalog.lmdb')
    const first = await openLmdbStorage(path)
    await first.commit([created('a', 1), created('b', 1)])
    await first.close()
    await changeFile(path, change)
    const storage = await openAt(t, path)
    const damaged = { name: 'StorageDamagedError', message: /^the record of a is (not as it was written|missing)$/ }
    await t.rejects(storage.list('variables'), damaged, name)
    await t.rejects(storage.get('variables', 'a'), damaged, name)
    await t.rejects(storage.commit([created('a', 1)]), damaged, name)
    t.match(await storage.get('variables', 'b'), { value: 1 })
  }
})

t.test('a disposable record with any bit flipped counts as missing, and is written anew', async (t) => {
  const path = join(temporaryDirectory(t), 'catalog.lmdb')
  const counts: RecordWrite = { kind: 'settings', key: 'limit_rows', value: '[[1,2]]', version: null }
  const first = await openLmdbStorage(path)
  await first.commit([counts, { kind: 'settings', key: 'other', value: 'x', version: null }, created('a', 1)])
  await first.close()
  const original = await readRaw(path, 'settings', 'limit_rows')
  for (const flipped of flippedBits(original)) {
    await writeRaw(path, 'settings', { key: 'limit_rows', bytes: flipped })
    const discarded: string[] = []
    const storage = await openLmdbStorage(path, { onDiscarded: (place) => discarded.push(place) })
    const label = Buffer.from(flipped).toString('latin1')
    t.same(discarded, ['settings/limit_rows'], label)
    t.equal(await storage.get('settings', 'limit_rows'), null, label)
    t.match(await storage.list('settings'), [{ key: 'other', value: 'x' }], label)
    await storage.commit([{ kind: 'variables', key: 'a', value: 2, version: 0 }])
    await storage.close()
    await readsWhole(t, path)
    const next = await openLmdbStorage(path)
    await next.commit([counts])
    await next.close()
  }
  for (const change of [
    (maps: Maps) => maps.checksums.put('settings/limit_rows', 1),
    (maps: Maps) => maps.settings.remove('limit_rows'),
  ]) {
    await changeFile(path, change)
    const storage = await openLmdbStorage(path)
    t.same((await storage.list('settings')).length, 1)
    await storage.commit([counts])
    t.match(await storage.list('settings'), [{ key: 'limit_rows', value: '[[1,2]]' }, { key: 'other' }])
    await storage.close()
  }
  await writeRaw(path, 'settings', { key: 'other', bytes: Buffer.from('"y"') })
  await t.rejects((await openAt(t, path)).list('settings'), { name: 'StorageDamagedError' })
})

async function readsWhole(t: Test, path: string): Promise<void> {
  const discarded: string[] = []
  const storage = await openLmdbStorage(path, { onDiscarded: (place) => discarded.push(place) })
  t.same([discarded, (await storage.list('settings')).length], [[], 1], 'the first change has removed it')
  await storage.close()
}

async function readRaw(path: string, kind: string, key: string): Promise<Uint8Array> {
  const root = open<Uint8Array>({ path, noSubdir: true, encoding: 'binary', maxDbs: 16 })
  const bytes = Uint8Array.from(root.openDB<Uint8Array>({ name: kind, encoding: 'binary' }).get(key) ?? [])
  await root.close()
  return bytes
}

async function writeRaw(path: string, kind: string, record: { key: string; bytes: Uint8Array }): Promise<void> {
  const root = open<Uint8Array>({ path, noSubdir: true, encoding: 'binary', maxDbs: 16 })
  await root.openDB<Uint8Array>({ name: kind, encoding: 'binary' }).put(record.key, record.bytes)
  await root.close()
}

t.test('a record without a checksum is one of an earlier release, and has one when it is written', async (t) => {
  const path = join(temporaryDirectory(t), 'catalog.lmdb')
  await (await openLmdbStorage(path)).close()
  await changeFile(path, (maps) => maps.variables.put('old', 1))
  const storage = await openAt(t, path)
  const [old] = await storage.list('variables')
  t.match(old, { key: 'old', value: 1 })
  await storage.commit([{ kind: 'variables', key: 'old', value: 2, version: old?.version ?? null }])
  await storage.close()
  await changeFile(path, (maps) => maps.variables.put('old', 3))
  await t.rejects((await openAt(t, path)).list('variables'), { name: 'StorageDamagedError' })
})

interface Maps {
  readonly variables: { put(key: string, value: unknown): Promise<boolean>; remove(key: string): Promise<boolean> }
  readonly settings: Pick<Maps['variables'], 'remove'>
  readonly checksums: { put(key: string, value: unknown): Promise<boolean> }
}

/** Changes the file as nobody of the service would. */
async function changeFile(path: string, change: (maps: Maps) => Promise<boolean>): Promise<void> {
  const root = open<unknown>({ path, noSubdir: true, encoding: 'json', maxDbs: 16 })
  const mapOf = (name: string) => root.openDB<unknown>({ name, encoding: 'json' })
  await change({ variables: mapOf('variables'), settings: mapOf('settings'), checksums: mapOf('checksums') })
  await root.close()
}

t.test('a lock that cannot be opened is the error of the system, and the next open passes without it', async (t) => {
  const path = join(temporaryDirectory(t), 'catalog.lmdb')
  mkdirSync(`${path}-lock`)
  await t.rejects(openLmdbStorage(path), { code: 'EISDIR', syscall: 'open' })
  rmdirSync(`${path}-lock`)
  const storage = await openAt(t, path)
  t.same(await storage.list('variables'), [])
})
