// Bodies that are not what their senders take them for: they are refused with what they are, or counted with a warning.

import { tableFromArrays, tableToIPC } from 'apache-arrow'
import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)
const schema = 'ts DateTime64(3) `json:$.ts`, page String `json:$.page`, ms UInt32 `json:$.ms`'
await service.create('visits', schema)

interface ImportAnswer {
  readonly error: string | false
  readonly hint?: string
  readonly warnings?: readonly string[]
  readonly imported_rows?: number
}

async function post(path: string, body: Uint8Array | string): Promise<ImportAnswer & { readonly status: number }> {
  const { status, json } = await service.call('POST', path, { body })
  // The shape of an import's answer.
  return { status, ...(json as ImportAnswer) }
}

t.test('files that are no table are refused by what they are, and nothing is created', async (t) => {
  const table = tableFromArrays({ id: Int32Array.from([1, 2]), name: ['a', 'b'] })
  const datafile = 'DESCRIPTION >\n    Visits\n\nSCHEMA >\n    `ts` DateTime `json:$.ts`\n\nENGINE "MergeTree"\n'
  const cases: readonly (readonly [what: RegExp, body: Uint8Array | string])[] = [
    [/an Arrow file/, tableToIPC(table, 'file')],
    [/an Arrow stream/, tableToIPC(table, 'stream')],
    [/an ORC file/, Buffer.from('ORC\u0003\u0000\u0000\u0000')],
    [/an Avro file/, Buffer.from('Obj\u0001\u0004\u0016avro.schema')],
    [/an SQLite database/, Buffer.from('SQLite format 3\u0000\u0010\u0000')],
    [/a PDF/, '%PDF-1.7\n%âãÏÓ\n'],
    [/an Excel workbook/, Buffer.from('d0cf11e0a1b11ae1000000', 'hex')],
    [
      /an Excel workbook/,
      Buffer.from(
        `504b030414000000080000000000000000000000000000000000${'13000000'}${Buffer.from('[Content_Types].xml').toString('hex')}`,
        'hex',
      ),
    ],
    [/compressed with bzip2/, Buffer.from('BZh91AY&SY\u0000')],
    [/compressed with xz/, Buffer.from('fd377a585a000004', 'hex')],
    [/a page of HTML/, '<!DOCTYPE html>\n<html><body>404, not found</body></html>'],
    [/XML/, '<?xml version="1.0"?>\n<rows></rows>'],
    [/the text of a datafile/, datafile],
    [/a script of SQL/, "INSERT INTO visits VALUES ('2026-01-01', '/', 1);\n"],
  ]
  for (const [what, body] of cases) {
    const { status, error, hint } = await post('/v0/datasources?name=odd', body)
    t.equal(status, 400, String(what))
    t.match(error, new RegExp(`^The body is ${what.source}.*, not CSV, NDJSON or Parquet$`))
    t.match(hint, /^[A-Z]/)
    t.equal((await post('/v0/datasources?name=visits&mode=append', body)).status, 400, `append: ${what}`)
    t.equal((await post('/v0/analyze', body)).status, 400, `analyze: ${what}`)
  }
  t.equal((await service.call('GET', '/v0/datasources/odd')).status, 404)
  t.equal(await service.count('visits_quarantine'), 0)
})

t.test('texts that a CSV may hold are CSV where somebody says so', async (t) => {
  t.match(await post('/v0/datasources?name=pages&format=csv', 'page\n<html>x</html>\n'), {
    status: 200,
    imported_rows: 1,
  })
  t.match(await post('/v0/datasources?name=marks', 'ORC,PDF\n1,2\n'), { status: 200, imported_rows: 1 })
  t.match(await post('/v0/datasources?name=bz', 'BZh,x\n1,2\n'), { status: 200, imported_rows: 1 })
  t.match(await post('/v0/datasources?name=words', 'SCHEMA,DESCRIPTION\na,b\n'), { status: 200, imported_rows: 1 })
})

t.test('a header that names no column, and a delimiter that cuts nothing, are told in warnings', async (t) => {
  const append = (csv: string, more = '') => post(`/v0/datasources?name=visits&mode=append${more}`, csv)
  const row = '2026-01-01 10:00:00,/a,3\n'
  const foreign = await append(`when,url,took\n${row}`)
  t.match(foreign, { status: 200, imported_rows: 1, error: /1 row in quarantine/ })
  t.match(foreign.warnings, [
    /^The first line looks like a header, but names none of the columns: "when", "url", "took"\. .*\(ts, page, ms\)/,
  ])
  const delimited = await append('2026-01-01;/;1\n2026-01-02;/;2\n', '&dialect_delimiter=,')
  t.match(delimited.warnings, [
    /^The first line has 1 field with the delimiter ",", and the Data Source has 3 columns: with ";" it has 3\. Send dialect_delimiter=%3B, or leave it out\.$/,
  ])
  t.match((await append('2026-01-01^/^1\n2026-01-02^/^2\n')).warnings, [/with "\^" it has 3/])
  t.match((await append('2026-01-01\t/\t1\n', '&dialect_delimiter=;')).warnings, [/with tab it has 3/])
  for (const csv of [
    row,
    `ts,page,ms\n${row}`,
    `${row}${row}`,
    'ts,page,ms\n',
    '\n',
    '2026-01-01;/;1\n',
    '1,2\n',
    '',
    row.repeat(3_000),
  ]) {
    const { warnings = [] } = await append(csv === '' ? '\n' : csv)
    t.same(warnings, [], JSON.stringify(csv.slice(0, 60)))
  }
  await service.create('texts', 'a String, b String')
  t.same(
    (await post('/v0/datasources?name=texts&mode=append', 'x,y\nz,w\n')).warnings ?? [],
    [],
    'where all is text nothing is known',
  )
})

t.test('NDJSON of which no row fits is told with what is wrong', async (t) => {
  const append = (body: string) => post('/v0/datasources?name=visits&mode=append&format=ndjson', body)
  t.match((await append('ts,page,ms\n2026-01-01,/,1\n')).warnings, [/looks like CSV/])
  t.match((await append("{'ts':'2026-01-01','page':'/','ms':1}\n")).warnings, [/double quotes around keys and texts/])
  t.same((await append('{"ts":"2026-01-01","page":"/","ms":1}\n')).warnings ?? [], [])
})

t.test('events that go to quarantine tell why in a header, and their answer stays as it is', async (t) => {
  const good = '{"ts":"2026-01-01T10:00:00Z","page":"/","ms":31}'
  const cases: readonly (readonly [body: Uint8Array | string, warning: RegExp | null])[] = [
    [`${JSON.stringify(JSON.parse(good), null, 2)}\n`, /over several lines needs format=json/],
    [`[${good},${good}]`, /an array of events needs format=json/],
    [`${good}${good}`, /a line of its own: curl -d removes the line feeds/],
    ["{'ts':'2026-01-01','page':'/','ms':1}", /JSON has double quotes around keys and texts/],
    ['{ts:2026-01-01,page:/,ms:3}', /a shell removes them unless/],
    ['{"ts":"2026-01-01","page":"/","ms":31,}', /no comma after the last value/],
    ['{"ts":"2026-01-01","page":"/","ms":None}', /JSON has only null, true, false and numbers/],
    ['ts,page,ms\n2026-01-01,/,1\n', /looks like CSV: .*mode=append&format=csv/],
    ['visits.ndjson', /a file name instead of the file/],
    ['ts=1&page=2', /the body is a form/],
    [Buffer.from('1f8b0800000000000003ab0500', 'hex'), /compressed with gzip: send the header Content-Encoding/],
    ['<html></html>', /the body is a page of HTML/],
    [
      '{"ts":"2026-01-01","page":"/","ms":"fast"}',
      /^1 row is in quarantine; \/v0\/datasources\/visits\/quarantine\/summary says why$/,
    ],
    [`${good}\n{}\n{}\n`, /^2 rows are in quarantine; /],
    [good, null],
  ]
  for (const [body, warning] of cases) {
    const answer = await service.events('visits', body)
    t.equal(answer.status, 202)
    t.same(Object.keys(answer.json as object), ['successful_rows', 'quarantined_rows'])
    const told = answer.headers.get('x-warning')
    if (warning === null) t.equal(told, null)
    else t.match(told, warning, String(body).slice(0, 60))
  }
  const broken = await service.events('visits', '[1, 2', { format: 'json' })
  t.notMatch(broken.headers.get('x-warning'), /format=json/)
})

t.test('an import with rows in quarantine says in a header where the reasons are', async (t) => {
  const answer = await service.append('visits', 'csv', '31/12/2026,/,1\n12/31/2026 10:00,/,x\n')
  t.match(answer.json, { error: 'There was an error with file contents: 2 rows in quarantine and 0 invalid lines.' })
  const where = '2 rows are in quarantine; /v0/datasources/visits/quarantine/summary says why'
  t.equal(answer.headers.get('x-warning'), where)
  t.equal((await service.append('visits', 'csv', '2026-12-31,/,1\n')).headers.get('x-warning'), null)
})

t.test('words for nothing suggest Nullable, and the fix that takes them', async (t) => {
  await service.create('sizes', 'k UInt32, n UInt32, at DateTime, s Float64, w UInt8', { engine_sorting_key: 'k' })
  await service.append('sizes', 'csv', '1,null,NULL,1,1\n2,5,N/A,NA,x\n3,7,2026-01-01 00:00:00,2,null\n')
  const { json } = await service.call('GET', '/v0/datasources/sizes/quarantine/summary')
  interface Group {
    readonly column: string
    readonly suggestion: { readonly type: string; readonly all_values: boolean; readonly fix?: string } | null
  }
  // The shape of a summary.
  const { groups, suggested_schema: suggested } = json as {
    readonly groups: readonly Group[]
    readonly suggested_schema: string
  }
  const byColumn = new Map(groups.map(({ column, suggestion }) => [column, suggestion]))
  t.same(byColumn.get('n'), { type: 'Nullable(UInt32)', all_values: true, fix: "if(`n` IN ('null'), NULL, `n`)" })
  t.match(byColumn.get('at'), {
    type: 'Nullable(DateTime)',
    fix: /^if\(`at` IN \('N\/A', 'NULL'\)|^if\(`at` IN \('NULL', 'N\/A'\)/,
  })
  t.match(byColumn.get('w'), { type: /String/ }, 'texts beside them')
  t.notOk(byColumn.get('w')?.fix)
  t.match(suggested, /`n` Nullable\(UInt32\), `at` Nullable\(DateTime\), `s` Nullable\(Float64\)/)
  await service.create('sizes_2', 'k UInt32, n Nullable(UInt32), at Nullable(DateTime), s Nullable(Float64)')
  await service.append('sizes_2', 'csv', '1,null,NULL,1\n2,5,N/A,NA\n')
  const again = await service.call('GET', '/v0/datasources/sizes_2/quarantine/summary')
  const fixes = (again.json as { readonly groups: readonly Group[] }).groups.map(({ column, suggestion }) => [
    column,
    suggestion?.fix,
  ])
  t.equal(fixes.length, 3)
  const replay = await service.call('POST', '/v0/datasources/sizes_2/quarantine/replay', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ fixes: Object.fromEntries(fixes) }),
  })
  t.match(replay.json, { replayed_rows: 2, failed_rows: 0 })
  t.same(await service.rows('SELECT k, n, at, s FROM sizes_2 ORDER BY k'), [
    ['1', '\\N', '\\N', '1'],
    ['2', '5', '\\N', '\\N'],
  ])
})

t.test('keys that no column takes are told as new columns, in every answer with that field', async (t) => {
  await service.create('seen', 'id UInt32 `json:$.id`, meta String `json:$.meta`, page String')
  const shown = async () => {
    const [single, list] = [
      await service.call('GET', '/v0/datasources/seen'),
      await service.call('GET', '/v0/datasources?attrs=name,new_columns_detected'),
    ]
    // The shapes of a data source and of a list.
    const { datasources } = list.json as {
      readonly datasources: readonly { readonly name: string; readonly new_columns_detected: object }[]
    }
    return [
      (single.json as { readonly new_columns_detected: unknown }).new_columns_detected,
      datasources.find(({ name }) => name === 'seen')?.new_columns_detected,
    ]
  }
  await service.events('seen', '{"id":1,"meta":{"a":1},"page":"/"}')
  t.same(await shown(), [false, {}])
  await service.create('seen_2', 'id UInt32 `json:$.id`')
  await service.call('DELETE', '/v0/datasources/seen')
  await service.create('seen', 'id UInt32 `json:$.id`, meta String `json:$.meta`, page String')
  await service.events(
    'seen',
    '{"id":1,"meta":{"a":1},"page":"/","country":"de","user":{"age":3}}\n{"id":2,"country":null}',
  )
  const found = { country: 'Nullable(String)', user_age: 'Nullable(Int64)' }
  t.same(await shown(), [found, found])
  const alter = await service.call(
    'POST',
    `/v0/datasources/seen/alter?${new URLSearchParams({ schema: 'id UInt32 `json:$.id`, meta String `json:$.meta`, page String, country String `json:$.country`' })}`,
  )
  t.equal(alter.status, 200, alter.text)
  t.same(await shown(), [false, {}], 'another schema is looked at anew')
  const many = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`${'k'.repeat(20)}${index}`, 1]))
  await service.events('seen_2', JSON.stringify(many))
  const { json } = await service.call('GET', '/v0/datasources/seen_2')
  t.equal(Object.keys((json as { readonly new_columns_detected: object }).new_columns_detected).length, 50)
})

t.test(
  'a form that ends within its file ends the import and not the service, and a replace keeps the old rows',
  async (t) => {
    const schema = 'a UInt64 `json:$.a`, b String `json:$.b`'
    const files = {
      csv: { line: '7,new\n', torn: '12345,wh' },
      ndjson: { line: '{"a":7,"b":"new"}\n', torn: '{"a":12345' },
    } as const
    for (const [format, { line, torn }] of Object.entries(files)) {
      for (const mode of ['append', 'replace']) {
        for (const rowCount of [1, 3_000, 60_000]) {
          const name = `cut_${format}_${mode}_${rowCount}`
          await service.create(name, schema)
          await service.events(name, '{"a":1,"b":"old"}\n', { wait: 'true' })
          const head = `--b\r\nContent-Disposition: form-data; name="csv"; filename="a.${format}"\r\n\r\n`
          const answer = await service.call('POST', `/v0/datasources?name=${name}&mode=${mode}&format=${format}`, {
            body: `${head}${line.repeat(rowCount)}${torn}`,
            headers: { 'content-type': 'multipart/form-data; boundary=b' },
          })
          t.match(answer, { status: 400, json: { error: /unexpected end of multipart data/ } }, name)
          const counted = await service.rows(
            `SELECT countIf(b = 'old'), countIf(a = 7), countIf(a = 12345) FROM ${name}`,
          )
          const { invalid_lines: invalid = 0, quarantine_rows: aside = 0 } = answer.json as Record<string, number>
          t.strictSame([invalid, aside], [0, 0], name)
          t.strictSame(counted, [['1', mode === 'append' ? String(rowCount) : '0', '0']], name)
        }
      }
    }
  },
)
