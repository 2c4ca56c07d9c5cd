import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'
import { repositoryRoot } from '../support/repository-root.ts'

// A sample of its default size: several of the real files go on behind it.
const service = await openTestService(t, { sampleBytesMax: 262_144 })

type Parameters = Readonly<Record<string, string>>

function create(name: string, body: string | Uint8Array | FormData, more: Parameters = {}, headers: Parameters = {}) {
  const isText = typeof body === 'string' || body instanceof Uint8Array
  const type: Parameters = isText ? { 'content-type': 'text/csv' } : {}
  return service.call('POST', `/v0/datasources?${new URLSearchParams({ name, ...more })}`, {
    body,
    headers: { ...type, ...headers },
  })
}

function analyze(body: string | Uint8Array | FormData, more: Parameters = {}): Promise<Answer> {
  return service.call('POST', `/v0/analyze?${new URLSearchParams(more)}`, { body, headers: bodyType(body) })
}

function bodyType(body: string | Uint8Array | FormData): Parameters {
  return body instanceof FormData ? {} : { 'content-type': 'text/plain' }
}

async function schemaOf(name: string): Promise<string> {
  const { json } = await service.call('GET', `/v0/datasources/${name}`)
  // The shape of the answer is what other tests check.
  return (json as { readonly schema: { readonly sql_schema: string } }).schema.sql_schema
}

/** The rows of a data source as texts, NULL as an empty one. */
function rowsOf(name: string): Promise<readonly (readonly string[])[]> {
  return service.rows(`SELECT * FROM ${name} ORDER BY 1`)
}

function packageFile(name: string): Buffer {
  return readFileSync(join(repositoryRoot, 'node_modules/vega-datasets/data', name))
}

t.test('a file that was guessed can be appended once more', async (t) => {
  const bodies = {
    semicolons: 'Größe;Größe;;2nd\n1,5;2,5;x;1\n3,5;4,5;y;2\n',
    tabs: 'a\tb\n1\tx,y\n2\tz,w\n',
    bars: 'a|b\r\n1|"x\r\ny"\r\n2|z\r\n',
    'carriage returns': 'a,b\r1,x\r2,z\r',
    escapes: 'a,b\n1,"say \\"x\\", y"\n2,z\n',
    headerless: '1,2.5,x\n2,3.5,y\n',
  }
  const expected = {
    semicolons: [
      ['1,5', '2,5', 'x', '1'],
      ['3,5', '4,5', 'y', '2'],
    ],
    tabs: [
      ['1', 'x,y'],
      ['2', 'z,w'],
    ],
    bars: [
      ['1', 'x\\r\\ny'],
      ['2', 'z'],
    ],
    'carriage returns': [
      ['1', 'x'],
      ['2', 'z'],
    ],
    escapes: [
      ['1', 'say "x", y'],
      ['2', 'z'],
    ],
    headerless: [
      ['1', '2.5', 'x'],
      ['2', '3.5', 'y'],
    ],
  }
  for (const [what, body] of Object.entries(bodies)) {
    const answer = await create('again', body)
    t.match(answer, { status: 200, json: { error: false, imported_rows: 2, datasource: { type: 'csv' } } }, what)
    t.same(await rowsOf('again'), expected[what as keyof typeof expected], what) // A key of the other object.
    const appended = await service.append('again', 'csv', body)
    t.match(appended, { json: { error: false, imported_rows: 2, quarantine_rows: 0 } }, `${what}, once more`)
    t.equal(await service.count('again'), 4)
    await service.call('DELETE', '/v0/datasources/again')
  }
})

t.test('a body is the same in UTF-8, UTF-16 and Latin-1, raw, packed and in a form', async (t) => {
  const text = `stadt,größe\n${'Köln,1\nZürich,2\n'.repeat(20_000)}`
  const utf16le = Buffer.from(`\ufeff${text}`, 'utf16le')
  const utf16be = Buffer.from(utf16le).swap16()
  const form = new FormData()
  form.append('csv', new Blob([Buffer.from(text, 'latin1')]), 'rows.csv')
  const packed = { 'content-encoding': 'gzip' }
  const answers = {
    plain: () => create('cities', text),
    'with a mark': () => create('cities', `\ufeff${text}`),
    'UTF-16, little end first': () => create('cities', utf16le),
    'UTF-16, big end first': () => create('cities', utf16be),
    'Latin-1': () => create('cities', Buffer.from(text, 'latin1')),
    'Latin-1, packed': () => create('cities', gzipSync(Buffer.from(text, 'latin1')), {}, packed),
    'Latin-1, in a form': () => create('cities', form),
  }
  for (const [what, ask] of Object.entries(answers)) {
    const answer = await ask()
    t.match(answer, { status: 200, json: { error: false, imported_rows: 40_000 } }, what)
    t.equal(await schemaOf('cities'), '`stadt` String, `größe` Int32')
    t.same(
      await service.rows(
        'SELECT stadt, größe, count() FROM cities GROUP BY ALL ORDER BY 1'.replace('größe', '`größe`'),
      ),
      [
        ['Köln', '1', '20000'],
        ['Zürich', '2', '20000'],
      ],
      what,
    )
    await service.call('DELETE', '/v0/datasources/cities')
  }
})

t.test('carriage returns alone end records though cells hold line feeds', async (t) => {
  const text = `name,note\r${'ada,"one\ntwo"\rbob,"three"\r'.repeat(2_000)}`
  t.match(await create('returns', text), { status: 200, json: { error: false, imported_rows: 4_000 } })
  t.same(await service.rows('SELECT name, note, count() FROM returns GROUP BY ALL ORDER BY 1'), [
    ['ada', 'one\\ntwo', '2000'],
    ['bob', 'three', '2000'],
  ])
  t.match(await service.append('returns', 'csv', text), { status: 200, json: { imported_rows: 4_000 } })
  t.equal(await service.count('returns'), 8_000)
})

t.test('single quotes are quotes where a whole column has them, and apostrophes elsewhere', async (t) => {
  const rows = `1,'ann, the first','6" x 4"'\n2,'bob''s\ntwo',''\n3,'eve',plain\n`
  const text = `id,name,size\n${rows.repeat(20_000)}`
  const expected = [
    ['1', 'ann, the first', '6" x 4"', '20000'],
    ['2', "bob\\'s\\ntwo", '', '20000'],
    ['3', 'eve', 'plain', '20000'],
  ]
  const query = "SELECT id, name, ifNull(size, ''), count() FROM quoted GROUP BY ALL ORDER BY 1"
  t.match(await create('quoted', text), { status: 200, json: { error: false, imported_rows: 60_000 } })
  t.same(await service.rows(query), expected)
  await service.call('POST', '/v0/datasources/quoted/truncate')
  t.match(await service.append('quoted', 'csv', text), { status: 200, json: { imported_rows: 60_000 } })
  t.same(await service.rows(query), expected)
  t.match(await create('apostrophes', "name,note\nada,'tis\nbob,it's\n'eve','x, y\n"), {
    status: 200,
    json: { imported_rows: 2, quarantine_rows: 1 },
  })
  t.same(await service.rows('SELECT note FROM apostrophes ORDER BY name'), [["\\'tis"], ["it\\'s"]])
})

t.test('rows that contradict the guess go to quarantine, and short ones are counted as ever', async (t) => {
  const body = `n,word\n${'1,a\n'.repeat(20_000)}late,b\n2\n3,c,extra\n`
  const answer = await create('late', body)
  t.match(answer, { status: 200, json: { quarantine_rows: 2, invalid_lines: 1, imported_rows: 20_001 } })
  t.equal(await service.count('late_quarantine'), 2)
})

t.test('type_guessing=false makes all columns String', async (t) => {
  const answer = await create('texts', 'a,b,c\n1,,2026-01-01\n2,x,\n', { type_guessing: 'false' })
  t.match(answer, { status: 200, json: { error: false, imported_rows: 2 } })
  t.equal(await schemaOf('texts'), '`a` String, `b` String, `c` String')
  t.same(await rowsOf('texts'), [
    ['1', '', '2026-01-01'],
    ['2', 'x', ''],
  ])
})

t.test('what the sender says of the dialect is not guessed', async (t) => {
  const answer = await create('said', 'a;b,c\n1;2,x\n', { dialect_delimiter: ',', dialect_new_line: '\\n' })
  t.match(answer, { status: 200, json: { imported_rows: 1 } })
  t.equal(await schemaOf('said'), '`a_b` String, `c` String')
  const escaped = await create('escaped', 'a|b\n1|"x\\"|y"\n', { dialect_escapechar: '\\' })
  t.match(escaped, { status: 200, json: { imported_rows: 1 } })
  t.same(await rowsOf('escaped'), [['1', 'x"|y']])
})

t.test('any one character may stand between fields', async (t) => {
  const body = 'a§b§c\n1§"x§y"§2026-01-01\n2§z§never\n'
  for (const [encoding, name] of [
    ['utf8', 'sections'],
    ['latin1', 'latin_sections'],
    ['utf16le', 'wide_sections'],
  ] as const) {
    const bytes = Buffer.from(encoding === 'utf16le' ? `\ufeff${body}` : body, encoding)
    const created = await create(name, bytes, { dialect_delimiter: '§', schema: 'a Int32, b String, c Date' })
    t.match(created, { status: 200, json: { imported_rows: 1, quarantine_rows: 1 } }, encoding)
    t.same(await rowsOf(name), [[1, 'x§y', '2026-01-01']])
    const guessed = await create(`guessed_${name}`, bytes, { dialect_delimiter: '§' })
    t.match(guessed, { status: 200, json: { imported_rows: 2, quarantine_rows: 0 } }, encoding)
  }
  const dry = await create('planned_sections', body, { dialect_delimiter: '😀', dry: 'true' })
  t.match(dry, { status: 200, json: { dialect: { delimiter: '😀' }, schema: { length: 1 } } })
})

t.test('a dry run gives a schema that takes the same file, and changes nothing', async (t) => {
  const body = packageFile('la-riots.csv')
  const dry = await create('planned', body, { dry: 'true' })
  t.match(dry, {
    status: 200,
    json: {
      dialect: { delimiter: ',', has_header: 1, new_line: '\n' },
      data_distribution: { sampling: String, sharding_key: String },
      encoding: 'utf-8',
    },
  })
  const { sql_schema, schema } = dry.json as { readonly sql_schema: string; readonly schema: readonly object[] } // As above.
  t.match(schema[2], { auto: true, nullable: true, type: 'Int32', name: 'age', normalized_name: 'age' })
  t.equal((await service.call('GET', '/v0/datasources/planned')).status, 404)
  await service.create('planned', sql_schema)
  t.match(await service.append('planned', 'csv', body), {
    json: { error: false, quarantine_rows: 0, imported_rows: 63 },
  })
  const ndjson = await create('nothing', '{"a":1}\n', { dry: 'true', format: 'ndjson' })
  t.match(ndjson, { status: 200, json: { sql_schema: '`a` Int64 `json:$.a`', dialect: { has_header: 0 } } })
})

t.test('analyze gives columns, a schema that works, and the first rows of NDJSON', async (t) => {
  const body = '{"id":1,"user":{"name":"ö"},"tags":["a"]}\n{"id":2,"user":null,"tags":[]}\nno json\n'
  const form = new FormData()
  form.append('ndjson', new Blob([body]), 'rows.ndjson')
  for (const answer of [await analyze(body), await analyze(body, { format: 'ndjson' }), await analyze(form)]) {
    t.match(answer, {
      status: 200,
      json: {
        analysis: {
          columns: [
            { path: '$.id', recommended_type: 'Int64', present_pct: 1, name: 'id' },
            { path: '$.user.name', recommended_type: 'Nullable(String)', present_pct: 0.5, name: 'user_name' },
            { path: '$.tags[:]', recommended_type: 'Array(String)', present_pct: 1, name: 'tags' },
          ],
        },
        preview: {
          meta: [{ name: 'id', type: 'Int64' }, { name: 'user_name' }, { name: 'tags' }],
          data: [
            { id: 1, user_name: 'ö', tags: ['a'] },
            { id: 2, user_name: null, tags: [] },
          ],
          rows: 2,
          statistics: { rows_read: 2, bytes_read: Buffer.byteLength(body) },
        },
      },
    })
    const { schema } = (answer.json as { readonly analysis: { readonly schema: string } }).analysis // As above.
    await service.create('analyzed', schema)
    const appended = await service.append('analyzed', 'ndjson', body)
    t.match(appended, { json: { imported_rows: 2, quarantine_rows: 0, invalid_lines: 1 } })
    await service.call('DELETE', '/v0/datasources/analyzed')
  }
})

t.test('analyze takes real NDJSON, and its schema sets no row aside', async (t) => {
  for (const file of ['earthquakes', 'flights-2k', 'movies']) {
    const body = readFileSync(join(repositoryRoot, `fixtures/ndjson/${file}.ndjson`))
    const answer = await analyze(body)
    t.equal(answer.status, 200, answer.text)
    const { schema } = (answer.json as { readonly analysis: { readonly schema: string } }).analysis // As above.
    await service.create('real', schema)
    const rowCount = body.toString().trimEnd().split('\n').length
    const appended = await service.append('real', 'ndjson', body)
    t.match(appended, { json: { imported_rows: rowCount, quarantine_rows: 0, invalid_lines: 0 } }, file)
    await service.call('DELETE', '/v0/datasources/real')
  }
})

t.test('analyze takes CSV in every way', async (t) => {
  const body = 'Name;Größe\nA;1\nB;\n'
  const form = new FormData()
  form.append('csv', new Blob([Buffer.from(body, 'latin1')]), 'rows.csv')
  for (const answer of [await analyze(body), await analyze(Buffer.from(body, 'latin1')), await analyze(form)]) {
    t.match(answer, {
      status: 200,
      json: {
        analysis: {
          columns: [
            { path: 'Name', recommended_type: 'String', present_pct: 1, name: 'name' },
            { path: 'Größe', recommended_type: 'Nullable(Int32)', present_pct: 0.5, name: 'größe' },
          ],
          schema: '`name` String, `größe` Nullable(Int32)',
        },
        preview: {
          data: [
            { name: 'A', größe: 1 },
            { name: 'B', größe: null },
          ],
        },
      },
    })
  }
})

t.test('a line that tells the separator is followed, and is no row', async (t) => {
  const body = '\ufeffsep=|\r\nName|Price, net\r\nA|1\r\nB|2\r\n'
  t.match((await create('told', body)).json, { imported_rows: 2, quarantine_rows: 0 })
  t.equal(await schemaOf('told'), '`name` String, `price_net` Int32')
  t.match((await create('told', body, { mode: 'append' })).json, { imported_rows: 2, quarantine_rows: 0 })
  t.match((await create('told', 'sep=;\nC;3\n', { mode: 'append' })).json, { imported_rows: 1, quarantine_rows: 0 })
  t.same(await rowsOf('told'), [
    ['A', '1'],
    ['A', '1'],
    ['B', '2'],
    ['B', '2'],
    ['C', '3'],
  ])
})

t.test('a record that nests too deep for the import is none for the guess either', async (t) => {
  const deep = `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`
  t.match(await analyze(`${deep}\n{"b":1}\n`, { format: 'ndjson' }), {
    status: 200,
    json: { analysis: { schema: '`b` Int64 `json:$.b`' } },
  })
  t.match(await analyze(deep, { format: 'ndjson' }), { status: 400, json: { error: /nested deeper than 500 levels/ } })
})

t.test('integers of 64 bits keep their digits, also when some are larger than others', async (t) => {
  const body = '{"id":18446744073709551615}\n{"id":9223372036854775808}\n{"id":1}\n'
  const { json } = await analyze(body, { format: 'ndjson' })
  // The shape is what the tests above check.
  const { schema } = (json as { readonly analysis: { readonly schema: string } }).analysis
  t.match((await create('large_ids', body, { schema, format: 'ndjson' })).json, {
    imported_rows: 3,
    quarantine_rows: 0,
  })
  t.same(await rowsOf('large_ids'), [['1'], ['9223372036854775808'], ['18446744073709551615']])
})

t.test('what cannot be guessed is refused with the reason, and nothing is created', async (t) => {
  const before = (await service.call('GET', '/v0/datasources?attrs=name')).text
  const cases: readonly (readonly [answer: Promise<Answer>, status: number, message: RegExp])[] = [
    [create('refused', '\n\n'), 400, /no row to guess the columns from/],
    [create('refused', Buffer.from('a,b\n1,\0\n')), 400, /not valid CSV: it holds zero bytes/],
    [
      create('refused', '{"a":1}\n', { format: 'ndjson' }),
      400,
      /"schema" is required to create a Data Source from ndjson/,
    ],
    [create('refused', 'a,b\n', { dialect_new_line: 'x' }), 400, /"dialect_new_line" is "x", but must be/],
    [create('refused', 'a,b\n', { dialect_delimiter: 'xy' }), 400, /"dialect_delimiter" is "xy"/],
    [create('refused', 'a,b\n', { type_guessing: 'perhaps' }), 400, /"type_guessing" is "perhaps"/],
    [create('refused', 'a,b\n', { engine: 'MergeTree' }), 400, /needs the parameter "schema"/],
    [create('refused', 'no gzip', {}, { 'content-encoding': 'gzip' }), 400, /not valid gzip/],
    [create('said', 'a,b\n'), 409, /already a Data Source/],
    [create('refused', `${Array.from({ length: 501 }, (_, n) => `c${n}`).join()}\n`), 400, /more than 500 columns/],
    [service.call('POST', '/v0/datasources?name=refused&dry=true'), 400, /no body/],
    [service.call('POST', '/v0/analyze'), 400, /nothing to analyze/],
    [analyze('a,b\n', { format: 'xml' }), 400, /"xml" is not supported; use one of csv, ndjson, parquet/],
    [analyze('a,b\n', { format: 'parquet' }), 400, /not valid Parquet file: it does not begin with PAR1/],
    [analyze('[1]\n', { format: 'ndjson' }), 400, /no JSON object to guess/],
    [analyze('\n'), 400, /no row to guess/],
    [service.call('POST', '/v0/analyze', { body: 'a,b\n', token: null }), 403, /No token/],
  ]
  for (const [asked, status, message] of cases) {
    const answer = await asked
    t.match(answer, { status, json: { error: message } }, String(message))
  }
  t.equal((await service.call('GET', '/v0/datasources?attrs=name')).text, before)
})

t.test('a body without a name and a schema makes a data source of its own', async (t) => {
  const form = new FormData()
  form.append('csv', new Blob(['a,b\n1,x\n']), 'rows.csv')
  const answer = await service.call('POST', '/v0/datasources', { body: form })
  t.match(answer, { status: 200, json: { imported_rows: 1, datasource: { name: String, type: 'csv' } } })
})

t.test('integers that no type of 64 bits holds are texts, in JSON as in CSV', async (t) => {
  const long = '18446744073709551616'
  const records = `{"id":${long},"m":${long},"l":[1,${long}],"s":"${long}","u":18446744073709551615}\n{"id":1,"m":1.5,"l":[],"s":"a","u":0}\n`
  const guessed = await analyze(records, { format: 'ndjson' })
  t.match(guessed.json, {
    analysis: {
      schema:
        '`id` String `json:$.id`, `m` Float64 `json:$.m`, `l` Array(String) `json:$.l[:]`, `s` String `json:$.s`, `u` UInt64 `json:$.u`',
    },
    preview: { data: [{ id: long, m: Number(long), s: long }, { id: '1' }] },
  })
  t.match((await analyze(`id,m\n${long},${long}\n1,1.5\n`)).json, {
    analysis: { schema: '`id` String, `m` Float64' },
  })
  await service.events('long_ids', `{"id":${long}}\n{"id":7}\n`, { wait: 'true' })
  t.same(await service.rows('SELECT id FROM long_ids ORDER BY id'), [[long], ['7']])
})

t.test('more columns than a Data Source takes are refused before they are recommended', async (t) => {
  const header = (count: number): string => Array.from({ length: count }, (_, index) => `c${index}`).join(',')
  const rows = (count: number): string => `${header(count)}\n${header(count).replaceAll('c', '')}\n`
  const refused = {
    status: 400,
    json: { error: /^The rows need more than 500 columns; create the Data Source with a "schema"/ },
  }
  t.match(await analyze(rows(500)), { status: 200 })
  const answers = [
    await analyze(rows(501)),
    await create('too_wide', rows(501), { dry: 'true' }),
    await create('too_wide', rows(501)),
  ]
  for (const answer of answers) t.match(answer, refused)
  t.equal(new Set(answers.map(({ text }) => text)).size, 1, 'in the same words')
})

t.test('blanks around quoted cells are passed over, by the guess and by the rows', async (t) => {
  const body = 'id, name, note\n1, "y, z" ,"a"\n2 , "line\nbreak", "say ""hi"""\n3, bare, "c"\n'
  t.match((await analyze(body)).json, { analysis: { schema: '`id` Int32, `name` String, `note` String' } })
  t.match(await create('spaced', body), {
    status: 200,
    json: { imported_rows: 3, quarantine_rows: 0, invalid_lines: 0 },
  })
  const typed = '"4" , "2024-01-02"\n "5","2024-01-03" \n'
  await service.create('spaced_types', 'n Int32, day Date')
  t.match(await service.append('spaced_types', 'csv', typed), {
    status: 200,
    json: { imported_rows: 2, invalid_lines: 0 },
  })
  t.same(await rowsOf('spaced'), [
    ['1', 'y, z', 'a'],
    ['2', 'line\\nbreak', 'say "hi"'],
    ['3', ' bare', 'c'],
  ])
  t.same(await rowsOf('spaced_types'), [
    ['4', '2024-01-02'],
    ['5', '2024-01-03'],
  ])
})

t.test('the cuts of the network do not decide in which encoding a CSV is read', async (t) => {
  const ascii = '1,ascii ascii ascii ascii ascii ascii ascii ascii ascii ascii ascii ascii ascii ascii ascii\n'
  const start = Buffer.from(`id,s\n${'0,é\n'.repeat(5)}${ascii.repeat(3_000)}`)
  const body = Buffer.concat([start, Buffer.from('2,café\n'.repeat(500), 'latin1')])
  const form = new FormData()
  form.append('csv', new Blob([body]), 'rows.csv')
  const packed = gzipSync(body)
  const ways: Readonly<Record<string, () => FormData | ReadableStream | Uint8Array>> = {
    'one piece': () => body,
    'pieces of 7 bytes': () => piecesOf(body, 7, 262_144 - 700),
    'pieces of 64 KiB': () => piecesOf(body, 65_536, 0),
    'cut at the sample': () => piecesOf(body, 262_144, 0),
    form: () => form,
    gzip: () => packed,
  }
  const found = new Map<string, string[]>()
  for (const [way, open] of Object.entries(ways)) {
    for (const query of ['mode=append', '']) {
      const sent = open()
      await service.call('DELETE', '/v0/datasources/cut?force=true')
      if (query === 'mode=append') await service.create('cut', 'id Int32, s String')
      const path = `/v0/datasources?name=cut&${query}${sent instanceof FormData ? '' : '&format=csv'}`
      const answer = await service.call('POST', path, { body: sent })
      const { imported_rows, quarantine_rows } = answer.json as { imported_rows: number; quarantine_rows: number }
      const [[letters = ''] = []] = await service.rows(`SELECT groupUniqArray(s) FROM cut WHERE id = 0`)
      const told = JSON.stringify([imported_rows, quarantine_rows, letters])
      found.set(told, [...(found.get(told) ?? []), `${way} ${query}`])
    }
  }
  t.equal(found.size, 1, JSON.stringify([...found]))
})

/** The first bytes as one piece, then pieces of this length. */
function piecesOf(bytes: Uint8Array, byteCount: number, firstBytes: number): ReadableStream {
  let offset = 0
  return new ReadableStream({
    pull(controller) {
      const end = offset === 0 && firstBytes > 0 ? firstBytes : offset + (offset > 264_000 ? 65_536 : byteCount)
      controller.enqueue(bytes.subarray(offset, end))
      offset = end
      if (offset >= bytes.length) controller.close()
    },
  })
}
