import { once } from 'node:events'
import t from 'tap'
import type { Scope } from '../../../src/access/scopes/scope.types.ts'
import type { ScopeType } from '../../../src/access/scopes/scope-types.ts'
import type { TokenBook } from '../../../src/access/tokens/token-book.ts'
import { bytesOfToken } from '../../../src/access/tokens/token-size.ts'
import { createLogger } from '../../../src/observe/logger.ts'
import { adminEditor, editorOf, openTestTokens, TestResources } from '../../support/access/test-tokens.ts'
import { testBox } from '../../support/secrets.ts'
import { MemoryStorage } from '../../support/storage/memory-storage.ts'

function scope(type: ScopeType, id: string | null = null, filter: string | null = null): Scope {
  const resource = id === null ? null : ({ kind: type.startsWith('PIPES') ? 'pipe' : 'datasource', id } as const)
  return { type, spelling: type, resource, filter }
}

function order(name: string, scopes: readonly Scope[], expiresAt: number | null = null) {
  return { name, description: '', scopes, expiresAt }
}

function valueFrom(made: { readonly value: string | null }): string {
  if (made.value === null) throw new Error('the value is known')
  return made.value
}

function tokenNamed(tokens: TokenBook, name: string) {
  const token = tokens.findToken(name)
  if (token === undefined) throw new Error(`there is no ${name}`)
  return token
}

t.test('a workspace starts with the tokens that clients look for, and keeps them and its id', async (t) => {
  const storage = new MemoryStorage()
  const { tokens } = await openTestTokens({ storage })
  const names = ['workspace admin token', 'admin local_testing@tinybird.co', 'create datasource token', 'user token']
  t.same(
    tokens.list().map(({ name }) => name),
    names,
  )
  t.match(tokens.workspaceId, /^[0-9a-f-]{36}$/)
  const value = tokens.adminValue ?? ''
  const payload = JSON.parse(Buffer.from(value.split('.')[1] ?? '', 'base64url').toString())
  t.match(payload, { u: tokens.workspaceId, id: tokens.list()[0]?.id, host: 'local' })
  t.equal(tokens.signingKey, value)
  t.match([tokens.adminOrigin, tokens.find(value)], ['made', { name: 'workspace admin token' }])
  const values = await tokens.valuesOf(tokens.list())
  await tokens.remove(tokenNamed(tokens, 'user token').id, adminEditor)
  await tokens.close()

  const { tokens: again } = await openTestTokens({ storage })
  t.same(
    again.list().map(({ name }) => name),
    names.slice(0, 3),
    'one that was deleted does not come back',
  )
  t.same([again.workspaceId, again.adminOrigin, again.adminValue], [tokens.workspaceId, 'kept', value])
  t.same(await again.valuesOf(again.list()), values.slice(0, 3))
  t.equal(again.find(values[3] ?? ''), undefined)
})

t.test('a token is found by name, id and value, also after a restart', async (t) => {
  const storage = new MemoryStorage()
  const { tokens } = await openTestTokens({ storage })
  const made = await tokens.create(order('reader', [scope('PIPES:READ')]), adminEditor)
  const value = valueFrom(made)
  for (const book of [tokens, (await openTestTokens({ storage })).tokens]) {
    for (const key of ['reader', made.token.id, value]) t.match(book.findToken(key), { name: 'reader' })
    t.match(book.find(value), { id: made.token.id, name: 'reader' })
    for (const wrong of ['reader', made.token.id, `${value}x`, value.slice(0, -1), 'p.', '']) {
      t.equal(book.find(wrong), undefined)
    }
  }
})

t.test('a refresh ends the old value at once, and keeps everything else', async (t) => {
  const storage = new MemoryStorage()
  const { tokens } = await openTestTokens({ storage })
  const made = await tokens.create(order('reader', [scope('PIPES:READ')]), adminEditor)
  const { id } = made.token
  const refreshed = await tokens.refresh(id, editorOf(made.token))
  t.equal(tokens.find(valueFrom(made)), undefined)
  t.match(tokens.find(valueFrom(refreshed)), { id, name: 'reader' })
  t.same(refreshed.token, made.token)
  const { tokens: again } = await openTestTokens({ storage })
  t.equal(again.find(valueFrom(made)), undefined)
  t.match(again.find(valueFrom(refreshed)), { id })
})

t.test('a refresh of the workspace admin token changes the signing key and what is kept for people', async (t) => {
  const storage = new MemoryStorage()
  const { tokens, keptValues } = await openTestTokens({ storage })
  const told: (string | null)[] = []
  tokens.onSigningKey((key) => told.push(key))
  const before = tokens.adminValue ?? ''
  const { value } = await tokens.refresh(tokenNamed(tokens, 'workspace admin token').id, adminEditor)
  t.same([keptValues, told, tokens.signingKey], [[value], [value], value])
  t.equal(tokens.find(before), undefined)
  const { tokens: again } = await openTestTokens({ storage })
  t.equal(again.adminValue, value)
  t.equal(again.find(before), undefined)
})

t.test('an admin token that is given is not refreshed, and signs only when it is long enough', async (t) => {
  for (const [given, signingKey] of [
    ['x'.repeat(31), null],
    ['x'.repeat(32), 'x'.repeat(32)],
  ] as const) {
    const storage = new MemoryStorage()
    const { tokens: first } = await openTestTokens({ storage })
    const made = first.adminValue ?? ''
    const { tokens, entries } = await openTestTokens({ storage }, { adminToken: given })
    const { id } = tokenNamed(tokens, 'workspace admin token')
    t.equal(tokens.signingKey, signingKey)
    t.equal(entries.length, signingKey === null ? 1 : 0)
    t.match(tokens.find(given), { id })
    t.equal(tokens.find(made), undefined, 'the one that was made does not count')
    await t.rejects(tokens.refresh(id, adminEditor), { code: 'TOKEN_GIVEN', status: 409 })
    await tokens.update(id, { description: 'given' }, adminEditor)
    t.same(await tokens.valuesOf([tokenNamed(tokens, id)]), [given])
    const { tokens: later } = await openTestTokens({ storage })
    t.equal(later.adminValue, made, 'and counts again once none is given')
  }
})

t.test('one of two creations of a name is refused', async (t) => {
  const { tokens } = await openTestTokens({ storage: new MemoryStorage() })
  const both = await Promise.allSettled([
    tokens.create(order('twin', []), adminEditor),
    tokens.create(order('twin', []), adminEditor),
  ])
  t.match(both, [{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'TOKEN_EXISTS', status: 409 } }])
  const other = await tokens.create(order('other', []), adminEditor)
  await t.rejects(tokens.update(other.token.id, { name: 'twin' }, adminEditor), { code: 'TOKEN_EXISTS' })
  await tokens.update(other.token.id, { name: 'twin 2' }, adminEditor)
  await tokens.create(order('other', []), adminEditor)
})

t.test('names, descriptions, scopes and tokens have a maximum', async (t) => {
  const { tokens } = await openTestTokens({ storage: new MemoryStorage() }, { tokensMax: 6 })
  for (const name of ['', ' ', '.', '..', ' a', 'a\n', 'a\u0000', '\ud800', 'x'.repeat(256)]) {
    await t.rejects(tokens.create(order(name, []), adminEditor), { code: 'NAME_INVALID', status: 400 })
  }
  const many = (count: number) => Array.from({ length: count }, () => scope('IMPORT'))
  await t.rejects(tokens.create(order('a', many(1001)), adminEditor), { code: 'SCOPES_TOO_MANY', status: 400 })
  const long = { ...order('a', []), description: 'x'.repeat(10_001) }
  await t.rejects(tokens.create(long, adminEditor), { code: 'REQUEST_INVALID', status: 400 })
  const filtered = [scope('ADMIN'), scope('DATASOURCES:READ', 't_1', 'a = 1')]
  await t.rejects(tokens.create(order('a', filtered), adminEditor), { code: 'SCOPE_INVALID', status: 400 })
  await tokens.create({ ...order('x'.repeat(255), many(1000)), description: 'x'.repeat(10_000) }, adminEditor)
  await tokens.create(order('sixth 🐘', []), adminEditor)
  await t.rejects(tokens.create(order('seventh', []), adminEditor), { code: 'TOKENS_TOO_MANY', status: 400 })
})

t.test('the bytes of a token, of all tokens, and the filters of one have a maximum', async (t) => {
  const storage = new MemoryStorage()
  const { tokens } = await openTestTokens({ storage }, { tokenBytesMax: 2_000 })
  // The name, and a scope of 64 + 6 bytes.
  const sized = (name: string, bytes: number) => {
    return { ...order(name, [scope('IMPORT')]), description: 'é'.repeat((bytes - name.length - 70) / 2) }
  }
  await tokens.create(sized('aa', 1_998), adminEditor)
  const { token: full } = await tokens.create(sized('bb', 2_000), adminEditor)
  await t.rejects(tokens.create(sized('cc', 2_002), adminEditor), { code: 'TOKEN_TOO_LARGE', status: 400 })
  await t.rejects(tokens.update(full.id, { name: 'b and more' }, adminEditor), { code: 'TOKEN_TOO_LARGE' })
  await tokens.update(full.id, { name: 'b' }, adminEditor)
  const { tokens: smaller } = await openTestTokens({ storage }, { tokenBytesMax: 100 })
  await smaller.update(full.id, { name: 'c' }, adminEditor)
  await t.rejects(smaller.update(full.id, { name: 'cc' }, adminEditor), { code: 'TOKEN_TOO_LARGE' })

  const filters = (count: number) => Array.from({ length: count }, (_, at) => scope('PIPES:READ', 't_2', `a = ${at}`))
  const { tokens: wide } = await openTestTokens({ storage: new MemoryStorage() })
  for (const count of [99, 100]) await wide.create(order(`f${count}`, filters(count)), adminEditor)
  await t.rejects(wide.create(order('f101', filters(101)), adminEditor), { code: 'FILTERS_TOO_MANY', status: 400 })
})

t.test('all tokens together have a maximum of bytes', async (t) => {
  const startBytes = (await openTestTokens({ storage: new MemoryStorage() })).tokens
    .list()
    .reduce((sum, token) => sum + bytesOfToken(token), 0)
  const small = { ...order('aa', []), description: 'x'.repeat(998) }
  for (const [more, isTaken] of [
    [-1, false],
    [0, true],
    [1, true],
  ] as const) {
    const tokensBytesMax = startBytes + 2 * (1_000 + 512) + more
    const storage = new MemoryStorage()
    const { tokens } = await openTestTokens({ storage }, { tokensBytesMax })
    const { token } = await tokens.create(small, adminEditor)
    const second = tokens.create({ ...small, name: 'bb' }, adminEditor)
    if (isTaken) await second
    else await t.rejects(second, { code: 'TOKENS_TOO_LARGE', status: 400 })
    if (more === 0) await t.rejects(tokens.update(token.id, { name: 'aaa' }, adminEditor), { code: 'TOKENS_TOO_LARGE' })
    if (more === 1) await tokens.update(token.id, { name: 'aaa' }, adminEditor)
    await tokens.remove(token.id, adminEditor)
    await tokens.create({ ...small, name: 'cc' }, adminEditor)
  }
})

t.test('a token neither deletes nor weakens itself, and may do all else to itself', async (t) => {
  const { tokens } = await openTestTokens({ storage: new MemoryStorage() })
  const { token } = await tokens.create(order('self', [scope('TOKENS'), scope('PIPES:READ')]), adminEditor)
  const self = editorOf(token)
  await t.rejects(tokens.remove(token.id, self), { code: 'TOKEN_SELF', status: 403 })
  await t.rejects(tokens.update(token.id, { scopes: [scope('TOKENS')] }, self), { code: 'TOKEN_SELF' })
  await t.rejects(tokens.update(token.id, { scopes: [] }, self), { code: 'TOKEN_SELF' })
  const revised = await tokens.update(
    token.id,
    { name: 'me', description: 'mine', scopes: [scope('PIPES:READ'), scope('TOKENS')] },
    self,
  )
  t.match(revised, { name: 'me', description: 'mine' })
})

t.test('the workspace admin token is neither deleted nor weakened, whoever asks', async (t) => {
  const { tokens } = await openTestTokens({ storage: new MemoryStorage() })
  const { id } = tokenNamed(tokens, 'workspace admin token')
  const other = editorOf(tokenNamed(tokens, 'user token'))
  for (const editor of [adminEditor, other]) {
    await t.rejects(tokens.remove(id, editor), { code: 'LAST_ADMIN_TOKEN', status: 409 })
    await t.rejects(tokens.update(id, { scopes: [scope('TOKENS')] }, editor), { code: 'LAST_ADMIN_TOKEN' })
  }
  await tokens.update(id, { name: 'root' }, other)
  t.match(tokens.find(tokens.adminValue ?? ''), { name: 'root' })
})

t.test('a token without ADMIN makes, changes and removes none that is stronger than itself', async (t) => {
  const { tokens } = await openTestTokens({ storage: new MemoryStorage() })
  const { token } = await tokens.create(order('keeper', [scope('TOKENS'), scope('PIPES:READ')]), adminEditor)
  const keeper = editorOf(token)
  const refused = { code: 'TOKEN_STRONGER', status: 403 }
  for (const type of ['ADMIN', 'DATASOURCES:READ', 'IMPORT'] as const) {
    await t.rejects(tokens.create(order('a', [scope(type)]), keeper), refused)
    await t.rejects(tokens.update(token.id, { scopes: [...token.scopes, scope(type)] }, keeper), refused)
  }
  const strong = tokenNamed(tokens, 'create datasource token')
  await t.rejects(tokens.refresh(strong.id, keeper), refused)
  await t.rejects(tokens.remove(strong.id, keeper), refused)
  await t.rejects(tokens.update(strong.id, { scopes: [] }, keeper), refused)
  const weak = await tokens.create(order('weak', [scope('PIPES:READ', 't_1')]), keeper)
  await tokens.refresh(weak.token.id, keeper)
  await tokens.remove(weak.token.id, keeper)
  await tokens.remove(token.id, adminEditor)
  await t.rejects(tokens.create(order('late', []), keeper), { code: 'TOKEN_INVALID' }, 'it is gone by now')
})

t.test('scopes follow a resource when it is renamed, and end with it', async (t) => {
  const resources = new TestResources()
  const { lookup } = resources
  resources.put('t_1', 'datasource', 'visits')
  resources.put('t_2', 'pipe', 'top')
  const storage = new MemoryStorage()
  const { tokens } = await openTestTokens({ storage, lookup })
  const future: Scope = {
    type: 'DATASOURCES:CREATE',
    spelling: 'DATASOURCE:CREATE',
    resource: { kind: 'future', name: 'late' },
    filter: null,
  }
  const scopes = [scope('DATASOURCES:READ', 't_1'), scope('PIPES:READ', 't_2'), future]
  const value = valueFrom(await tokens.create(order('reader', scopes), adminEditor))
  const grantsOf = (book: TokenBook) => {
    const found = book.find(value)
    if (found === undefined || 'error' in found) throw new Error('the token is valid')
    return found.grants(lookup).map(({ resource }) => resource)
  }
  t.same(grantsOf(tokens), ['t_1', 't_2', 'late'])
  resources.put('t_1', 'datasource', 'renamed')
  resources.put('t_3', 'datasource', 'late')
  t.same(grantsOf(tokens), ['t_1', 't_2', 't_3'])
  resources.drop('t_1')
  resources.put('t_4', 'datasource', 'renamed')
  t.same(grantsOf(tokens), ['t_2', 't_3'], 'what gets the name later is another thing')
  t.same(tokens.findToken('reader')?.scopes, scopes.slice(1))
  t.equal(tokens.findToken('reader'), tokens.findToken('reader'))
  t.same(grantsOf((await openTestTokens({ storage, lookup })).tokens), ['t_2', 't_3'])
})

t.test('a token is refused from the time on at which it expires', async (t) => {
  let at = 1_000
  const { tokens } = await openTestTokens({ storage: new MemoryStorage() }, { now: () => at })
  const made = await tokens.create(order('short', [], 2_000), adminEditor)
  at = 1_999
  t.match(tokens.find(valueFrom(made)), { name: 'short' })
  for (at of [2_000, 2_001]) {
    t.match(tokens.find(valueFrom(made)), { error: { code: 'TOKEN_EXPIRED', status: 403 } })
  }
  t.equal(tokens.lastUsedAt(made.token), 1_999)
  const { value } = await tokens.refresh(made.token.id, adminEditor)
  t.match(tokens.find(value ?? ''), { error: { code: 'TOKEN_EXPIRED' } })
})

t.test('the last use of a token is on disk after an interval, and after a close', async (t) => {
  const storage = new MemoryStorage()
  let at = 1_000
  const written = new AbortController()
  storage.watch('token_uses', () => written.abort())
  const { tokens } = await openTestTokens({ storage }, { now: () => at, usesIntervalMs: 1 })
  const made = await tokens.create(order('reader', []), adminEditor)
  t.equal(tokens.lastUsedAt(made.token), null)
  tokens.find(valueFrom(made))
  // The timer of the tokens holds no process.
  const holding = setInterval(() => undefined, 1_000)
  await once(written.signal, 'abort')
  clearInterval(holding)
  t.equal((await openTestTokens({ storage })).tokens.lastUsedAt(made.token), 1_000)
  at = 2_000
  tokens.find(valueFrom(made))
  await tokens.close()
  t.equal((await openTestTokens({ storage })).tokens.lastUsedAt(made.token), 2_000)
})

t.test('a change that the disk refuses was none', async (t) => {
  const storage = new MemoryStorage()
  const { tokens } = await openTestTokens({ storage })
  const made = await tokens.create(order('reader', []), adminEditor)
  const before = [tokens.list(), tokens.auditLines(), tokens.adminValue]
  storage.failure = new Error('the disk is full')
  await t.rejects(tokens.create(order('other', []), adminEditor), /full/)
  await t.rejects(tokens.refresh(made.token.id, adminEditor), /full/)
  await t.rejects(tokens.refresh(tokenNamed(tokens, 'workspace admin token').id, adminEditor), /full/)
  await t.rejects(tokens.update(made.token.id, { name: 'x' }, adminEditor), /full/)
  await t.rejects(tokens.remove(made.token.id, adminEditor), /full/)
  t.same([tokens.list(), tokens.auditLines(), tokens.adminValue], before)
  storage.failure = null
  t.match(tokens.find(valueFrom(made)), { name: 'reader' })
  const { tokens: again } = await openTestTokens({ storage })
  t.same([again.list(), again.auditLines(), again.adminValue], before)
})

t.test('each change leaves one line without a value, and the oldest go', async (t) => {
  const storage = new MemoryStorage()
  const { tokens } = await openTestTokens({ storage }, { auditLinesMax: 3 })
  const { token, value } = await tokens.create(order('reader', []), adminEditor)
  await tokens.update(token.id, { name: 'other', description: 'x' }, adminEditor)
  await tokens.update(token.id, { name: 'other' }, adminEditor)
  const refreshed = await tokens.refresh(token.id, editorOf(token))
  t.match(tokens.auditLines(), [
    { action: 'created', tokenName: 'reader', editorId: null, editorName: 'test', scopes: [] },
    { action: 'updated', tokenName: 'other', changedFields: ['name', 'description'] },
    { action: 'refreshed', tokenId: token.id, editorId: token.id },
  ])
  await tokens.remove(token.id, adminEditor)
  t.same(
    tokens.auditLines().map(({ action }) => action),
    ['updated', 'refreshed', 'removed'],
  )
  t.equal((await storage.list('token_audit')).length, 3)
  const { tokens: again } = await openTestTokens({ storage }, { auditLinesMax: 3 })
  t.same(again.auditLines(), tokens.auditLines())
  const kept = JSON.stringify([await storage.list('token_audit'), await storage.list('tokens')])
  for (const text of [value, refreshed.value, tokens.adminValue]) t.notOk(kept.includes(text ?? 'missing'))
})

t.test('without its key a token is known where it is sent, and not shown', async (t) => {
  const storage = new MemoryStorage()
  const { tokens } = await openTestTokens({ storage })
  const made = await tokens.create(order('reader', []), adminEditor)
  const admin = tokens.adminValue ?? ''
  const lines: string[] = []
  const logger = createLogger({ level: 'debug', output: { write: (line: string) => lines.push(line) } })
  const lost = await openTestTokens({ storage, box: testBox(), logger })
  t.match(lost.tokens.find(valueFrom(made)), { name: 'reader' })
  t.match(lost.tokens.find(admin), { name: 'workspace admin token' })
  t.same(await lost.tokens.valuesOf([made.token]), [null])
  t.same([lost.tokens.adminValue, lost.tokens.signingKey], [null, null])
  t.match(lines.join(''), /key is missing/)
  const refreshed = await lost.tokens.refresh(tokenNamed(lost.tokens, 'workspace admin token').id, adminEditor)
  t.equal(lost.tokens.signingKey, refreshed.value)

  const { tokens: other } = await openTestTokens({ storage: new MemoryStorage(), readAdminValue: async () => admin })
  t.not(other.adminValue, admin, 'a new workspace takes nothing from the file')
})

t.test('where its key is missing, the workspace admin token is that of the file if it is the right one', async (t) => {
  const storage = new MemoryStorage()
  const { tokens } = await openTestTokens({ storage })
  const admin = tokens.adminValue ?? ''
  const wrong = await openTestTokens({ storage, box: testBox(), readAdminValue: async () => 'p.other.value' })
  t.equal(wrong.tokens.adminValue, null)
  const box = testBox()
  const found = await openTestTokens({ storage, box, readAdminValue: async () => admin })
  t.equal(found.tokens.signingKey, admin)
  t.equal((await openTestTokens({ storage, box })).tokens.signingKey, admin, 'it is sealed anew')
})
