// Imports of which the engine refuses rows whose values fit: these are set aside, once each, all others are stored, and the answer
// counts what the tables have.

import t, { type Test } from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { byTier } from '../support/tier.ts'

const rowCount = byTier({ quick: 300, full: 12_000, soak: 100_000 })
const rowsSql = (count: number, bad: string) =>
  `SELECT toUInt32(number) AS id, if(${bad}, 'zz', toString(number % 200)) AS s,
     toDate('2024-01-01') + toIntervalDay(31 * (number % 4)) AS day FROM numbers(${count})`
const isBad = 'number % 10000 = 7'
const fileOf = await writeParquetFiles({
  few: { sql: rowsSql(10, 'number = 6') },
  many: { sql: rowsSql(rowCount, isBad) },
  wrong: {
    sql: "SELECT toUInt32(number) AS id, if(number = 2, 'zz', '1') AS s, if(number = 3, 'x', '2024-01-01') AS day FROM numbers(6)",
  },
})
const service = await openTestService(t)

interface Row {
  readonly id: number
  readonly s: string
  readonly day: string
}

function rowsOf(count: number, bad: (id: number) => boolean): readonly Row[] {
  return Array.from({ length: count }, (_, id) => {
    const day = new Date(Date.UTC(2024, 0, 1 + 31 * (id % 4))).toISOString().slice(0, 10)
    return { id, s: bad(id) ? 'zz' : String(id % 200), day }
  })
}

const bodies = {
  csv: (rows: readonly Row[]) => `id,s,day\n${rows.map(({ id, s, day }) => `${id},${s},${day}\n`).join('')}`,
  ndjson: (rows: readonly Row[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
}

const schema = 'id UInt32 `json:$.id`, s String `json:$.s`, day Date `json:$.day`'

async function checkCounts(t: Test, name: string, answer: unknown, refused: readonly number[]) {
  const rowsIn = 10
  t.match(answer, {
    json: { imported_rows: rowsIn - refused.length, quarantine_rows: refused.length, invalid_lines: 0 },
  })
  const ids = await service.rows(`SELECT id FROM ${name}_quarantine ORDER BY toUInt32(assumeNotNull(id))`)
  t.same(
    ids.map(([id]) => Number(id)),
    refused,
    `${name}: the refused rows are set aside once each`,
  )
  const [counted] = await service.rows(`SELECT count(), uniqExact(id), countIf(s = 'zz') FROM ${name}`)
  t.same(
    counted,
    [rowsIn - refused.length, rowsIn - refused.length, 0].map(String),
    `${name}: the others are stored once`,
  )
}

const definitions: Readonly<Record<string, readonly [more: Readonly<Record<string, string>>, column: string]>> = {
  sorting: [{ engine_partition_key: 'toYYYYMM(day)', engine_sorting_key: 'toUInt8(s), id' }, ''],
  partition: [{ engine_partition_key: 'intDiv(toUInt8(s), 100)', engine_sorting_key: 'id' }, ''],
  divided: [{ engine_partition_key: 'toYYYYMM(day)', engine_sorting_key: "intDiv(1, s != 'zz'), id" }, ''],
  unparted: [{ engine_sorting_key: 'toUInt8(s), id' }, ''],
  defaults: [{ engine_partition_key: 'toYYYYMM(day)', engine_sorting_key: 'id' }, ', d UInt8 DEFAULT toUInt8(s)'],
}

const formats = ['csv', 'parquet', 'ndjson'] as const

for (const [index, [kind, [more, column]]] of Object.entries(definitions).entries()) {
  t.test(
    `rows that fail with the ${kind} key or DEFAULT are set aside, and the others of their body are stored`,
    async (t) => {
      const chosen = [0, 1, 2]
        .slice(0, byTier({ quick: 1, full: 2, soak: 3 }))
        .map((more) => formats[(index + more) % 3] ?? 'csv')
      for (const format of chosen) {
        const name = `${kind}_${format}`
        const made = await service.create(name, schema + column, { engine: 'MergeTree', ...more })
        t.equal(made.status, 200, `${name}: made`)
        const send = (mode: string, rows: readonly Row[], file: string) => {
          const body = format === 'parquet' ? fileOf(file) : bodies[format](rows)
          return service.call('POST', `/v0/datasources?mode=${mode}&name=${name}&format=${format}`, { body })
        }
        const first = await send(
          'append',
          rowsOf(10, (id) => id === 6),
          'few',
        )
        t.match(first, { status: 200 }, `${name}: appended`)
        await checkCounts(t, name, first, [6])
        const refused = rowsOf(rowCount, (id) => id % 10_000 === 7).flatMap(({ id, s }) => (s === 'zz' ? [id] : []))
        const second = await send(
          'replace',
          rowsOf(rowCount, (id) => id % 10_000 === 7),
          'many',
        )
        t.match(second, { status: 200 }, `${name}: replaced`)
        t.match(second.json, { imported_rows: rowCount - refused.length, quarantine_rows: refused.length })
        t.equal(await service.count(name), rowCount - refused.length)
      }
    },
  )
}

/** What came in is what is stored and what is set aside, by the tables, and as it was told. */
async function stand(t: Test, name: string, told: unknown, [stored, setAside]: readonly [number, number]) {
  t.match(told, { imported_rows: stored, quarantine_rows: setAside }, `${name}: told`)
  t.same(
    [await service.count(name), await service.count(`${name}_quarantine`)],
    [stored, setAside],
    `${name}: in the tables`,
  )
}

t.test('a body of which the first partitions are stored before a later one fails is counted', async (t) => {
  await service.create('late', schema, {
    engine: 'MergeTree',
    engine_partition_key: 'toYYYYMM(day)',
    engine_sorting_key: 'toUInt8(s), id',
  })
  const rows = Array.from({ length: 24 }, (_, id) => ({
    id,
    s: id === 23 ? 'zz' : '1',
    day: `2024-${String((id >> 1) + 1).padStart(2, '0')}-01`,
  }))
  const answer = await service.append('late', 'ndjson', bodies.ndjson(rows))
  await stand(t, 'late', answer.json, [23, 1])
})

t.test('what is set aside has its texts, its import and the reason, and can be replayed', async (t) => {
  const columns = [
    's String',
    'd Nullable(DateTime)',
    'a Array(Nullable(UInt64))',
    "e Enum8('x' = 1, 'y' = 2)",
    'n Nullable(Decimal(10, 2)) DEFAULT 7',
    't DateTime64(3) DEFAULT 0',
    'l LowCardinality(String)',
    'b Bool',
    'k UInt8 DEFAULT toUInt8(s)',
  ]
  await service.create(
    'texts',
    columns
      .map((column) => `${column} \`json:$.${column.slice(0, 1)}\``)
      .map(withDefaultLast)
      .join(', '),
    {
      engine: 'MergeTree',
      engine_sorting_key: 's',
    },
  )
  const row = {
    s: 'zz',
    d: '2024-01-02 03:04:05',
    a: [1, null, 3],
    e: 'y',
    t: '2024-01-02 03:04:05.678',
    l: "it's",
    b: true,
  }
  const answer = await service.append(
    'texts',
    'ndjson',
    bodies.ndjson([row as never, { ...row, s: '5', d: null } as never]),
  )
  await stand(t, 'texts', answer.json, [1, 1])
  const { import_id, warnings } = answer.json as { readonly import_id: string; readonly warnings: readonly string[] }
  t.match(warnings, [/^The database refused 1 row, which is in quarantine: Cannot parse string 'zz' as UInt8/])
  t.same(
    await service.rows(
      'SELECT s, d, a, e, n, t, l, b, k, c__import_id, c__error_column, c__error FROM texts_quarantine',
    ),
    [
      [
        'zz',
        '2024-01-02 03:04:05',
        '[1,null,3]',
        'y',
        '\\N',
        '2024-01-02 03:04:05.678',
        "it\\'s",
        'true',
        '\\N',
        import_id,
        "['']",
        "['the database refused the row']",
      ],
    ],
  )
  const replayed = await service.call(
    'POST',
    `/v0/datasources/texts/quarantine/replay?${new URLSearchParams({ 'fixes.s': "'6'" })}`,
  )
  t.match(replayed, { status: 200, json: { replayed_rows: 1, failed_rows: 0 } })
  t.same(await service.rows("SELECT * EXCEPT (s, k) FROM texts WHERE s = '6'"), [
    ['2024-01-02 03:04:05', '[1,NULL,3]', 'y', '7', '2024-01-02 03:04:05.678', "it\\'s", 'true'],
  ])
})

/** Schemas have the path in front of the DEFAULT. */
function withDefaultLast(column: string): string {
  return column.replace(/^(.*?)( DEFAULT .*) (`json:.*`)$/, '$1 $3$2')
}

t.test('rows with wrong values and rows that the table refuses are set aside beside one another', async (t) => {
  const more = { engine: 'MergeTree', engine_partition_key: 'toYYYYMM(day)', engine_sorting_key: 'toUInt8(s), id' }
  const rows = [0, 1, 2, 3, 4, 5].map((id) => ({ id, s: id === 2 ? 'zz' : '1', day: id === 3 ? 'x' : '2024-01-01' }))
  const sent = [
    ['csv', bodies.csv(rows)],
    ['ndjson', bodies.ndjson(rows)],
    ['parquet', fileOf('wrong')],
  ] as const
  for (const [format, body] of sent) {
    const name = `wrong_${format}`
    await service.create(name, schema, more)
    const answer = await service.call('POST', `/v0/datasources?mode=append&name=${name}&format=${format}`, { body })
    await stand(t, name, answer.json, [4, 2])
  }
})

t.test('creating by an import, a sign, an import of one row, and one of which all rows are refused', async (t) => {
  const signed = { engine: 'CollapsingMergeTree', engine_sign: 'sign', engine_sorting_key: 'id' }
  await service.create('signs', 'id UInt8, sign Int8', signed)
  await stand(t, 'signs', (await service.append('signs', 'csv', '1,5\n2,1\n')).json, [1, 1])
  const alone = await service.append('signs', 'csv', '1,5\n')
  t.match(alone.json, { imported_rows: 0, quarantine_rows: 1 })
  t.same([await service.count('signs'), await service.count('signs_quarantine')], [1, 2])
  const created = new URLSearchParams({
    mode: 'create',
    name: 'made',
    format: 'csv',
    schema: 'id UInt32, s String, day Date',
    engine: 'MergeTree',
    engine_partition_key: 'day',
    engine_sorting_key: 'toUInt8(s)',
  })
  const answer = await service.call('POST', `/v0/datasources?${created}`, {
    body: bodies.csv(rowsOf(8, (id) => id > 4)),
  })
  await stand(t, 'made', answer.json, [5, 3])
  await service.create('none', schema, { engine: 'MergeTree', engine_sorting_key: 'toUInt8(s)' })
  const few = await service.append('none', 'ndjson', bodies.ndjson(rowsOf(5, () => true)))
  await stand(t, 'none', few.json, [0, 5])
})
