import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import { rewriteStorage } from '../../src/storage/rewrite-storage.ts'
import { temporaryDirectory } from '../support/catalog/test-catalog.ts'

t.test('a file that is written anew has its records, changed as asked, and no bytes of those before', async (t) => {
  const path = join(temporaryDirectory(t), 'catalog.lmdb')
  const first = await openLmdbStorage(path)
  const names = Array.from({ length: 2_300 }, (_, index) => `r${String(index).padStart(5, '0')}`)
  await first.commit(names.map((key) => ({ kind: 'variables', key, value: { text: `old-${key}` }, version: null })))
  const large = { text: 'x'.repeat(5_000_000) }
  await first.commit([
    { kind: 'pipes', key: 'large', value: large, version: null },
    { kind: 'meta', key: 'catalog_version', value: 7, version: null },
    { kind: 'settings', key: 'moved', value: 'old-setting', version: null },
  ])
  await first.close()
  writeFileSync(`${path}.new`, 'left by a crash')
  await rewriteStorage(path, (record) => {
    if (record.kind === 'settings') return { ...record, kind: 'workspace', value: 'new-setting' }
    return record.kind === 'variables' ? { ...record, value: { text: `new-${record.key}` } } : record
  })
  t.notOk(existsSync(`${path}.new`) || existsSync(`${path}.new-lock`))
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.notOk(readFileSync(path).includes('old-'))
  const again = await openLmdbStorage(path)
  t.teardown(() => again.close())
  t.same(
    (await again.list('variables')).map(({ key, value }) => ({ key, value })),
    names.map((key) => ({ key, value: { text: `new-${key}` } })),
  )
  t.same((await again.get('pipes', 'large'))?.value, large)
  t.equal((await again.get('meta', 'catalog_version'))?.value, 7)
  t.same([await again.list('settings'), (await again.list('workspace')).length], [[], 1])
  await again.commit([{ kind: 'variables', key: 'later', value: 1, version: null }])
})

t.test('a change that fails leaves the old file', async (t) => {
  const path = join(temporaryDirectory(t), 'catalog.lmdb')
  const first = await openLmdbStorage(path)
  await first.commit([{ kind: 'variables', key: 'a', value: 1, version: null }])
  await first.close()
  await t.rejects(
    rewriteStorage(path, () => {
      throw new Error('no')
    }),
    { message: 'no' },
  )
  const again = await openLmdbStorage(path)
  t.teardown(() => again.close())
  t.match(await again.list('variables'), [{ key: 'a', value: 1 }])
})
