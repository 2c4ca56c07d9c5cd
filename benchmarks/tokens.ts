// What many static tokens cost: the start, memory, from text to token, a list with its values, and a creation beside them.
//
//   npm run build && node --expose-gc dist/benchmarks/tokens.js

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Access } from '../src/access/access.ts'
import { Permissions } from '../src/access/permissions.ts'
import type { Scope } from '../src/access/scopes/scope.types.ts'
import { openTokens, tokenKinds } from '../src/access/tokens/open-tokens.ts'
import type { TokenBook } from '../src/access/tokens/token-book.ts'
import { TokenEntry } from '../src/access/tokens/token-entry.ts'
import { encodeToken } from '../src/access/tokens/token-record.ts'
import { createTokenValue, digestOf } from '../src/access/tokens/token-value.ts'
import { createLogger } from '../src/observe/logger.ts'
import { contextOf, createSecretBox } from '../src/secrets/secret-box.ts'
import { createSecretKeyOfRandom } from '../src/secrets/secret-key.ts'
import { openLmdbStorage } from '../src/storage/lmdb-storage.ts'
import { loadRecords } from '../src/storage/loaded-records.ts'
import type { RecordStorage } from '../src/storage/storage.types.ts'
import { readOptions, withBench } from './support/bench.ts'
import { report } from './support/report.ts'
import { percentilesOf } from './support/statistics.ts'

const options = readOptions({ tokens: 100_000, lookUps: 20_000 })
const box = createSecretBox([createSecretKeyOfRandom()])
const scopeOf = (id: string): Scope => ({
  type: 'DATASOURCES:READ',
  spelling: 'DATASOURCES:READ',
  resource: { kind: 'datasource', id },
  filter: "tenant = 'acme'",
})
const lookup = {
  version: 0,
  kindOf: () => 'datasource' as const,
  find: (_kind: unknown, name: string) => ({ name, id: undefined, isQuarantine: false }),
}
const mebibyte = 1_048_576
const batchSize = 1_000

const rows = await withBench(async ({ directory }) => {
  const path = join(directory, 'catalog.lmdb')
  await write(path)
  return await measure(path)
})
report({ header: ['what', 'value'], rows }, options.out, rows)

async function open(storage: RecordStorage): Promise<TokenBook> {
  return await openTokens(
    { tokensMax: 1_000_000, tokenBytesMax: 1_000_000, tokensBytesMax: 10_000_000_000, now: Date.now },
    {
      records: await loadRecords(storage, tokenKinds),
      lookup,
      box,
      logger: createLogger({ level: 'silent' }),
      readAdminValue: async () => null,
      keepAdminValue: async () => undefined,
    },
  )
}

/** As the book writes them, but many at a time. */
async function write(path: string): Promise<void> {
  const storage = await openLmdbStorage(path)
  const { workspaceId } = await open(storage)
  for (let first = 0; first < options.tokens; first += batchSize) {
    const entries = Array.from({ length: batchSize }, (_, at) => entryOf(workspaceId, first + at))
    await storage.commit(
      entries.map((entry) => ({ kind: 'tokens', key: entry.id, value: encodeToken(entry), version: null })),
    )
  }
  await storage.close()
}

function entryOf(workspaceId: string, index: number): TokenEntry {
  const id = randomUUID()
  const value = createTokenValue({ workspaceId, id })
  const fields = { name: `tenant ${index}`, description: '', origin: 'created', isWorkspaceAdmin: false } as const
  const scopes = [scopeOf(`t_${index % 100}`), scopeOf(`t_${(index + 1) % 100}`)]
  return new TokenEntry({
    token: { id, ...fields, scopes, createdAt: 1, updatedAt: 1, expiresAt: null },
    number: index + 100,
    digest: digestOf(value),
    sealed: box.seal(value, contextOf('tokens', id)),
  })
}

async function measure(path: string): Promise<readonly (readonly string[])[]> {
  const before = heapBytes()
  const openStart = performance.now()
  const storage = await openLmdbStorage(path)
  const storageMs = performance.now() - openStart
  const start = performance.now()
  const tokens = await open(storage)
  const startMs = performance.now() - start
  const held = heapBytes() - before
  const list = tokens.list()
  const listStart = performance.now()
  const loop = watchLoop()
  const values = await tokens.valuesOf(list)
  const { delays, threadMs: listThreadMs } = loop.end()
  const listMs = performance.now() - listStart
  const texts = values.flatMap((value) => value ?? []).slice(-options.lookUps)
  const access = new Access({ sources: [tokens], lookup })
  const lookUps = [
    ...timesOf(
      'the admin token',
      tokens,
      texts.map(() => tokens.adminValue ?? ''),
    ),
    ...timesOf('a static token', tokens, texts),
    ...timesOf(
      'a text of the same form',
      tokens,
      texts.map((text) => `${text.slice(0, -1)}_`),
    ),
  ]
  const verdicts = texts.slice(0, 100).flatMap((text) => Array.from({ length: 100 }, () => text))
  const creations: number[] = []
  for (let count = 0; count < 100; count += 1) creations.push(await creationMs(tokens, count))
  const { p50 } = percentilesOf(creations)
  const result = [
    ['tokens', String(list.length)],
    ['start: the file checked and opened, ms', storageMs.toFixed(0)],
    ['start: tokens read, ms', startMs.toFixed(0)],
    ['heap, MB', (held / mebibyte).toFixed(1)],
    ['all values for a list, ms', listMs.toFixed(0)],
    ['of which the main thread, ms of CPU', listThreadMs],
    ['delay of its event loop meanwhile, p50 / p99 / p99.9 / longest, ms', delays],
    ...lookUps,
    ...verdictTimes(access, verdicts),
    ['a creation, p50 ms', p50.toFixed(1)],
  ]
  await tokens.close()
  await storage.close()
  return result
}

function timesOf(name: string, tokens: TokenBook, texts: readonly string[]): readonly (readonly string[])[] {
  return percentileRows(
    name,
    texts.map((text) => timed(text, (own) => tokens.find(own))),
  )
}

/** The whole of what a request pays, its rights being known. */
function verdictTimes(access: Access, texts: readonly string[]): readonly (readonly string[])[] {
  return percentileRows(
    'verdict on a static token',
    texts.map((text) => timed(text, (own) => access.verify(own))),
  )
}

function percentileRows(name: string, times: readonly number[]): readonly (readonly string[])[] {
  // The first ones are those of the compiler of JavaScript.
  const { p50, p99 } = percentilesOf(times.slice(times.length / 4))
  return [[`${name}, p50 / p99 µs`, `${p50.toFixed(1)} / ${p99.toFixed(1)}`]]
}

/** In microseconds. The text is a new one, as each request's is. */
function timed(text: string, run: (own: string) => unknown): number {
  const own = Buffer.from(text).toString('latin1')
  const start = performance.now()
  run(own)
  return (performance.now() - start) * 1_000
}

async function creationMs(tokens: TokenBook, count: number): Promise<number> {
  const permissions = new Permissions([{ type: 'ADMIN', resource: null, filter: null, fixedParameters: null }], lookup)
  const start = performance.now()
  await tokens.create(
    { name: `late ${count}`, description: '', scopes: [], expiresAt: null },
    { tokenId: null, tokenName: 'benchmark', permissions },
  )
  return performance.now() - start
}

/** How long others wait for the event loop meanwhile, and what this thread computes, whatever other threads and processes do. */
function watchLoop(): { end(): { readonly delays: string; readonly threadMs: string } } {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  const before = threadMs()
  delays.enable()
  return {
    end() {
      delays.disable()
      const told = [50, 99, 99.9, 100].map((percentile) => (delays.percentile(percentile) / 1_000_000).toFixed(1))
      return { delays: told.join(' / '), threadMs: (threadMs() - before).toFixed(0) }
    },
  }
}

/** Time that the main thread has had of processors: the first of three numbers, in nanoseconds. */
function threadMs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1_000_000
}

function heapBytes(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
