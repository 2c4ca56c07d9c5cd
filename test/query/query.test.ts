import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import type { DataSourceId } from '../../src/catalog/data-source.types.ts'
import { readOutputSettings } from '../../src/query/allowed-output-settings.ts'
import { inUsersWords, readOf } from '../../src/query/message-names.ts'
import { createQuery, type QueryOptions } from '../../src/query/query.ts'
import type { SelectQuery } from '../../src/store/store.types.ts'
import { StoreError } from '../../src/store/store-error.ts'

const options: QueryOptions = {
  database: 'ws',
  sqlBytesMax: 100,
  queryTimeMaxMs: 10_000,
  resultBytesMax: 1024,
  responseCacheBytesMax: 0,
  queryThreads: 1,
  queryThreadsMax: 2,
  now: () => 0,
}

function open(body: (query: SelectQuery) => AsyncIterable<Uint8Array> = () => chunks('x')) {
  const selects: SelectQuery[] = []
  const store = {
    async select(query: SelectQuery) {
      selects.push(query)
      return body(query)
    },
    // What the engine would say of `SELECT 1 FROM …` over one of the two tables.
    queryTree: async (sql: string) => {
      const tables = [...sql.matchAll(/`(ws)`\.`(\w+)`/g)].map(([, database, table]) => `${database}.${table}`)
      return [
        'QUERY id: 0',
        ...tables.flatMap((name) => ['  JOIN TREE', `    IDENTIFIER id: 1, identifier: ${name}`]),
      ].join('\n')
    },
  }
  const dataSources = [dataSource('t_1', 'events'), dataSource('t_2', 'odd_quarantine')]
  const find = (nameOrId: string) => dataSources.find(({ name, id }) => name === nameOrId || id === nameOrId)
  const workspace = { catalogVersion: 1, find, findPipe: () => undefined, list: () => dataSources, listPipes: () => [] }
  const query = createQuery(options, {
    store,
    workspace,
    findServiceSource: () => undefined,
    secretOf: (name) => (name === 'pw' ? 'hunter2' : undefined),
    serviceScope: adminScope,
  })
  const run = (sql: string) =>
    query.run({
      sql,
      pipeline: null,
      format: null,
      parameters: new Map(),
      settings: {},
      readScope: adminScope,
      signal: new AbortController().signal,
    })
  return { run, selects }
}

function dataSource(id: string, name: string) {
  // A short id reads better in what is expected.
  return { id: id as DataSourceId, name, columns: [], engine: { name: 'MergeTree', options: {} } }
}

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

function failing(fields: ConstructorParameters<typeof StoreError>[0]): () => AsyncIterable<Uint8Array> {
  return () => {
    throw new StoreError(fields)
  }
}

t.test('a query runs over tables, in the format that it names', async (t) => {
  const { run, selects } = open(() => chunks('a', 'b'))
  const answer = await run('SELECT * FROM events FORMAT CSVWithNames;')
  t.match(answer, { format: 'CSVWithNames', contentType: /^text\/csv/ })
  t.match(selects, [{ sql: 'SELECT * FROM `ws`.`t_1` AS `events`', format: 'CSVWithNames' }])
  const texts: string[] = []
  for await (const chunk of answer.body) texts.push(Buffer.from(chunk).toString())
  t.strictSame(texts, ['a', 'b'])
  t.match(await run('SELECT 1'), { format: 'JSON', contentType: 'application/json; charset=UTF-8' })
})

t.test('a quarantine is read by the name of its data source', async (t) => {
  const { run, selects } = open()
  await run('SELECT * FROM events_quarantine')
  await run('SELECT * FROM t_1_quarantine AS q')
  // A data source may have such a name itself.
  await run('SELECT * FROM odd_quarantine')
  t.match(selects, [
    { sql: 'SELECT * FROM `ws`.`t_1_quarantine` AS `events_quarantine`' },
    { sql: 'SELECT * FROM `ws`.`t_1_quarantine` AS q' },
    { sql: 'SELECT * FROM `ws`.`t_2` AS `odd_quarantine`' },
  ])
  await t.rejects(run('SELECT * FROM missing_quarantine'), { code: 'SQL_INVALID' })
})

t.test('formats that are not known, and queries that are too long, never reach the store', async (t) => {
  const { run, selects } = open()
  for (const format of ['Null', 'Hash', 'constructor', 'SQLInsert']) {
    await t.rejects(run(`SELECT 1 FORMAT ${format}`), { code: 'FORMAT_UNSUPPORTED', status: 400 }, format)
  }
  for (const size of [99, 100]) await run(`SELECT '${'x'.repeat(size - 9)}'`)
  await t.rejects(run(`SELECT '${'x'.repeat(92)}'`), { code: 'SQL_TOO_LONG', status: 400 })
  await t.rejects(run(`SELECT '${'é'.repeat(46)}'`), { code: 'SQL_TOO_LONG' })
  t.equal(selects.length, 2)
})

t.test('what the store says becomes an answer of its own kind', async (t) => {
  const cases = [
    [
      { kind: 'engine', clickhouseCode: 47, message: 'Unknown identifier x' },
      { code: 'SQL_INVALID', status: 400, message: 'Unknown identifier x' },
    ],
    [
      { kind: 'engine', clickhouseCode: 159, message: 'm' },
      { code: 'QUERY_TIMEOUT', status: 408 },
    ],
    [
      { kind: 'engine', clickhouseCode: 396, message: 'm' },
      { code: 'RESULT_TOO_LARGE', status: 400 },
    ],
    [
      { kind: 'engine', clickhouseCode: 49, message: 'm' },
      { code: 'ENGINE_FAILED', status: 500 },
    ],
    [
      { kind: 'engine', message: 'm' },
      { code: 'ENGINE_FAILED', status: 500 },
    ],
    [
      { kind: 'unread', message: 'm' },
      { code: 'RESULTS_UNREAD', status: 503, retryAfterSeconds: 5 },
    ],
    [
      { kind: 'busy', message: 'm' },
      { code: 'QUERIES_TOO_MANY', status: 503, retryAfterSeconds: 1 },
    ],
    [
      { kind: 'closed', message: 'm' },
      { code: 'SHUTTING_DOWN', status: 503 },
    ],
    [{ kind: 'aborted', message: 'm' }, { name: 'StoreError' }],
  ] as const
  for (const [fields, expected] of cases) {
    const thrown: unknown = await open(failing(fields))
      .run('SELECT 1')
      .catch((error: unknown) => error)
    t.match(thrown, expected)
  }
})

t.test('an error tells nothing that could be made of a secret', async (t) => {
  const cases = [
    [6, 'CANNOT_PARSE_TEXT', /no more is told of the error \(CANNOT_PARSE_TEXT\)$/],
    [47, 'UNKNOWN_IDENTIFIER', /beside '.*toUInt64\(hex\('\*\*\*'\)\) = 1\)'/],
  ] as const
  for (const [clickhouseCode, name, told] of cases) {
    const { run } = open(({ sql }) => {
      const message = `Unknown expression identifier \`x\` beside '${sql}'. (${name})`
      throw new StoreError({ kind: 'engine', clickhouseCode, message })
    })
    const secret = "% SELECT 1 WHERE toUInt64(hex({{tb_secret('pw')}})) = 1"
    await t.rejects(run(secret), { code: 'SQL_INVALID', message: told })
    await t.rejects(run('SELECT 1'), { code: 'SQL_INVALID', message: /beside 'SELECT 1'/ })
  }
})

t.test('an error tells the name of what the query reads, and of nothing else whose id stands in it', async (t) => {
  const [read, other] = ['a', 'b'].map((digit) => `t_${digit.repeat(32)}`)
  const find = (id: string) => dataSource(id, id === read ? 'events' : 'hidden')
  const known = readOf({ tableNames: new Map([[`ws_0001.${read}`, 'events']]) }, { find })
  const message = `Unknown expression identifier ${other}.x beside ${read}. (UNKNOWN_IDENTIFIER)`
  t.match(inUsersWords(message, known), new RegExp(`identifier ${other}.x beside events`))
})

t.test('an error in the middle of an answer is told in the same words', async (t) => {
  const { run } = open(async function* () {
    yield Buffer.from('x')
    throw new StoreError({ kind: 'engine', clickhouseCode: 159, message: 'm' })
  })
  const { body } = await run('SELECT 1')
  const read = async (): Promise<void> => {
    for await (const chunk of body) t.equal(Buffer.from(chunk).toString(), 'x')
  }
  await t.rejects(read(), { code: 'QUERY_TIMEOUT' })
})

t.test('output settings are 0 unless they are 1', async (t) => {
  t.strictSame(
    readOutputSettings(() => undefined),
    {
      output_format_json_quote_64bit_integers: 0,
      output_format_json_quote_denormals: 0,
      output_format_parquet_string_as_string: 0,
    },
  )
  t.throws(() => readOutputSettings(() => 'x'), { code: 'PARAMETER_INVALID', status: 400 })
})

t.test('one thread computes a query, unless its template asks for more, up to a maximum', async (t) => {
  const { run, selects } = open()
  await run('SELECT 1')
  for (const threads of [1, 2, 3, 64]) await run(`% {{max_threads(${threads})}} SELECT 1`)
  t.strictSame(
    selects.map(({ threads }) => threads),
    [1, 1, 2, 2, 2],
  )
})

t.test('queries that differ in literals alone have one shape', async (t) => {
  const { run, selects } = open()
  for (const sql of ["SELECT 1, 'a'", "SELECT 2, 'b'", 'SELECT 1']) await run(sql)
  const [first, second, third] = selects.map(({ shape }) => shape)
  t.equal(first, second)
  t.not(first, third)
})
