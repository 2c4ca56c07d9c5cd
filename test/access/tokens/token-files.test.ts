import { createHash, createHmac } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { renewOldDigest } from '../../../src/access/tokens/old-digest.ts'
import { openSecretStorage } from '../../../src/secrets/open-secrets.ts'
import { readKeyFile } from '../../../src/secrets/secret-key-file.ts'
import { noDiskReports } from '../../../src/shared/disk-fault.ts'
import { openLmdbStorage } from '../../../src/storage/lmdb-storage.ts'
import { adminEditor, openTestTokens } from '../../support/access/test-tokens.ts'
import { filesWith } from '../../support/bytes-below.ts'
import { createTestDirectory, silentLogger } from '../../support/store/test-store.ts'

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

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

t.test('what the catalog keeps of the admin token signs no JWT', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const storage = await openLmdbStorage(join(directory.path, 'catalog.lmdb'))
  const { tokens } = await openTestTokens({ storage })
  const value = tokens.adminValue ?? ''
  await tokens.close()
  await storage.close()
  const signed = (key: string | Buffer) => createHmac('sha256', key).update('signed').digest('hex')
  t.equal(signed(sha256(value)), signed(value), 'a key of more than 64 bytes is hashed first')
  for (const encoding of ['base64url', 'base64', 'hex', 'latin1'] as const) {
    t.same(filesWith(directory.path, sha256(value).toString(encoding).replace(/=+$/, '')), [], encoding)
  }
})

t.test('a digest of an earlier release becomes another without the value, and its bytes are gone', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const path = join(directory.path, 'catalog.lmdb')
  const storage = await openLmdbStorage(path)
  const { tokens } = await openTestTokens({ storage })
  const { value } = await tokens.create({ name: 'kept', description: '', scopes: [], expiresAt: null }, adminEditor)
  const values = [tokens.adminValue ?? '', value ?? '']
  const list = tokens.list()
  for (const { key, value: record, version } of await storage.list('tokens')) {
    const old = values.find((one) => tokens.findToken(one)?.id === key)
    const digest = old === undefined ? null : sha256(old).toString('base64url')
    // A record is an object.
    const fields = { ...(record as object), format: 1, digest }
    await storage.commit([{ kind: 'tokens', key, value: fields, version }])
  }
  await tokens.close()
  await storage.close()
  const oldDigests = values.map((one) => sha256(one).toString('base64url'))
  for (const digest of oldDigests) t.same(filesWith(directory.path, digest), ['catalog.lmdb'])
  const place = { path: join(directory.path, 'secret-key'), isGiven: false }
  for (const round of [1, 2]) {
    const keyFile = await readKeyFile(place, silentLogger)
    const sealPlain = [renewOldDigest]
    const secrets = await openSecretStorage(path, { keyFile, sealPlain, disk: noDiskReports, logger: silentLogger })
    const { tokens: reopened } = await openTestTokens({ storage: secrets.storage })
    t.same(reopened.list(), list, `start ${round}`)
    for (const one of values) t.ok(reopened.find(one), `start ${round}`)
    await reopened.close()
    await secrets.storage.close()
    for (const digest of oldDigests) t.same(filesWith(directory.path, digest), [], `start ${round}`)
  }
})
