// Random queries of readers whose rows are filtered, through everything that answers queries: SQL, pipes, queries over pipes,
// pipes over pipes, fixed parameters, the quarantine, and formats.
//
// Each is asked over three copies of the same data sources and pipes: two whose hidden rows differ, and one that has none. All
// three must give the same bytes, errors among them.

import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { createReadScope } from '../../src/access/read-scope.ts'
import { ApiError } from '../../src/shared/errors/errors.ts'
import type { ReadScope } from '../../src/sql/read-scope.types.ts'
import { openFilteredQuery } from '../support/query/filtered-query.ts'
import {
  columns,
  hiddenIn,
  pipesOf,
  type SourceBase,
  type Suffix,
  sourceBases,
  suffixes,
  visible,
} from '../support/query/hidden-rows.ts'
import { RandomReads, type Read } from '../support/query/random-reads.ts'
import { idOf } from '../support/query/test-workspace.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { HostileMutations } from '../support/sql/hostile-mutations.ts'
import { hostileQueries } from '../support/sql/hostile-queries.ts'
import { byTier } from '../support/tier.ts'

t.setTimeout(7_200_000)
const seed = testSeed()
t.comment(`SEED=${seed}`)

const { store, workspace, query } = await openFilteredQuery(t, { queryTimeMaxMs: 5_000, sqlBytesMax: 100_000 })

const schema = columns.map((column) => column.join(' ')).join(', ')
const engines: Readonly<Record<SourceBase, string>> = {
  ev: 'MergeTree PARTITION BY toYYYYMM(d) ORDER BY id',
  rep: 'ReplacingMergeTree ORDER BY (tenant, id)',
  joined: 'Join(ANY, LEFT, id)',
  outs: 'MergeTree ORDER BY (tenant, id) SETTINGS index_granularity = 8',
  open: 'MergeTree ORDER BY id',
}

for (const suffix of suffixes) {
  for (const base of sourceBases) {
    const engine = engines[base]
    const { id } = workspace.addDataSource(`${base}${suffix}`, schema, engine.split(/[ (]/)[0])
    await store.command(`CREATE TABLE ws_0001.${id} (${schema}) ENGINE = ${engine}`)
    await store.command(`INSERT INTO ws_0001.${id} ${visible}`)
    const more = hiddenIn(base, suffix)
    if (more !== null) await store.command(`INSERT INTO ws_0001.${id} ${more}`)
    // In one part hidden rows lie among the others; one of their own is left out by its key.
    if (base !== 'joined') await store.command(`OPTIMIZE TABLE ws_0001.${id} FINAL`)
    await store.command(
      `CREATE TABLE ws_0001.${id}_quarantine (id String, c__error String) ENGINE = MergeTree ORDER BY id`,
    )
    await store.command(`INSERT INTO ws_0001.${id}_quarantine VALUES ('q', '${base === 'open' ? 'shown' : 'SECRETQ'}')`)
  }
  for (const { base, nodes, endpoint } of pipesOf(suffix)) workspace.addPipe(`${base}${suffix}`, nodes, endpoint)
}

const readableBases = new Set(['ev', 'rep', 'joined', 'open', 'rows', 'over', 'inner', 'fixed', 'under'])

/** What the reader may read of one copy. Where nothing is hidden its filters let all through, so that all else is the same. */
function readerOf(suffix: Suffix): ReadScope {
  const byId = new Map([...readableBases].map((base) => [idOf<string>(`${base}${suffix}`), base]))
  const ofVisible = suffix === '_r' ? '1 = 1' : "tenant IN ('a', 'b')"
  const ofOutput = suffix === '_r' ? "who != 'z'" : "who IN ('a', 'b')"
  const filtered = new Set(['ev', 'rep', 'joined'])
  return createReadScope({
    signature: suffix,
    mayRead: (id) => byId.has(id),
    seesAll: false,
    filterOf: (id) => (filtered.has(byId.get(id) ?? '') ? ofVisible : null),
    outputFilterOf: (id) => (byId.get(id) === 'rows' ? ofOutput : null),
    isFiltered: true,
    fixedParametersOf: (id) => (['fixed', 'under'].includes(byId.get(id) ?? '') ? new Map([['tenant', 'a']]) : null),
    mayUseSecrets: false,
  })
}
const readers = new Map(suffixes.map((suffix) => [suffix, readerOf(suffix)]))

async function answer(
  read: Read,
  suffix: Suffix,
  readScope = readers.get(suffix) ?? readerOf(suffix),
): Promise<string> {
  const { signal } = new AbortController()
  const asked = { parameters: read.parameters, settings: {}, readScope, signal }
  const placed = (text: string) => text.replaceAll('@', suffix)
  try {
    const { body } =
      read.pipe === null
        ? await query.run({ ...asked, sql: placed(read.sql ?? ''), pipeline: null, format: read.format })
        : await query.readPipe({
            ...asked,
            pipe: placed(read.pipe),
            sql: read.sql === null ? null : placed(read.sql),
            format: read.format,
          })
    const chunks: Uint8Array[] = []
    for await (const chunk of body) chunks.push(chunk)
    return Buffer.concat(chunks)
      .toString('latin1')
      .replace(/("elapsed": |<elapsed>)[\d.e-]+/, '$1')
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    const body = JSON.stringify(thrown.body()).replace(/ Maybe you meant: \[.*?\]/, '')
    return `failed ${thrown.status} ${thrown.code} ${body}`.replaceAll(suffix, '@')
  }
}

t.test('answers and errors are those over rows that are allowed, whatever is hidden', async (t) => {
  const reads = new RandomReads(new SeededRandom(seed))
  // Each round asks three times under filters.
  const rounds = byTier({ quick: 150, full: 300, soak: 50_000 })
  const counts = { answered: 0, failed: 0, asAdmin: 0 }
  const worker = async (): Promise<void> => {
    for (let next = reads.next(rounds); next !== undefined; next = reads.next(rounds)) {
      const one = await answer(next, '_x')
      const [other, reference] = [await answer(next, '_y'), await answer(next, '_r')]
      const told = JSON.stringify({ ...next, parameters: [...next.parameters] })
      if (other !== one) t.equal(other, one, `two sets of hidden rows: ${told}`)
      if (reference !== one) t.equal(one, reference, `no hidden rows: ${told}`)
      // A word that the query has itself may come back.
      if (/SECRET/.test(one) && !told.includes('SECRET')) t.fail(`a hidden value: ${told}`)
      const isAnswered = !one.startsWith('failed')
      counts[isAnswered ? 'answered' : 'failed'] += 1
      if (!isAnswered || next.format !== 'CSV' || next.usesFixed) continue
      // Who is filtered by nothing reads the tables themselves, in another way.
      counts.asAdmin += 1
      const plain = await answer(next, '_r', adminScope)
      if (plain !== one) t.equal(one, plain, `read by who sees all: ${told}`)
    }
  }
  await Promise.all([worker(), worker()])
  t.comment(JSON.stringify(counts))
  t.ok(counts.answered > rounds / 2, `${counts.answered} of ${rounds} were answered`)
  t.ok(counts.failed > rounds / 50, 'and some failed')
})

t.test('hostile queries and their mutations tell a filtered reader nothing', async (t) => {
  const named = (sql: string): string =>
    sql
      .replaceAll(/\bws_0001\.t_priv\b/g, `ws_0001.${idOf('outs_x')}`)
      .replaceAll(/\bt_(?:priv|ev|j)\b/g, idOf('ev_x'))
      .replaceAll(/\bpriv\b/g, 'outs@')
      .replaceAll(/\b(ev|rep)\b/g, '$1@')
      .replaceAll(/\bj\b/g, 'joined@')
      .replaceAll(/\bother\b/g, 'open@')
      .replaceAll(/\b(?:pipe1|_)\b/g, 'rows@')
      .replaceAll(/\bsecret\b/g, 's')
  const all = Object.values(hostileQueries).flatMap((queries) => queries.map(([sql]) => sql))
  const mutations = new HostileMutations(seed, all)
  const mutated = Array.from({ length: byTier({ quick: 300, full: 500, soak: 200_000 }) }, () => mutations.next())
  let left = [...all, ...mutated].filter((sql) => !/1e9|1000000000|system\.numbers/i.test(sql))
  const counts = { answered: 0, failed: 0 }
  const worker = async (): Promise<void> => {
    for (let sql = left.pop(); sql !== undefined; sql = left.pop()) {
      const read = { pipe: null, sql: named(sql), format: 'CSV', parameters: new Map(), usesFixed: false }
      const told = await answer(read, '_x')
      counts[told.startsWith('failed') ? 'failed' : 'answered'] += 1
      const canary = /SECRET[A-Z0-9]|root:x:/.exec(told)?.[0]
      if (canary !== undefined && !sql.includes('SECRET')) t.fail(`${canary} by ${read.sql}: ${told.slice(0, 300)}`)
    }
  }
  await Promise.all([worker(), worker()])
  left = []
  t.comment(JSON.stringify(counts))
  t.ok(counts.answered > 20, 'enough of them run')
})
