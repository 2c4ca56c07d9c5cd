// Row filters against the real engine: random queries over filtered data sources give what the same queries give over
// tables that hold only the allowed rows, which were picked one by one.

import t from 'tap'
import { compileQuery } from '../../src/sql/compile-query.ts'
import type { NameScope, QuerySource, Source, TableSource } from '../../src/sql/source.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { testSeed } from '../support/seeded-random.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'
import { byTier } from '../support/tier.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

const seed = testSeed()
t.comment(`SEED=${seed}`)
let state = seed
function random(below: number): number {
  state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
  return Math.floor((state / 0x8000_0000) * below)
}
function pick<Item>(items: readonly Item[]): Item {
  // The index is below the length.
  return items[random(items.length)] as Item
}

interface Row {
  readonly id: number
  readonly tenant: string
  readonly n: number
  readonly secret: string
}

const engines: Readonly<Record<string, string>> = {
  ev: 'MergeTree ORDER BY id SAMPLE BY id',
  rep: 'ReplacingMergeTree(n) ORDER BY id',
  j: 'Join(ANY, LEFT, id)',
  open: 'MergeTree ORDER BY id',
}
const filters: Readonly<Record<string, string | null>> = {
  ev: "tenant = 'a' OR n > 17",
  // What is in the filter must not be taken for the end of its brackets, nor a comment hide what follows.
  rep: "tenant IN ('a', 'b') /* both */ AND NOT (tenant = 'z') -- no z",
  j: "arrayExists(x -> x = tenant, ['a', 'c'])",
  open: null,
}

function isAllowed(name: string, { tenant, n }: Row): boolean {
  if (name === 'ev') return tenant === 'a' || n > 17
  if (name === 'rep') return tenant === 'a' || tenant === 'b'
  return name === 'open' || tenant === 'a' || tenant === 'c'
}

for (const [name, engine] of Object.entries(engines)) {
  const ids = [...Array(40).keys()].flatMap((id) => (name === 'rep' && id % 3 === 0 ? [id, id] : [id]))
  // Versions of one row belong to one tenant, or FINAL would find another one of them last.
  const tenants = new Map(ids.map((id) => [id, pick(['a', 'b', 'c'])]))
  const rows = ids.map((id) => ({ id, tenant: tenants.get(id) ?? '', n: random(20), secret: `s${random(1000)}` }))
  for (const [suffix, kept] of [
    ['', rows],
    ['_ref', rows.filter((row) => isAllowed(name, row))],
  ] as const) {
    const values = kept.map((row) => `(${row.id}, '${row.tenant}', ${row.n}, '${row.secret}')`)
    await store.command(
      `CREATE TABLE ws_0001.t_${name}${suffix} (id UInt32, tenant String, n UInt32, secret String) ENGINE = ${engine}`,
    )
    // Parts that are merged would make the rows of the two tables differ without FINAL.
    await store.command(
      `INSERT INTO ws_0001.t_${name}${suffix} SETTINGS optimize_on_insert = 0 VALUES ${values.join()}`,
    )
  }
}

function scopeOf(suffix: string): NameScope {
  const find = (parts: readonly string[]): Source | undefined => {
    const [name = ''] = parts
    if (name === 'pipe') {
      const sql = 'SELECT id, tenant, n, secret FROM ev WHERE n < 15'
      return { kind: 'query', id: 'p', name, sql: () => sql, scope: { find } } satisfies QuerySource
    }
    if (parts.length !== 1 || !Object.hasOwn(engines, name)) return undefined
    return {
      kind: 'table',
      database: 'ws_0001',
      table: `t_${name}${suffix}`,
      name,
      columns: ['id', 'tenant', 'n', 'secret'],
      isJoin: name === 'j',
      filter: suffix === '' ? (filters[name] ?? null) : null,
    } satisfies TableSource
  }
  return { find }
}

const filtered = scopeOf('')
const reference = scopeOf('_ref')

async function answer(sql: string, scope: NameScope): Promise<string> {
  const { signal } = new AbortController()
  const compiled = compileQuery(sql, { scope })
  try {
    const stream = await store.select({ sql: compiled.sql, format: 'TSV', settings: {}, signal })
    let text = ''
    for await (const chunk of stream) text += Buffer.from(chunk).toString()
    return text
  } catch (thrown) {
    return `failed: ${(thrown as { clickhouseCode?: number }).clickhouseCode}`
  }
}

const tables = ['ev', 'ev', 'rep', 'j', 'open', 'pipe']

/** A random SELECT of `id, tenant, n, secret`, without an order. */
function randomSelect(depth: number): string {
  const table = pick(tables)
  const alias = pick(['', ' AS x', ' AS tenant', ' AS y', ' e'])
  const name = alias === '' ? table : (alias.trim().split(' ').at(-1) ?? table)
  const columns = pick(['*', `${name}.*`, 'id, tenant, n, secret', `${name}.id, ${name}.tenant, ${name}.n, secret`])
  const where = pick(['', ` WHERE ${randomCondition(depth)}`, ` WHERE 1 OR ${randomCondition(depth)}`])
  const prewhere = table === 'ev' && random(3) === 0 ? pick([" PREWHERE tenant = 'b' OR 1", ' PREWHERE n > 5']) : ''
  const final = table === 'rep' && random(2) === 0 ? ' FINAL' : ''
  const withClause = pick(['', '', "WITH 'a' AS tenant_name ", 'WITH 5 AS n2 '])
  const choice = depth > 0 ? random(9) : 9
  const inner = (): string => randomSelect(depth - 1)
  if (choice === 0) return `SELECT * FROM (${inner()})${alias}${where}`
  if (choice === 1) return `${inner()} UNION ALL ${inner()}`
  if (choice === 2) return `WITH q AS (${inner()}) SELECT * FROM q WHERE id IN (SELECT id FROM q)`
  if (choice === 3)
    return `SELECT l.id AS id, r.tenant AS tenant, r.n AS n, r.secret AS secret FROM open AS l ${pick(['LEFT', 'RIGHT', 'INNER', 'FULL'])} JOIN ${pick(['ev', 'rep', 'pipe'])} AS r ON l.id = r.id`
  if (choice === 4)
    return `SELECT l.id AS id, l.tenant AS tenant, j.n AS n, j.secret AS secret FROM ${pick(['ev', 'open'])} AS l ANY LEFT JOIN j ON l.id = j.id`
  if (choice === 5)
    return `SELECT id, tenant, n, secret FROM (${pick(['ev', 'rep'])} AS l JOIN open AS r ON l.id = r.id)`
  if (choice === 6) return `SELECT * FROM view(${inner()})`
  if (choice === 7) return `FROM ${table}${alias.replace(' e', ' AS e')}${final} SELECT ${columns}${where}`
  if (choice === 8) return `SELECT id, tenant, n, secret FROM ${table} ARRAY JOIN [1, 2] AS z${where}`
  return `${withClause}SELECT ${columns} FROM ${table}${alias}${final}${prewhere}${where}`
}

function randomCondition(depth: number): string {
  const inner = (): string => `(SELECT id FROM (${randomSelect(Math.max(0, depth - 1))}))`
  return pick([
    () => `id IN ${inner()}`,
    () => `id NOT IN ${inner()}`,
    () => `n > (SELECT min(n) FROM ${pick(tables)})`,
    () => `(id, tenant, n, secret) IN ${pick(['ev', '(rep)', 'pipe', '((open))'])}`,
    () => `in((id, tenant, n, secret), ${pick(['ev', 'rep', 'pipe'])})`,
    () => `has((SELECT groupArray(id) FROM ${pick(tables)}), id)`,
    () => `secret LIKE '%1%'`,
    () => 'n % 2 = 0',
  ])()
}

t.test('a filtered data source reads as one that holds only the allowed rows', async (t) => {
  const rounds = byTier({ quick: 60, full: 120, soak: 5_000 })
  let answerCount = 0
  for (let round = 0; round < rounds; round += 1) {
    const sql = `SELECT toUInt64(id) AS i, tenant, n, secret FROM (${randomSelect(3)}) ORDER BY ALL`
    const [seen, expected] = await Promise.all([answer(sql, filtered), answer(sql, reference)])
    if (seen !== expected) t.equal(seen, expected, `${sql} became ${compileQuery(sql, { scope: filtered }).sql}`)
    if (!seen.startsWith('failed') && seen !== '') answerCount += 1
  }
  t.ok(answerCount > rounds * 0.6, `${answerCount} of ${rounds} queries gave rows`)
})

t.test('the form of a filtered read keeps what belongs to the table', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    [
      'SELECT * FROM ev',
      "SELECT * FROM (SELECT * FROM `ws_0001`.`t_ev` AS `__filtered_rows` PREWHERE (`__filtered_rows`.tenant = 'a' OR `__filtered_rows`.n > 17) LIMIT 1000000000000000000) AS `ev`",
    ],
    [
      'SELECT * FROM ev AS e FINAL SAMPLE 1/10 OFFSET 1/2 WHERE 1',
      "SELECT * FROM (SELECT * FROM `ws_0001`.`t_ev` AS `__filtered_rows` FINAL SAMPLE 1 / 10 OFFSET 1 / 2 WHERE (`__filtered_rows`.tenant = 'a' OR `__filtered_rows`.n > 17) LIMIT 1000000000000000000) AS e WHERE 1",
    ],
    [
      'SELECT 1 FROM ev PREWHERE n = 1 OR 1 WHERE tenant OR 1 GROUP BY n',
      "SELECT 1 FROM (SELECT * FROM `ws_0001`.`t_ev` AS `__filtered_rows` PREWHERE (`__filtered_rows`.tenant = 'a' OR `__filtered_rows`.n > 17) LIMIT 1000000000000000000) AS `ev` WHERE ( n = 1 OR 1 ) AND ( tenant OR 1) GROUP BY n",
    ],
    [
      'SELECT 1 FROM ev PREWHERE n LIMIT 1',
      "SELECT 1 FROM (SELECT * FROM `ws_0001`.`t_ev` AS `__filtered_rows` PREWHERE (`__filtered_rows`.tenant = 'a' OR `__filtered_rows`.n > 17) LIMIT 1000000000000000000) AS `ev` WHERE ( n) LIMIT 1",
    ],
    [
      'SELECT 1 WHERE 1 IN ev',
      "SELECT 1 WHERE 1 IN (SELECT * FROM `ws_0001`.`t_ev` AS `__filtered_rows` PREWHERE (`__filtered_rows`.tenant = 'a' OR `__filtered_rows`.n > 17) LIMIT 1000000000000000000)",
    ],
  ]
  for (const [sql, expected] of cases) t.equal(compileQuery(sql, { scope: filtered }).sql, expected)
  t.throws(() => compileQuery("SELECT joinGet('j', 'secret', toUInt32(1))", { scope: filtered }), /with a token filter/)
  t.throws(() => compileQuery("SELECT joinGetOrNull(j, 'secret', toUInt32(1))", { scope: filtered }), /token filter/)
  t.match(compileQuery("SELECT joinGet(j, 'n', 1)", { scope: reference }).sql, /joinGet\('ws_0001.t_j_ref', 'n', 1\)/)
})

t.test('no condition of a query judges a row that is filtered out', async (t) => {
  // The column of the filter is large and the others are small, in files of their own: the engine would judge those first.
  const settings = 'SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0'
  const wide: readonly (readonly [string, string])[] = [
    ['wide', `MergeTree ORDER BY id ${settings}`],
    ['wide_rep', `ReplacingMergeTree ORDER BY id ${settings}`],
    ['wide_j', 'Join(ANY, LEFT, id)'],
  ]
  for (const [name, engine] of wide) {
    await store.command(
      `CREATE TABLE ws_0001.t_${name} (id UInt32, tenant String, n UInt32, secret String) ENGINE = ${engine}`,
    )
    await store.command(
      `INSERT INTO ws_0001.t_${name} SELECT number, if(number % 2 = 0, 'a', concat('b', randomPrintableASCII(200))),
       number % 100, if(number % 2 = 0, toString(number), 'CANARY') FROM numbers(20000)`,
    )
  }
  const scope: NameScope = {
    find: ([name = '']) => {
      if (name === 'open') return reference.find([name])
      const columns = ['id', 'tenant', 'n', 'secret']
      const isJoin = name === 'wide_j'
      return { kind: 'table', database: 'ws_0001', table: `t_${name}`, name, columns, isJoin, filter: "tenant = 'a'" }
    },
  }
  const conditions = [
    'toUInt32(secret) = 4',
    "throwIf(secret = 'CANARY', secret) = 0",
    'id > 5 AND toUInt32(secret) > 3',
    'toUInt32(secret) IN (SELECT id FROM open)',
    'toUInt32(secret) > (SELECT min(id) FROM open)',
    "if(secret = 'CANARY', throwIf(1), 1) = 1",
    'secret::UInt32 BETWEEN 1 AND 3',
  ]
  for (const table of ['wide', 'wide_rep', 'wide_rep FINAL', 'wide_j']) {
    const [name = ''] = table.split(' ')
    const alias = table.replace(name, `${name} AS e`)
    const queries = conditions.flatMap((condition) => [
      `SELECT count() FROM ${table} WHERE ${condition}`,
      `SELECT count() FROM ${table} PREWHERE ${condition}`,
      `SELECT count() FROM (SELECT * FROM ${table}) WHERE ${condition}`,
      `SELECT count() FROM (SELECT * FROM ${table} UNION ALL SELECT * FROM ${table}) WHERE ${condition}`,
      `SELECT secret, count() FROM ${table} GROUP BY secret, id HAVING ${condition}`,
      `SELECT count() FROM ${alias} JOIN open AS o ON e.id = o.id WHERE ${condition.replaceAll(/\bid >/g, 'e.id >').replaceAll(/(?<!as )secret/g, 'e.secret')}`,
    ])
    queries.push(
      `SELECT count() FROM ${alias} JOIN open AS o ON toUInt32(e.secret) = o.id`,
      `SELECT count() FROM open AS o LEFT JOIN ${alias} ON toUInt32(e.secret) = o.id`,
      `SELECT id FROM ${table} ORDER BY toUInt32(secret) LIMIT 3`,
      `SELECT count() FROM ${table} ARRAY JOIN [toUInt32(secret)] AS z WHERE z > 3`,
      `SELECT count() FROM open WHERE EXISTS (SELECT 1 FROM ${table} WHERE toUInt32(secret) = 3)`,
    )
    for (const sql of queries) t.notMatch(await answer(sql, scope), /CANARY|failed: (?:6|395)$/, sql)
  }
})

t.test('a filter is one expression over columns', async (t) => {
  const withFilter = (filter: string): NameScope => ({
    find: () => ({
      kind: 'table',
      database: 'ws_0001',
      table: 't_ev',
      name: 'ev',
      columns: ['id', 'tenant', 'n', 'a.b'],
      isJoin: false,
      filter,
    }),
  })
  const refused = [
    "tenant = 'a') OR (1",
    'tenant',
    'tenants = 1',
    'id IN (SELECT id FROM ev)',
    'id IN ev',
    "joinGet('j', 'n', id) = 1",
    '(n AS m) = 1',
    "file('/etc/passwd') = ''",
    'ev.id = 1',
    'count(*) > 1',
    'COLUMNS(id) = 1',
    'n = 1; SELECT 1',
    '1 SETTINGS final = 1',
    '1 UNION ALL SELECT 1',
    'arrayExists(x -> y = 1, [n])',
    '',
  ].filter((filter) => filter !== 'tenant')
  for (const filter of refused) {
    t.throws(
      () => compileQuery('SELECT 1 FROM ev', { scope: withFilter(filter) }),
      { code: 'FILTER_BROKEN', status: 403 },
      filter,
    )
  }
  for (const filter of [
    "tenant = 'a'",
    '`a.b` = 1',
    'a.b = 1',
    'n > toUnixTimestamp(now() - INTERVAL 1 DAY)',
    'NOT NULL',
  ]) {
    t.doesNotThrow(() => compileQuery('SELECT 1 FROM ev', { scope: withFilter(filter) }), filter)
  }
})
