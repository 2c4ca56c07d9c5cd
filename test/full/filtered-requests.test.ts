// The reads of `filtered-readers.test.ts` as requests: through SQL and endpoints, by GET and POST, in all formats of endpoints, by
// static tokens and JWTs whose filters, outputs' filters and fixed parameters hide rows.
//
// Each is asked of three copies of the same data sources and pipes: two whose hidden rows differ, and one that has none. All three
// must give the same status, headers and bytes, errors among them, and answers must be what the copy without hidden rows
// gives to the admin, who is filtered by nothing.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { type ReadRequest, requestOf } from '../support/query/filtered-requests.ts'
import { type ReaderKind, readerKinds, tokenOf } from '../support/query/filtered-tokens.ts'
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
import { RandomReads } from '../support/query/random-reads.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.setTimeout(7_200_000)
const seed = testSeed()
t.comment(`SEED=${seed}`)

const adminToken = 'p.filtered.0123456789abcdef0123456789abcdef'
const service = await openTestService(t, { adminToken, queryTimeMaxMs: 20_000 })

const engines: Readonly<Record<SourceBase, Readonly<Record<string, string>>>> = {
  ev: { engine: 'MergeTree', engine_partition_key: 'toYYYYMM(d)', engine_sorting_key: 'id' },
  rep: { engine: 'ReplacingMergeTree', engine_sorting_key: 'tenant, id' },
  joined: {
    engine: 'Join',
    engine_join_strictness: 'ANY',
    engine_join_type: 'LEFT',
    engine_key_columns: 'id',
  },
  outs: { engine: 'MergeTree', engine_sorting_key: 'tenant, id', engine_settings: 'index_granularity = 8' },
  open: { engine: 'MergeTree', engine_sorting_key: 'id' },
}

async function admin(method: string, path: string, body?: string): Promise<string> {
  const answer = await service.call(method, path, { token: adminToken, ...(body === undefined ? {} : { body }) })
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
  return answer.text
}

async function fill(suffix: Suffix): Promise<void> {
  const schema = columns.map((column) => column.join(' ')).join(', ')
  for (const base of sourceBases) {
    const name = `${base}${suffix}`
    await admin('POST', `/v0/datasources?${new URLSearchParams({ name, schema, ...engines[base] })}`)
    const more = hiddenIn(base, suffix)
    // A Join keeps the first row of a key, which is the visible one.
    const rows = [
      await admin('POST', '/v0/sql', `${visible} FORMAT CSVWithNames`),
      more === null ? '' : await admin('POST', '/v0/sql', `${more} FORMAT CSV`),
      `q,${base === 'open' ? 'shown' : 'SECRETQ'},1,s,[],2024-01-01\n`,
    ]
    const mode = base === 'joined' ? 'replace' : 'append'
    await admin('POST', `/v0/datasources?mode=${mode}&format=csv&name=${name}`, rows.join(''))
  }
  for (const { base, nodes } of pipesOf(suffix)) {
    const listed = Object.entries(nodes).map(([name, sql]) => ({ name, sql, type: name === 'all' ? 'endpoint' : '' }))
    await admin('POST', '/v0/pipes', JSON.stringify({ name: `${base}${suffix}`, nodes: listed }))
  }
}

for (const suffix of suffixes) await fill(suffix)
const tokens = new Map<string, string>()
for (const kind of readerKinds) {
  for (const suffix of suffixes) {
    tokens.set(`${kind} ${suffix}`, await tokenOf({ service, adminToken }, kind, suffix))
  }
}

interface Asked {
  readonly request: ReadRequest
  readonly kind: ReaderKind
}

interface Told {
  readonly status: number
  /** Status, headers and body, but for what tells of time. */
  readonly text: string
}

/** What differs from request to request, and what follows from its length. */
const headersLeftOut = new Set(['date', 'x-request-id', 'server-timing', 'content-length', 'connection', 'keep-alive'])

async function told(
  { request, kind }: Asked,
  suffix: Suffix,
  token = tokens.get(`${kind} ${suffix}`) ?? '',
): Promise<Told> {
  const placed = (text: string): string => text.replaceAll('%40', suffix).replaceAll('@', suffix)
  const path = placed(request.path)
  const url = request.isTokenInUrl ? `${path}${path.includes('?') ? '&' : '?'}token=${token}` : path
  const response = await fetch(`${service.address}${url}`, {
    method: request.method,
    headers: request.isTokenInUrl ? {} : { authorization: `Bearer ${token}` },
    ...(request.body === undefined ? {} : { body: placed(request.body) }),
  })
  const body = Buffer.from(await response.arrayBuffer()).toString('latin1')
  const isAnswered = response.status === 200
  const shown = isAnswered ? body.replace(/("elapsed": |<elapsed>)[\d.e-]+/, '$1') : body.replaceAll(suffix, '@')
  const headers = [...response.headers].filter(([name]) => !headersLeftOut.has(name))
  return { status: response.status, text: `${response.status} ${JSON.stringify(headers)}\n${shown}` }
}

/** Statistics are those of what was read, and of another number of rows where nothing is filtered. */
function withoutStatistics({ text }: Told): string {
  return text
    .replace(/,\s*"rows_before_limit_at_least": \d+/, '')
    .replace(/,\s*"statistics":\s*\{[^}]*\}/, '')
    .replace(/\s*<rows_before_limit_at_least>\d+<\/rows_before_limit_at_least>/, '')
    .replace(/\s*<statistics>.*?<\/statistics>/s, '')
}

t.test('requests of filtered readers are answered as over the rows that they may see', async (t) => {
  const random = new SeededRandom(seed)
  const reads = new RandomReads(random)
  const rounds = byTier({ quick: 150, full: 300, soak: 10_000 })
  const counts = { answered: 0, failed: 0, asAdmin: 0, byStatus: new Map<number, number>() }
  const worker = async (): Promise<void> => {
    for (let read = reads.next(rounds); read !== undefined; read = reads.next(rounds)) {
      // When a quarantine was filled, and by which import, is different in each copy.
      const sql = read.sql?.replace(
        /^SELECT \* (FROM \w+@_quarantine)/,
        'SELECT * EXCEPT (insertion_date, c__import_id) $1',
      )
      const asked = { request: requestOf({ ...read, sql: sql ?? null }, random), kind: random.pick(readerKinds) }
      const [one, other, reference] = [await told(asked, '_x'), await told(asked, '_y'), await told(asked, '_r')]
      const question = JSON.stringify(asked)
      if (other.text !== one.text) t.equal(other.text, one.text, `two sets of hidden rows: ${question}`)
      if (reference.text !== one.text) t.equal(one.text, reference.text, `no hidden rows: ${question}`)
      // A word that the request has itself may come back.
      if (one.text.includes('SECRET') && !question.includes('SECRET')) t.fail(`a hidden value: ${question}`)
      counts.byStatus.set(one.status, (counts.byStatus.get(one.status) ?? 0) + 1)
      const isAnswered = one.status === 200
      counts[isAnswered ? 'answered' : 'failed'] += 1
      // How these two lay out columns follows from how rows are read, and the admin reads them in another way.
      if (!isAnswered || read.usesFixed || /[.]arrow|Native/.test(question)) continue
      counts.asAdmin += 1
      const plain = await told(asked, '_r', adminToken)
      const [shown, expected] = [withoutStatistics(one), withoutStatistics(plain)]
      if (shown !== expected) t.equal(shown, expected, `read by who sees all: ${question}`)
    }
  }
  await Promise.all([worker(), worker()])
  t.comment(JSON.stringify({ rounds, ...counts, byStatus: [...counts.byStatus] }))
  t.ok(counts.answered > rounds / 3, `${counts.answered} of ${rounds} were answered`)
  t.ok(counts.failed > rounds / 50, 'and some failed')
})
