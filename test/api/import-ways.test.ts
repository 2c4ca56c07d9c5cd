import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { type Answer, openTestService, severalWorkers } from '../support/api/test-service.ts'
import { repositoryRoot } from '../support/repository-root.ts'

const service = await openTestService(t, { ...severalWorkers, frameBytes: 4096, insertRowsMax: 100 })

const csv = `n,word\n${Array.from({ length: 300 }, (_, n) => `${n},"word ${n}, ${'é'.repeat(n % 5)}"\n`).join('')}`
const schema = 'n UInt32 `json:$.n`, word String `json:$.word`'

function archive(name: string): Buffer {
  return readFileSync(join(repositoryRoot, `fixtures/archives/${name}.zip`))
}

function formOf(file: Uint8Array, fileName: string, fields: Readonly<Record<string, string>> = {}): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  form.append('csv', new Blob([Uint8Array.from(file)]), fileName)
  return form
}

t.test('a packed file is known by its first bytes, in a form and as the body', async (t) => {
  const files = {
    'gzip file': gzipSync(csv),
    'zstd file': await compress(Buffer.from(csv)),
    'zip archive': archive('deflated'),
    'zip archive with its sizes behind': archive('streamed'),
    'zip archive with a folder': archive('folder'),
  }
  for (const [what, file] of Object.entries(files)) {
    for (const body of [formOf(file, 'upload'), file]) {
      const way = `${what}, ${body instanceof FormData ? 'in a form' : 'raw'}`
      const answer = await service.call('POST', '/v0/datasources?name=packed', { body })
      t.match(answer, { status: 200, json: { error: false, imported_rows: 300, datasource: { type: 'csv' } } }, way)
      const sums = await service.rows('SELECT sum(n), sum(length(word)), any(toTypeName(n)) FROM packed')
      t.same(sums, [['44850', '4090', 'Int32']], way)
      await service.call('DELETE', '/v0/datasources/packed')
    }
  }
})

t.test('the name of a packed file, or of what is in it, tells the format', async (t) => {
  await service.create('named', schema)
  const ndjson = gzipSync('{"n":1,"word":"a"}\n')
  const answer = await service.call('POST', '/v0/datasources?name=named&mode=append', {
    body: formOf(ndjson, 'rows.ndjson.gz'),
  })
  t.match(answer, { status: 200, json: { error: false, imported_rows: 1 } })
  const analyzed = await service.call('POST', '/v0/analyze', { body: formOf(archive('deflated'), 'upload') })
  t.match(analyzed, { status: 200, json: { analysis: { schema: '`n` Int32, `word` String' } } })
})

t.test('what is wrong with an archive is told, and nothing is created for it', async (t) => {
  const cases = [
    ['two-files', /^The zip archive cannot be imported: it has more than one file, "rows.csv" and "other.ndjson"/],
    ['encrypted', /^The zip archive cannot be imported: "rows.csv" in it is encrypted$/],
    ['bzip2', /^The zip archive cannot be imported: "rows.csv" is packed by method 12/],
    ['empty', /^The zip archive cannot be imported: it has no file$/],
  ] as const
  for (const [name, error] of cases) {
    const body = formOf(archive(name), `${name}.zip`)
    t.match(
      await service.call('POST', '/v0/datasources?name=refused', { body }),
      { status: 400, json: { error } },
      name,
    )
  }
  await service.create('untouched', schema)
  for (const format of ['csv', 'ndjson']) {
    const path = `/v0/datasources?name=untouched&mode=append&format=${format}`
    const answer = await service.call('POST', path, { body: archive('two-files') })
    t.match(answer, { status: 400, json: { error: /it has more than one file/, imported_rows: 0 } })
  }
  t.equal(await service.count('untouched'), 0, 'of several files not even the first rows are stored')
  t.same(readdirSync(join(service.dataDir, 'parts')), [])
  const cut = archive('deflated').subarray(0, 1000)
  const answer = await service.call('POST', '/v0/datasources?name=refused', { body: formOf(cut, 'rows.zip') })
  t.match(answer, { status: 400, json: { error: /^The body is not valid zip archive: / } })
  t.equal((await service.call('GET', '/v0/datasources/refused')).status, 404)
})

t.test('a form may have its parameters behind the file, and a form without a file only creates', async (t) => {
  const form = formOf(Buffer.from('1,a\n'), 'rows.csv')
  for (const [name, value] of Object.entries({ name: 'behind', schema, mode: 'append' })) form.append(name, value)
  const answer = await service.call('POST', '/v0/datasources', { body: form })
  t.match(answer, { status: 200, json: { imported_rows: 1, datasource: { name: 'behind' } } })
  const body = new URLSearchParams({ schema, engine_sorting_key: 'n' })
  const created = await service.call('POST', '/v0/datasources?name=formed', {
    body: body.toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  t.match(created, { status: 200, json: { imported_rows: 0, datasource: { engine: { sorting_key: 'n' } } } })
})

t.test('rows may be a field of a plain form, as curl -d makes it', async (t) => {
  const type = 'application/x-www-form-urlencoded'
  const send = (path: string, body: string): Promise<Answer> =>
    service.call('POST', `/v0/datasources?${path}`, { body, headers: { 'content-type': type } })
  t.match(await send('name=fielded', 'csv=n,s\n1,a b\n2,"c, d"\n'), { status: 200, json: { imported_rows: 2 } })
  const encoded = new URLSearchParams({ mode: 'append', name: 'fielded', csv: 'n,s\n3,é&x=1+1\n' })
  t.match(await send('', encoded.toString()), { status: 200, json: { imported_rows: 1 } })
  t.same(await service.rows('SELECT n, s FROM fielded ORDER BY n'), [
    ['1', 'a b'],
    ['2', 'c, d'],
    ['3', 'é&x=1+1'],
  ])
  t.match(await send('name=records', 'schema=n%20Int32%20`json:$.n`&ndjson={"n":1}'), {
    status: 200,
    json: { imported_rows: 1, datasource: { name: 'records' } },
  })
  t.match(await send('name=fielded&mode=append', 'csv=4,x&y\n5,z\n'), {
    status: 400,
    json: { error: /the form has a field "y.*", which is not a parameter; send the rows as the body, or encode them/s },
  })
  t.match(await send('name=fielded&mode=append', 'csv=4,x&ndjson={}'), {
    status: 400,
    json: { error: /may have only one field with rows/ },
  })
  t.equal((await send('name=fielded&mode=append', `csv=${'7,a\n'.repeat(3_000_000)}`)).status, 413)
  t.equal(await service.count('fielded'), 3)
})

t.test('an append creates what is missing, by guess, and refuses what it cannot create', async (t) => {
  const created = await service.append('appended', 'csv', csv)
  t.match(created, { status: 200, json: { error: false, imported_rows: 300, datasource: { name: 'appended' } } })
  t.match(await service.append('appended', 'csv', csv), { status: 200, json: { imported_rows: 300 } })
  const ndjson = await service.append('missing', 'ndjson', '{"n":1}\n')
  t.match(ndjson, { status: 400, json: { error: /"missing" does not exist, and parameter "schema" is required/ } })
  const join = { engine: 'Join', engine_join_strictness: 'ANY', engine_join_type: 'LEFT', engine_key_columns: 'n' }
  t.equal((await service.create('joined', schema, join)).status, 200)
  t.match(await service.append('joined', 'csv', csv), {
    status: 400,
    json: { error: 'Data Source "joined" has the engine Join, to which rows cannot be appended; use mode=replace' },
  })
  const sent = await service.call('POST', '/v0/events?name=joined', { body: '{"a":1}' })
  t.match(sent, { status: 400, json: { error: /^Data Source "joined" has the engine Join/ } })
})

interface StatusLine {
  readonly block_id: string
  readonly status: string
  readonly timestamp: number
}

t.test('whoever appends while the data source is being created waits for it', async (t) => {
  const bodies = ['a,b\n1,x\n', 'b,a\ny,2\n', 'a,b\n3,z\n', '{"a":4,"b":"w"}']
  const answers = await Promise.all(
    bodies.map((body) =>
      body.startsWith('{')
        ? service.events('at_once', body, { wait: 'true' })
        : service.call('POST', '/v0/datasources?mode=append&name=at_once', { body }),
    ),
  )
  for (const answer of answers) t.equal(answer.status, 200, answer.text)
  const rows = await service.rows('SELECT toString(a), toString(b) FROM at_once ORDER BY 1')
  t.same(
    rows,
    [
      ['1', 'x'],
      ['2', 'y'],
      ['3', 'z'],
      ['4', 'w'],
    ],
    'each value in its column, whoever was first',
  )
  const creates = await Promise.all(
    ['a\n1\n', 'a\n1\n'].map((body) => service.call('POST', '/v0/datasources?name=twice', { body })),
  )
  t.same(creates.map(({ status }) => status).toSorted(), [200, 409])
})

t.test('progress streams what becomes of each block, and ends with the import result', async (t) => {
  const path = '/v0/datasources?name=watched&progress=true&debug=blocks,block_log,hook_log'
  const body = `${csv}\n\n`
  const answer = await service.call('POST', path, { body, headers: { 'content-type': 'text/csv' } })
  t.equal(answer.status, 200, answer.text)
  t.equal(answer.headers.get('content-type'), 'application/x-ndjson; charset=UTF-8')
  const lines = answer.text.trimEnd().split('\n')
  const statuses = lines.slice(0, -1).map((line) => JSON.parse(line) as StatusLine) // As the specification has them.
  const result = JSON.parse(lines.at(-1) ?? '') as object
  t.match(result, {
    status: 200,
    imported_rows: 300,
    quarantine_rows: 0,
    datasource: { name: 'watched' },
    block_log: statuses,
    hook_log: [],
    blocks: [
      {
        block_id: statuses[0]?.block_id,
        process_return: [
          { parser: 'csv', lines: Number, quarantine: 0, invalid_lines: 0, time: Number, bytes: Number },
        ],
        processing_time: Number,
        processing_error: null,
        processing_error_type: null,
      },
    ],
  })
  t.equal(statuses[0]?.status, 'guessing')
  const { blocks } = result as { readonly blocks: readonly { readonly process_return: readonly BlockLine[] }[] } // As above.
  const sum = (of: (line: BlockLine) => number) =>
    blocks.reduce((total, { process_return: [line] }) => total + (line === undefined ? 0 : of(line)), 0)
  t.same([sum(({ lines }) => lines), sum(({ empty_lines }) => empty_lines)], [300, 2])
  t.equal(
    sum(({ bytes }) => bytes),
    Buffer.byteLength(body),
  )
  for (const id of new Set(statuses.map(({ block_id }) => block_id))) {
    const of = statuses.filter(({ block_id }) => block_id === id).map(({ status }) => status)
    const expected = ['processing', 'inserting_chunk:0', 'done_inserting_chunk:0', 'done']
    t.same(
      of.filter((status) => status !== 'guessing'),
      expected,
      id,
    )
  }
})

t.test('the report of a block counts what is wrong in it', async (t) => {
  const body = '1,a\nx,b\n\n"2\n\n",c\nonly\n'
  const answer = await service.call('POST', '/v0/datasources?name=watched&mode=append&debug=blocks', { body })
  t.match(answer, {
    status: 200,
    json: {
      imported_rows: 1,
      quarantine_rows: 3,
      invalid_lines: 1,
      blocks: [{ process_return: [{ lines: 4, quarantine: 3, invalid_lines: 1, empty_lines: 1 }] }],
    },
  })
})

interface BlockLine {
  readonly lines: number
  readonly empty_lines: number
  readonly bytes: number
}

t.test('progress tells of blocks while the body is still on its way', async (t) => {
  await service.create('streaming', schema)
  const client = await service.openRaw()
  t.teardown(() => client.socket.destroy())
  const row = '{"n":1,"word":"a"}\n'
  const path = '/v0/datasources?name=streaming&mode=append&format=ndjson&progress=true'
  client.send(service.head('POST', path, `Content-Length: ${5001 * row.length}`), row.repeat(5000))
  const text = await client.until((text) => text.includes('"done"'))
  t.match(text, /^HTTP\/1.1 200 OK\r\n/)
  t.notMatch(text, '"import_id"')
  client.send(row)
  await client.end()
  t.match(client.text, /"imported_rows":5001,"error":false/)
})

t.test('an import that fails behind its first status says so in the last line', async (t) => {
  const path = '/v0/datasources?name=streaming&mode=append&format=csv&progress=true'
  const packed = gzipSync('1,a\n'.repeat(100_000))
  const answer = await service.call('POST', path, {
    body: packed.subarray(0, packed.length - 20),
    headers: { 'content-encoding': 'gzip' },
  })
  t.equal(answer.status, 200)
  t.match(JSON.parse(answer.text.trimEnd().split('\n').at(-1) ?? ''), {
    status: 400,
    error: /^The body is not valid gzip/,
    documentation: String,
    imported_rows: Number,
  })
  const refused = await service.call('POST', '/v0/datasources?name=no-name!&progress=true', { body: csv })
  t.match(refused, { status: 400, json: { error: String } }, 'what is known before the first status has its own status')
})

t.test('debug gives what it names and nothing else', async (t) => {
  const answer = await service.append('appended', 'csv', csv)
  t.strictSame(
    Object.keys(answer.json as object).filter((key) => /block|hook/.test(key)),
    [],
  )
  const asked = await service.call('POST', '/v0/datasources?name=appended&mode=append&debug=hook_log', { body: csv })
  t.strictSame(
    Object.keys(asked.json as object).filter((key) => /block|hook/.test(key)),
    ['hook_log'],
  )
})
