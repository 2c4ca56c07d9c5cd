// The command itself, in a process of its own that is killed wherever it changes the directory.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openTestService, type TestService } from './support/api/test-service.ts'
import { filesWith } from './support/bytes-below.ts'
import { temporaryDirectory } from './support/catalog/test-catalog.ts'
import { byTier } from './support/tier.ts'

const mainPath = fileURLToPath(new URL('../src/main.js', import.meta.url))

interface Rotated {
  /** Null when it was killed. */
  readonly code: number | null
  readonly said: string
  /** How often a name of the directory came, went or was given to another file. */
  readonly changeCount: number
}

/** Runs the command, and kills it at this change of the directory. */
async function rotate(dataDir: string, killedAt = Number.POSITIVE_INFINITY): Promise<Rotated> {
  const child = spawn(process.execPath, [mainPath, '--rotate-secret-key'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, MILLRACE_DATA_DIR: dataDir },
  })
  let changeCount = 0
  const watcher = watch(dataDir, (event) => {
    changeCount += event === 'rename' ? 1 : 0
    if (changeCount >= killedAt) child.kill('SIGKILL')
  })
  const [said, complaint] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  watcher.close()
  return { code: child.exitCode, said: said + complaint, changeCount }
}

const keysOf = (dataDir: string): readonly string[] =>
  readFileSync(join(dataDir, 'secret-key'), 'utf8').trimEnd().split('\n')

/** How far a rotation came. */
function stateOf(dataDir: string, oldKey: string): string {
  const keys = keysOf(dataDir)
  if (keys.length === 2) return keys[1] === oldKey ? 'both keys, the new one first' : 'wrong keys'
  return keys[0] === oldKey ? 'the old key' : 'the new key'
}

const possibleStates = ['the old key', 'both keys, the new one first', 'the new key']

interface Kept {
  readonly names: readonly string[]
  readonly values: readonly (string | null)[]
}

async function shownTokens(service: TestService): Promise<Kept> {
  const { json } = await service.call('GET', '/v0/tokens')
  // Other tests look at the shape.
  const { tokens } = json as { readonly tokens: readonly { readonly name: string; readonly token: string | null }[] }
  return { names: tokens.map(({ name }) => name), values: tokens.map(({ token }) => token) }
}

/** A directory with tokens and a variable that an endpoint reads, whose service has ended. */
async function createDirectory(t: Test): Promise<{ readonly dataDir: string; readonly kept: Kept }> {
  const dataDir = temporaryDirectory(t)
  const service = await openTestService(t, { dataDir })
  for (let at = 0; at < 20; at += 1) {
    await service.call('POST', '/v0/tokens', { body: `name=reader_${at}&scope=PIPES:READ` })
  }
  await service.call('POST', '/v0/variables', { body: 'name=password&value=value-of-the-password' })
  const sql = `%\nSELECT count() AS n FROM numbers(1) WHERE {{tb_secret("password")}} = {{String(key, "")}}`
  const body = JSON.stringify({ name: 'guarded', nodes: [{ name: 'n0', type: 'endpoint', sql }] })
  t.equal((await service.call('POST', '/v0/pipes', { body })).status, 200)
  const kept = await shownTokens(service)
  t.equal(kept.values.filter((value) => value !== null).length, 24)
  await service.close()
  return { dataDir, kept }
}

/** Starts the service, and finds whatever was sealed. */
async function checkService(t: Test, dataDir: string, kept: Kept): Promise<void> {
  const service = await openTestService(t, { dataDir })
  t.same(await shownTokens(service), kept, 'all values are given back')
  const token = kept.values.at(-1) ?? ''
  const path = '/v0/pipes/guarded.csv?key=value-of-the-password'
  t.match(await service.call('GET', path, { token }), { status: 200, text: /1\n$/ }, 'a token and a variable are used')
  const made = await service.call('POST', '/v0/tokens', { body: 'name=between&scope=PIPES:READ' })
  t.match(made, { status: 200 })
  t.match(await service.call('DELETE', '/v0/tokens/between'), { status: 200 })
  await service.close()
}

t.test('the command leaves a service with all that was sealed, and an old key that opens nothing', async (t) => {
  const { dataDir, kept } = await createDirectory(t)
  const [oldKey = ''] = keysOf(dataDir)
  const { code, said } = await rotate(dataDir)
  t.equal(code, 0, said)
  t.match(said, /^24 secrets are encrypted with the new key in \S+\/secret-key\. Back the key up/)
  t.equal(stateOf(dataDir, oldKey), 'the new key')
  t.same(filesWith(dataDir, oldKey), [])
  await checkService(t, dataDir, kept)
  const newKeyText = readFileSync(join(dataDir, 'secret-key'))
  writeFileSync(join(dataDir, 'secret-key'), `${oldKey}\n`)
  const service = await openTestService(t, { dataDir })
  t.same((await shownTokens(service)).values.filter((value) => value !== null).length, 1, 'the given one alone')
  const token = kept.values.at(-1) ?? ''
  t.equal((await service.call('GET', '/v0/pipes', { token })).status, 200, 'it is known where it is sent')
  t.not((await service.call('GET', '/v0/pipes/guarded.csv?key=value-of-the-password', { token })).status, 200)
  await service.close()
  writeFileSync(join(dataDir, 'secret-key'), newKeyText)
  await checkService(t, dataDir, kept)
})

t.test('killed at any change of the directory, it leaves what a service opens and another run ends', async (t) => {
  const { dataDir, kept } = await createDirectory(t)
  const [oldKey = ''] = keysOf(dataDir)
  const copyOf = (): string => {
    const copy = join(temporaryDirectory(t), 'data')
    cpSync(dataDir, copy, { recursive: true })
    return copy
  }
  const { changeCount } = await rotate(copyOf())
  t.ok(changeCount > 8, `${changeCount} changes`)
  const seen = new Map<string, number>()
  for (let killedAt = 1; killedAt <= changeCount; killedAt += byTier({ quick: 9, full: 2, soak: 1 })) {
    const copy = copyOf()
    const { code } = await rotate(copy, killedAt)
    const state = stateOf(copy, oldKey)
    const left = ['catalog.lmdb.new', 'secret-key.new'].filter((name) => existsSync(join(copy, name)))
    const name = [state, ...left].join(', ')
    t.ok(possibleStates.includes(state), `killed at change ${killedAt}: ${name}`)
    if (!seen.has(name)) await checkService(t, copy, kept)
    seen.set(name, (seen.get(name) ?? 0) + 1)
    const second = await rotate(copy)
    t.equal(second.code, 0, second.said)
    t.match(second.said, /^24 secrets are encrypted/)
    t.notMatch(keysOf(copy), [oldKey], 'the old key is gone')
    t.equal(keysOf(copy).length, 1, `ended ${code}, and by another run`)
    t.same(filesWith(copy, oldKey), [])
  }
  t.comment([...seen].map(([name, count]) => `${count} × ${name}`).join('; '))
  t.ok(seen.size >= 2, 'states on the way were met')
})
