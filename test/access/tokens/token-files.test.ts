import { join } from 'node:path'
import t from 'tap'
import { openLmdbStorage } from '../../../src/storage/lmdb-storage.ts'
import { adminEditor, openTestTokens } from '../../support/access/test-tokens.ts'
import { filesWith } from '../../support/bytes-below.ts'
import { createTestDirectory } from '../../support/store/test-store.ts'

t.test('no value is in the bytes of the catalog, whatever was done with its token', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const path = join(directory.path, 'catalog.lmdb')
  const storage = await openLmdbStorage(path)
  const { tokens } = await openTestTokens({ storage })
  const order = (name: string) => ({ name, description: '', scopes: [], expiresAt: null })
  const kept = await tokens.create(order('kept'), adminEditor)
  const removed = await tokens.create(order('removed'), adminEditor)
  const refreshed = await tokens.refresh(kept.token.id, adminEditor)
  await tokens.remove(removed.token.id, adminEditor)
  const values = [...(await tokens.valuesOf(tokens.list())), kept.value, removed.value, refreshed.value]
  tokens.find(refreshed.value ?? '')
  const list = tokens.list()
  await tokens.close()
  await storage.close()
  t.equal(values.length, 8)
  t.same(filesWith(directory.path, 'workspace admin token'), ['catalog.lmdb'])
  for (const value of values) {
    const secret = value?.split('.')[2] ?? 'missing'
    t.same([secret.length, filesWith(directory.path, secret)], [43, []])
  }

  const again = await openLmdbStorage(path)
  t.teardown(() => again.close())
  const { tokens: reopened } = await openTestTokens({ storage: again })
  t.same(reopened.list(), list)
  t.match(reopened.find(refreshed.value ?? ''), { name: 'kept' })
  t.equal(reopened.lastUsedAt(refreshed.token), Date.UTC(2026, 0, 2))
  for (const value of [kept.value, removed.value]) t.equal(reopened.find(value ?? ''), undefined)
})
