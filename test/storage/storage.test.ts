// What every storage does, whatever is behind it: the file of a service, and the memory that tests are given.

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import { loadRecords } from '../../src/storage/loaded-records.ts'
import { openSettings } from '../../src/storage/settings.ts'
import type { RecordChange, RecordStorage, RecordWrite } from '../../src/storage/storage.types.ts'
import { temporaryDirectory } from '../support/catalog/test-catalog.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

const storages: Readonly<Record<string, (t: Test) => Promise<RecordStorage>>> = {
  lmdb: (t) => openLmdbStorage(join(temporaryDirectory(t), 'catalog.lmdb')),
  memory: async () => new MemoryStorage(),
}

for (const [name, open] of Object.entries(storages)) {
  t.test(`${name}: the contract`, async (t) => {
    const openEmpty = async (t: Test): Promise<RecordStorage> => {
      const storage = await open(t)
      t.teardown(() => storage.close())
      return storage
    }
    await checkRecords(t, openEmpty)
    await checkVersions(t, openEmpty)
    await checkWatches(t, openEmpty)
    await checkMany(t, openEmpty)
    await checkModel(t, openEmpty)
  })
}

type OpenEmpty = (t: Test) => Promise<RecordStorage>

function created(key: string, value: unknown, kind: RecordWrite['kind'] = 'variables'): RecordWrite {
  return { kind, key, value, version: null }
}

async function keysOf(storage: RecordStorage, prefix?: string): Promise<readonly string[]> {
  return (await storage.list('variables', prefix)).map(({ key }) => key)
}

async function checkRecords(t: Test, openEmpty: OpenEmpty): Promise<void> {
  await t.test('a record is read back as it was written, under its kind and key alone', async (t) => {
    const storage = await openEmpty(t)
    const value = { text: 'é☕\u0000"', list: [1, 2.5, -0.1, true, null], nested: { constructor: 'x' } }
    t.equal(await storage.get('variables', 'a'), null)
    const version = await storage.commit([created('a', value), created('a', 7, 'settings')])
    t.same(await storage.get('variables', 'a'), { key: 'a', value, version })
    t.same(await storage.get('settings', 'a'), { key: 'a', value: 7, version })
    t.equal(await storage.get('pipes', 'a'), null)
    t.equal(await storage.get('variables', 'A'), null)
    t.same(await storage.list('variables'), [{ key: 'a', value, version }])
    await storage.commit([{ kind: 'variables', key: 'a', value: null, version }])
    t.equal(await storage.get('variables', 'a'), null)
    t.same(await storage.list('variables'), [])
    t.same(await storage.get('settings', 'a'), { key: 'a', value: 7, version })
  })

  await t.test('a list is in the order of the keys, and holds those that begin with the prefix', async (t) => {
    const storage = await openEmpty(t)
    const keys = ['job/9', 'job/10', 'job', 'job0', 'Job/1', 'job/', 'job/1~', 'job/1', 'jo', '~', ' ', '__proto__']
    await storage.commit(keys.map((key) => created(key, key)))
    t.same(await keysOf(storage), [...keys].sort())
    t.same(await keysOf(storage, 'job/'), ['job/', 'job/1', 'job/10', 'job/1~', 'job/9'])
    t.same(await keysOf(storage, 'job/1'), ['job/1', 'job/10', 'job/1~'])
    t.same(await keysOf(storage, 'job/11'), [])
    t.same(await keysOf(storage, '~'), ['~'])
  })

  await t.test('keys are printable ASCII of 1 to 300 characters', async (t) => {
    const storage = await openEmpty(t)
    await storage.commit([created('x'.repeat(300), 1)])
    for (const key of ['', 'x'.repeat(301), 'é', 'a\n', '\u007f']) {
      await t.rejects(storage.commit([created('good', 1), created(key, 1)]), JSON.stringify(key))
    }
    t.same(await keysOf(storage), ['x'.repeat(300)])
  })
}

async function checkVersions(t: Test, openEmpty: OpenEmpty): Promise<void> {
  const conflict = { name: 'StorageConflictError' }

  await t.test('a batch is written when each version is still the one that was read', async (t) => {
    const storage = await openEmpty(t)
    const first = await storage.commit([created('a', 1), created('b', 1)])
    const second = await storage.commit([{ kind: 'variables', key: 'a', value: 2, version: first }])
    t.ok(second > first)
    const stale: readonly RecordWrite[] = [
      { kind: 'variables', key: 'a', value: 3, version: first },
      { kind: 'variables', key: 'a', value: null, version: first },
      { kind: 'variables', key: 'none', value: 3, version: first },
      { kind: 'variables', key: 'none', value: null, version: second },
      created('b', 3),
    ]
    for (const write of stale) {
      const others = [created('c', 3), { kind: 'variables', key: 'b', value: 4, version: first } as const]
      const withOthers = others.filter(({ key }) => key !== write.key)
      await t.rejects(storage.commit([...withOthers, write]), conflict, JSON.stringify(write))
      await t.rejects(storage.commit([write, ...withOthers]), conflict, JSON.stringify(write))
    }
    t.same(await storage.list('variables'), [
      { key: 'a', value: 2, version: second },
      { key: 'b', value: 1, version: first },
    ])
  })

  await t.test('a record that went and came back is another one', async (t) => {
    const storage = await openEmpty(t)
    const first = await storage.commit([created('a', 1)])
    await storage.commit([{ kind: 'variables', key: 'a', value: null, version: first }])
    const last = await storage.commit([created('a', 1)])
    await t.rejects(storage.commit([{ kind: 'variables', key: 'a', value: 2, version: first }]), conflict)
    t.same(await storage.get('variables', 'a'), { key: 'a', value: 1, version: last })
  })

  await t.test('of writers that read the same version one is first', async (t) => {
    const storage = await openEmpty(t)
    const version = await storage.commit([created('n', 0)])
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, value) => storage.commit([{ kind: 'variables', key: 'n', value, version }])),
    )
    t.same(
      results.map(({ status }) => status),
      ['fulfilled', ...Array.from({ length: 19 }, () => 'rejected')],
    )
    t.match(await storage.get('variables', 'n'), { value: 0 })
  })

  await t.test('a batch writes a record once, and an empty one changes nothing', async (t) => {
    const storage = await openEmpty(t)
    await t.rejects(storage.commit([created('a', 1), created('a', 2)]))
    const version = await storage.commit([created('a', 1)])
    t.equal(await storage.commit([]), version)
    t.ok((await storage.commit([created('b', 1)])) > version)
  })

  await t.test('a module that keeps its records in memory notices another writer', async (t) => {
    const storage = await openEmpty(t)
    await storage.commit([created('kept', 'old', 'settings')])
    const [records, settings] = [await loadRecords(storage, ['settings']), await openSettings(storage)]
    t.same([...records.take('settings')], [['kept', 'old']])
    t.same([...records.take('settings')], [], 'they are given once')
    await settings.write('kept', 'new')
    await settings.write('more', '1')
    await settings.write('more', '2')
    for (const key of ['kept', 'more']) {
      await t.rejects(records.write([{ kind: 'settings', key, value: 'x' }]), conflict, key)
    }
    await records.write([{ kind: 'settings', key: 'own', value: 'x' }])
    await records.write([{ kind: 'settings', key: 'own', value: null }])
    await records.write([{ kind: 'settings', key: 'own', value: 'y' }])
    const again = await openSettings(storage)
    t.same(
      [again.read('kept'), again.read('more'), again.read('own'), again.read('none')],
      ['new', '2', 'y', undefined],
    )
  })

  await t.test(
    'writes of one setting beside each other are made one after the other, each of what is left',
    async (t) => {
      const storage = await openEmpty(t)
      const settings = await openSettings(storage)
      const oneMore = (before = '0'): string => String(Number(before) + 1)
      await Promise.all([
        settings.write('text', 'first'),
        ...Array.from({ length: 20 }, () => settings.change('count', oneMore)),
        settings.write('text', 'last'),
      ])
      t.same([settings.read('count'), settings.read('text')], ['20', 'last'])
      const failed = settings.change('count', () => {
        throw new Error('no value')
      })
      await Promise.all([t.rejects(failed, { message: 'no value' }), settings.change('count', oneMore)])
      const again = await openSettings(storage)
      t.same([again.read('count'), again.read('text')], ['21', 'last'])
    },
  )
}

async function checkWatches(t: Test, openEmpty: OpenEmpty): Promise<void> {
  await t.test(
    'a watcher is told its kind, a batch by one call and before the writer, in the order of the batches',
    async (t) => {
      const storage = await openEmpty(t)
      const before = await storage.commit([created('before', 1)])
      const told: (readonly RecordChange[] | string)[] = []
      const end = storage.watch('variables', (changes) => told.push(changes))
      const commits = [
        storage.commit([
          created('a', 1),
          created('s', 1, 'settings'),
          { kind: 'variables', key: 'before', value: null, version: before },
        ]),
        storage.commit([created('s2', 1, 'settings')]),
        storage.commit([created('b', 1)]),
      ].map((commit, index) =>
        commit.then((version) => {
          told.push(`${index} is written`)
          return version
        }),
      )
      const versions = await Promise.all(commits)
      await t.rejects(storage.commit([created('a', 2), created('c', 2)]), { name: 'StorageConflictError' })
      end()
      await storage.commit([created('unheard', 1)])
      const [first = 0, , third = 0] = versions
      t.same(told, [
        [
          { key: 'a', value: 1, version: first },
          { key: 'before', value: null, version: first },
        ],
        '0 is written',
        '1 is written',
        [{ key: 'b', value: 1, version: third }],
        '2 is written',
      ])
    },
  )

  await t.test('each watcher is told, also one that is there twice, until it ends its own watch', async (t) => {
    const storage = await openEmpty(t)
    let count = 0
    const tell = () => {
      count += 1
    }
    const [endFirst, endSecond] = [storage.watch('variables', tell), storage.watch('variables', tell)]
    await storage.commit([created('a', 1)])
    t.equal(count, 2)
    endFirst()
    endFirst()
    await storage.commit([created('b', 1)])
    t.equal(count, 3)
    endSecond()
    await storage.commit([created('c', 1)])
    t.equal(count, 3)
  })
}

async function checkMany(t: Test, openEmpty: OpenEmpty): Promise<void> {
  await t.test('100,000 records are written by one batch, listed, and changed one by one', async (t) => {
    const storage = await openEmpty(t)
    const count = 100_000
    const keyOf = (index: number): string => `tk_${index.toString(16).padStart(8, '0')}`
    const scopes = ['DATASOURCES:READ:events', 'PIPES:READ:top_pages']
    const version = await storage.commit(
      Array.from({ length: count }, (_, index) => created(keyOf(index), { name: `token ${index}`, scopes })),
    )
    const records = await storage.list('variables')
    t.equal(records.length, count)
    t.ok(records.every(({ key, version: found }, index) => key === keyOf(index) && found === version))
    t.same(await storage.get('variables', keyOf(99_999)), {
      key: keyOf(99_999),
      value: { name: 'token 99999', scopes },
      version,
    })
    t.equal((await storage.list('variables', 'tk_000100')).length, 256)
    await storage.commit([{ kind: 'variables', key: keyOf(500), value: null, version }])
    t.equal((await storage.list('variables')).length, count - 1)
  })
}

async function checkModel(t: Test, openEmpty: OpenEmpty): Promise<void> {
  const seed = testSeed()
  await t.test(`random batches leave what a plain model says (SEED=${seed})`, async (t) => {
    const storage = await openEmpty(t)
    const random = new SeededRandom(seed)
    const model = new Map<string, { readonly value: unknown; readonly version: number }>()
    for (let step = 0; step < 300; step += 1) {
      const keys = new Set(Array.from({ length: 1 + random.below(4) }, () => `k${random.below(12)}`))
      let isRight = true
      const writes = Array.from(keys, (key): RecordWrite => {
        const isStale = random.below(8) === 0
        const version = model.get(key)?.version ?? null
        if (isStale) isRight = false
        const value = random.below(3) === 0 ? null : { step, text: 'x'.repeat(random.below(6_000)) }
        return { kind: 'variables', key, value, version: isStale ? (version ?? 0) - 1 : version }
      })
      if (!isRight) {
        await t.rejects(storage.commit(writes), { name: 'StorageConflictError' })
        continue
      }
      const version = await storage.commit(writes)
      for (const { key, value } of writes) {
        if (value === null) model.delete(key)
        else model.set(key, { value, version })
      }
      if (step % 20 > 0) continue
      const expected = [...model].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, record]) => ({ key, ...record }))
      t.same(await storage.list('variables'), expected, `after step ${step}`)
    }
  })
}
