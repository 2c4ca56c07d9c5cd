// First lines of bodies without a schema: a row is no header, a header no row, and what is no table makes no Data Source.
import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { parquetSaying } from '../support/parquet-footers.ts'

const service = await openTestService(t)

interface ImportAnswer {
  readonly error: string | false
  readonly hint?: string
  readonly warnings?: readonly string[]
  readonly imported_rows?: number
}

async function post(path: string, body: Uint8Array | string, headers: Record<string, string> = {}) {
  const { status, json } = await service.call('POST', path, { body, headers })
  // The shape of an import's answer.
  return { status, ...(json as ImportAnswer) }
}

async function isCreated(name: string): Promise<boolean> {
  return (await service.call('GET', `/v0/datasources/${name}`)).status === 200
}

t.test('a table with years for names has them as names', async (t) => {
  const body = 'Country,2019,2020,2021\nFrance,1,2,3\nSpain,4,5,\n'
  t.match(await post('/v0/datasources?name=wide', body), { status: 200, imported_rows: 2 })
  t.same(await service.rows('SELECT country, _2019, _2021 FROM wide ORDER BY country'), [
    ['France', '1', '3'],
    ['Spain', '4', '\\N'],
  ])
  t.match(await post('/v0/datasources?name=wide&mode=append', body), { status: 200, imported_rows: 2 })
})

t.test('no line of a log is lost as a header', async (t) => {
  const logs = {
    common: [
      '127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326',
      '127.0.0.1 - - [10/Oct/2000:13:55:37 -0700] "GET /b.gif HTTP/1.0" 404 5',
    ],
    times: ['2026-01-01T00:00:00Z INFO  started', '2026-01-01T00:00:01Z ERROR failed: x=1'],
    addresses: ['10.0.0.1,web1', '10.0.0.2,web2', '10.0.0.3,web3'],
  }
  for (const [name, lines] of Object.entries(logs)) {
    const answer = await post(`/v0/datasources?name=${name}`, `${lines.join('\n')}\n`)
    t.match(answer, { status: 200, imported_rows: lines.length }, name)
    t.match(await service.rows(`SELECT min(column_1) FROM ${name}`), [[lines[0]?.split(',')[0]]], name)
  }
})

t.test('JSON that is no table is refused by what it is, packed or not, and nothing is created', async (t) => {
  const geo = `{"type":"FeatureCollection","features":[{"type":"Feature","id":1},\n${'{"type":"Feature","id":2},\n'.repeat(9000)}{"id":3}]}`
  const cases: readonly (readonly [body: string, error: RegExp])[] = [
    ['{"a":1},\n{"a":2},\n{"a":3}\n', /JSON objects with a comma after each line/],
    ['{"a":1},\n'.repeat(20_000), /JSON objects with a comma after each line/],
    ['[1,"x"]\n[2,"y"]\n', /JSON arrays, whose values have no names/],
    ['[[1,"x"],[2,"y"]]', /JSON arrays, whose values have no names/],
    [geo, /one JSON object over several lines/],
  ]
  for (const [body, error] of cases) {
    for (const bytes of [Buffer.from(body), gzipSync(body), await compress(Buffer.from(body))]) {
      t.match(await post('/v0/datasources?name=none', bytes), { status: 400, error }, body.slice(0, 40))
      t.notOk(await isCreated('none'), body.slice(0, 40))
    }
    t.match(await post('/v0/datasources?name=none&format=csv', body), { status: 200 }, 'said to be CSV')
    await service.call('DELETE', '/v0/datasources/none')
  }
})

t.test('what is inside of a packing is known as it is outside', async (t) => {
  const html = '<!DOCTYPE html><html><body>404</body></html>'
  const tar = Buffer.alloc(1024)
  tar.write('a.csv', 0)
  tar.write('ustar', 257)
  const cases: readonly (readonly [body: Uint8Array, error: RegExp])[] = [
    [gzipSync(html), /a page of HTML/],
    [await compress(Buffer.from(html)), /a page of HTML/],
    [gzipSync(tar), /a tar archive/],
    [gzipSync(gzipSync('a,b\n1,2\n')), /compressed twice/],
    [Buffer.from('89504e470d0a1a0a0000', 'hex'), /a picture/],
  ]
  for (const [body, error] of cases) {
    t.match(await post('/v0/datasources?name=none', body), { status: 400, error }, String(error))
    t.notOk(await isCreated('none'), String(error))
  }
  const twice = await post('/v0/datasources?name=none', gzipSync(gzipSync('a\n1\n')), { 'content-encoding': 'gzip' })
  t.match(twice, { status: 400, error: /compressed twice/ })
})

t.test('a Parquet file is known inside of gzip and zstd', async (t) => {
  const file = Buffer.from(parquetSaying([{ rowCount: 1 }]))
  for (const body of [gzipSync(file), await compress(file)]) {
    t.match(await post('/v0/datasources?name=packed', body), {
      status: 400,
      error: /required to create a Data Source from parquet/,
    })
  }
})

t.test('the name of a file is told as one, with @ in front too', async (t) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const body of ['@rows.csv', '@./exports/2026_01.xlsx', '@C:\\logs\\a.log.gz', '../rows.ndjson'])
    t.match(
      await post('/v0/datasources?name=none', body, headers),
      { status: 400, error: /a file name instead of the file/ },
      body,
    )
  t.notOk(await isCreated('none'))
  // A row may be such a name.
  await service.create('names', 'name String')
  for (const body of ['rows.csv\n', 'access.log', 'anna@rows.csv'])
    t.match(
      await post('/v0/datasources?name=names&mode=append', body, headers),
      { status: 200, imported_rows: 1 },
      body,
    )
})

t.test('a title above the header is told', async (t) => {
  const told = async (body: string) => {
    const { warnings } = await post('/v0/datasources?name=titled', body)
    await service.call('DELETE', '/v0/datasources/titled')
    return warnings ?? []
  }
  const rows = 'day,store,amount\n2026-01-01,a,1\n2026-01-02,b,2\n'
  for (const title of ['Monthly report\nMade 2026-01-01\n\n', 'Monthly report,,\n,,\n', '# exported 2026\n'])
    t.match(await told(`${title}${rows}`), [/names 1 of 3 columns: ".*If it is a title/], title)
  t.same(await told(rows), [])
  t.same(await told('a,b,\n1,2,\n'), [])
  t.same(await told('name\nx\ny\n'), [])
})

t.test('a replay leaves a record with cells of no column where it is, unless a fix reads its text', async (t) => {
  await service.create('cells', 'n UInt32, city String')
  const body = '1,Rome\n2,Washington,DC\n3\n'
  await service.call('POST', '/v0/datasources?name=cells&mode=append', { body })
  const replay = async (order: object) =>
    (await service.call('POST', '/v0/datasources/cells/quarantine/replay', { body: JSON.stringify(order) })).json
  t.match(await replay({}), { selected_rows: 1, replayed_rows: 0 })
  t.match(await replay({ condition: "n = '2'", fixes: { city: 'upper(city)' } }), { selected_rows: 0 })
  t.equal(await service.count('cells_quarantine'), 2)
  const city = "arrayStringConcat(arraySlice(splitByChar(',', splitByString(': ', c__error[1])[2]), 2), ', ')"
  t.match(await replay({ condition: "n = '2'", fixes: { city } }), { selected_rows: 1, replayed_rows: 1 })
  t.same(await service.rows('SELECT n, city FROM cells ORDER BY n'), [
    ['1', 'Rome'],
    ['2', 'Washington, DC'],
  ])
})

t.test('a word of the template language for a parameter is told', async (t) => {
  for (const word of ['from', 'in', 'class', 'is', 'global']) {
    const sql = `%\nSELECT {{String(${word}, 'x')}} AS x`
    const { json } = await service.call('POST', '/v0/pipes', {
      body: JSON.stringify({ name: 'p', nodes: [{ name: 'n', sql }] }),
    })
    t.match(
      json,
      { error: /Syntax error: invalid syntax/, hint: new RegExp(`'${word}' is a word of the template language`) },
      word,
    )
  }
})
