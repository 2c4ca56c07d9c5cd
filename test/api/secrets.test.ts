// Secrets on disk: sealed from the first one on, also those of a directory that an earlier release wrote.

import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { rotateSecretKey } from '../../src/rotate-secret-key.ts'
import { createSecretKeyOfRandom, printKeys } from '../../src/secrets/secret-key.ts'
import { openService } from '../../src/service.ts'
import { openTestService, TestLog, type TestService, testOptions } from '../support/api/test-service.ts'
import { filesWith } from '../support/bytes-below.ts'
import { temporaryDirectory } from '../support/catalog/test-catalog.ts'
import { repositoryRoot } from '../support/repository-root.ts'
import { silentLogger } from '../support/store/test-store.ts'

const run = promisify(execFile)
const lostMessage =
  'Secrets cannot be read, because the key that encrypted them is missing: put it back, or write their values anew.'

async function unpackOldDirectory(t: Test): Promise<string> {
  const path = temporaryDirectory(t)
  const archive = join(repositoryRoot, 'fixtures/directories/format-3.tar.gz')
  await run('tar', ['-xzf', archive, '--no-same-owner', '-C', path])
  return path
}

async function write(service: TestService, name: string, value: string): Promise<void> {
  const body = new URLSearchParams({ name, value }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { status } = await service.call('POST', '/v0/variables', { body, headers })
  t.equal(status, 200)
}

/** An endpoint that counts 1 where its parameter is the secret. */
async function guard(service: TestService, secret: string): Promise<void> {
  const sql = `%\nSELECT count() AS n FROM numbers(1) WHERE {{tb_secret("${secret}")}} = {{String(key, "")}}`
  const body = JSON.stringify({ name: `guarded_${secret}`, nodes: [{ name: 'n0', type: 'endpoint', sql }] })
  const headers = { 'content-type': 'application/json' }
  t.equal((await service.call('POST', '/v0/pipes', { body, headers })).status, 200)
}

async function countOf(service: TestService, pipe: string, key: string): Promise<string> {
  return (await service.call('GET', `/v0/pipes/${pipe}.csv?key=${key}`)).text
}

t.test('the plain secrets of an earlier release are sealed, and their bytes are gone', async (t) => {
  const dataDir = await unpackOldDirectory(t)
  const adminToken = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  const values = ['plain-first-value', 'plain-second-value', 'plain-kept-value', 'plain-removed-value']
  t.same(filesWith(dataDir, 'plain-kept-value'), ['catalog.lmdb'])
  t.same([...filesWith(dataDir, adminToken)].sort(), ['admin-token', 'catalog.lmdb'])
  const service = await openTestService(t, { dataDir, adminToken: undefined })
  for (const value of values) t.same(filesWith(dataDir, value), [], value)
  t.same(filesWith(dataDir, adminToken), ['admin-token'])
  t.match(
    service.log.entries.find(({ message }) => message.startsWith('Secrets of an earlier')),
    {
      fields: { plainCount: 4 },
    },
  )
  const headers = { authorization: `Bearer ${adminToken}` }
  const { json } = await service.call('GET', '/v0/variables', { token: null, headers })
  t.match(json, { variables: [{ name: 'changed' }, { name: 'empty' }, { name: 'page_key' }] })
  // Events that were acknowledged before the kill are stored beside the first requests.
  const guarded = async (key: string) =>
    (await service.call('GET', `/v0/pipes/guarded.csv?key=${key}`, { token: null, headers })).text
  t.notMatch(await guarded('plain-kept-value'), /\n0\n$/)
  t.match(await guarded('another'), /\n0\n$/)
  await service.close()
  for (const value of values) t.same(filesWith(dataDir, value), [], value)
  t.equal(readFileSync(join(dataDir, 'format'), 'utf8'), 'millrace data directory, format 4\n')
  t.equal(statSync(join(dataDir, 'catalog.lmdb')).mode & 0o777, 0o600)
})

t.test('a migration that was cut off runs again, and so does one of a catalog out of a backup', async (t) => {
  const dataDir = await unpackOldDirectory(t)
  const path = join(dataDir, 'catalog.lmdb')
  copyFileSync(path, join(dataDir, 'backup'))
  // What a crash leaves in the middle: the key, a part of the new file, and the format number.
  writeFileSync(join(dataDir, 'secret-key'), printKeys([createSecretKeyOfRandom()]), { mode: 0o600 })
  writeFileSync(`${path}.new`, Buffer.alloc(10_000, 'cut'))
  writeFileSync(join(dataDir, 'format'), 'millrace data directory, format 4\n')
  for (const round of ['cut off', 'backup']) {
    const service = await openTestService(t, { dataDir })
    const { json } = await service.call('GET', '/v0/variables')
    t.match(json, { variables: [{ name: 'changed' }, { name: 'empty' }, { name: 'page_key' }] }, round)
    await service.close()
    t.notOk(existsSync(`${path}.new`))
    t.same(filesWith(dataDir, 'plain-kept-value'), round === 'cut off' ? ['backup'] : [], round)
    if (round === 'cut off') renameSync(join(dataDir, 'backup'), path)
  }
})

t.test('no secret is in the plain on disk or in the log, whatever was done with it', async (t) => {
  const dataDir = temporaryDirectory(t)
  const service = await openTestService(t, { dataDir, adminToken: undefined })
  const adminToken = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  const headers = { authorization: `Bearer ${adminToken}` }
  const call = (method: string, path: string, fields: Readonly<Record<string, string>> = {}) =>
    service.call(method, path, { token: null, headers, body: JSON.stringify(fields) })
  const json = { ...headers, 'content-type': 'application/json' }
  const sql = '%\nSELECT {{tb_secret("key")}} = {{String(key, "")}} AS same, throwIf(toUInt8(same)) FROM numbers(1)'
  for (let round = 0; round < 20; round += 1) {
    await service.call('POST', '/v0/variables', {
      token: null,
      headers: json,
      body: JSON.stringify({ name: 'key', value: `hidden-made-${round}` }),
    })
    if (round === 0) {
      const body = JSON.stringify({ name: 'guarded', nodes: [{ name: 'n0', type: 'endpoint', sql }] })
      t.equal((await service.call('POST', '/v0/pipes', { token: null, headers: json, body })).status, 200)
    }
    const changed = await service.call('PUT', '/v0/variables/key', {
      token: null,
      headers: json,
      body: JSON.stringify({ value: `hidden-changed-${round}` }),
    })
    t.equal(changed.status, 200)
    await service.call('GET', '/v0/pipes/guarded.json?key=x', { token: null, headers })
    const failed = await service.call('GET', `/v0/pipes/guarded.json?key=hidden-changed-${round}`, {
      token: null,
      headers,
    })
    t.not(failed.status, 200)
    if (round % 2 === 0) t.equal((await call('DELETE', '/v0/variables/key')).status, 200)
    else await call('DELETE', '/v0/variables/key')
  }
  t.same(filesWith(dataDir, 'hidden-'), [])
  await service.close()
  t.same(filesWith(dataDir, 'hidden-'), [])
  t.same(filesWith(dataDir, adminToken), ['admin-token'])
  t.same(filesWith(dataDir, readFileSync(join(dataDir, 'secret-key'), 'utf8').trim()), ['secret-key'])
  const told = JSON.stringify(service.log.entries)
  t.notOk(told.includes(adminToken))
  t.notMatch(told, 'hidden-changed-1"')
})

t.test('without its key the service starts, says so, and takes new values', async (t) => {
  const dataDir = temporaryDirectory(t)
  const first = await openTestService(t, { dataDir, adminToken: undefined })
  const adminToken = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
  await first.close()
  const given = await openTestService(t, { dataDir })
  for (const name of ['a', 'b']) await write(given, name, `value-of-${name}`)
  await guard(given, 'a')
  t.match(await countOf(given, 'guarded_a', 'value-of-a'), /1\n$/)
  await given.close()

  const keyPath = join(dataDir, 'secret-key')
  renameSync(keyPath, join(dataDir, 'lost'))
  const oldKey = readFileSync(join(dataDir, 'lost'), 'utf8')
  const again = await openTestService(t, { dataDir, adminToken: undefined })
  const lost = again.log.entries.find(({ message }) => message === lostMessage)
  t.match(lost, { level: 'error', fields: { lostCount: 5, variables: 2, tokens: 3 } })
  t.not(readFileSync(keyPath, 'utf8'), oldKey)
  const headers = { authorization: `Bearer ${adminToken}` }
  const { json } = await again.call('GET', '/v0/variables', { token: null, headers })
  t.match(json, { variables: [{ name: 'a' }, { name: 'b' }] }, 'the token of the file is valid still')
  const refused = await again.call('GET', '/v0/pipes/guarded_a.csv?key=value-of-a', { token: null, headers })
  t.match([refused.status, refused.text], [503, /The secret 'a' cannot be read/])
  await again.close()

  const third = await openTestService(t, { dataDir })
  t.match(
    third.log.entries.find(({ message }) => message === lostMessage),
    { fields: { lostCount: 5 } },
  )
  const changed = await third.call('PUT', '/v0/variables/a', { body: 'value=new-a' })
  t.equal(changed.status, 200)
  t.match(await countOf(third, 'guarded_a', 'new-a'), /1\n$/)
  await third.close()

  writeFileSync(keyPath, readFileSync(keyPath, 'utf8') + oldKey)
  const found = await openTestService(t, { dataDir })
  t.notOk(found.log.entries.some(({ message }) => message === lostMessage))
  await guard(found, 'b')
  t.match(
    await countOf(found, 'guarded_b', 'value-of-b'),
    /1\n$/,
    'a key that was found again opens beside the new one',
  )
  t.match(await countOf(found, 'guarded_a', 'new-a'), /1\n$/)
})

t.test(
  'with the key of another directory, and without the file of the token, the token is known where it is sent',
  async (t) => {
    const dataDir = temporaryDirectory(t)
    const first = await openTestService(t, { dataDir, adminToken: undefined })
    const path = join(dataDir, 'admin-token')
    const before = readFileSync(path, 'utf8')
    await first.close()
    writeFileSync(join(dataDir, 'secret-key'), printKeys([createSecretKeyOfRandom()]))
    rmSync(path)
    const again = await openTestService(t, { dataDir, adminToken: undefined })
    t.notOk(existsSync(path))
    const headers = { authorization: `Bearer ${before.trim()}` }
    t.equal((await again.call('GET', '/v0/variables', { token: null, headers })).status, 200)
    t.match(
      again.log.entries.find(({ message }) => message.includes('the workspace admin token was sealed with')),
      { level: 'warn' },
    )
  },
)

t.test('the operator’s key is used where it is, and a start without it is refused', async (t) => {
  const dataDir = join(temporaryDirectory(t), 'data')
  const secretKeyFile = join(temporaryDirectory(t), 'key')
  await t.rejects(openService(testOptions({ dataDir, secretKeyFile }), silentLogger), { code: 'SECRET_KEY_MISSING' })
  t.notOk(existsSync(join(dataDir, 'catalog.lmdb')))
  writeFileSync(secretKeyFile, printKeys([createSecretKeyOfRandom()]), { mode: 0o600 })
  const service = await openTestService(t, { dataDir, secretKeyFile })
  await write(service, 'a', 'value-of-a')
  await service.close()
  t.notOk(existsSync(join(dataDir, 'secret-key')))
  mkdirSync(join(dataDir, 'secret-key'))
  const log = new TestLog()
  await t.rejects(openService(testOptions({ dataDir }), log), { code: 'SECRET_KEY_UNUSABLE', message: /not a file/ })
})

t.test('the key is rotated while the service does not run, and everything opens after it', async (t) => {
  const dataDir = temporaryDirectory(t)
  const options = testOptions({ dataDir, adminToken: undefined })
  const refused = { code: 'ROTATION_REFUSED', message: /is not the data directory of a service/ }
  await t.rejects(rotateSecretKey(options, silentLogger), refused)
  const service = await openTestService(t, { dataDir })
  await write(service, 'a', 'value-of-a')
  await guard(service, 'a')
  await t.rejects(rotateSecretKey(options, silentLogger), { code: 'DATA_DIR_IN_USE' })
  await service.close()
  const own = await openTestService(t, { dataDir, adminToken: undefined })
  await own.close()
  const [path, tokenPath] = [join(dataDir, 'secret-key'), join(dataDir, 'admin-token')]
  const [key, adminToken] = [readFileSync(path, 'utf8'), readFileSync(tokenPath, 'utf8')]

  const said = await rotateSecretKey(options, silentLogger)
  t.match(
    said,
    /^\d+ secrets are encrypted with the new key in \S+\/secret-key\. Back the key up, apart from the data\.\n$/,
  )
  t.match(readFileSync(path, 'utf8'), /^[\w+/]{43}=\n$/)
  t.same(filesWith(dataDir, key.trim()), [])
  rmSync(tokenPath)
  const again = await openTestService(t, { dataDir, adminToken: undefined })
  t.equal(readFileSync(tokenPath, 'utf8'), adminToken)
  await again.close()
  const last = await openTestService(t, { dataDir })
  t.match(await countOf(last, 'guarded_a', 'value-of-a'), /1\n$/)
  t.notOk(last.log.entries.some(({ message }) => message === lostMessage))
  await last.close()
  writeFileSync(join(dataDir, 'format'), 'millrace data directory, format 3\n')
  await t.rejects(rotateSecretKey(options, silentLogger), { code: 'ROTATION_REFUSED', message: /has format 3; start/ })
})
