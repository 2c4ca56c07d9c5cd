import { gzipSync } from 'node:zlib'
import { compress } from '@mongodb-js/zstd'
import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { packedMember, zipEnd } from '../support/zip-archive.ts'

const service = await openTestService(t, {})

const lines = '{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n'
const array = '[{"a":1,"b":"x"},\n {"a":2,"b":"y"}]'
const schema = 'a UInt8 `json:$.a`, b String `json:$.b`'
const types = ['', 'application/json', 'text/plain', 'application/x-www-form-urlencoded', 'application/octet-stream']

const packedName = (name: string, text: string): Buffer =>
  Buffer.concat([packedMember(name, Buffer.from(text)), zipEnd])

function headersOf(type: string): Record<string, string> {
  return type === '' ? {} : { 'content-type': type }
}

t.test('JSON is never taken for CSV, whatever the Content-Type says', async (t) => {
  await service.call('POST', `/v0/datasources?name=rows&schema=${encodeURIComponent(schema)}`)
  let rowCount = 0
  for (const type of types) {
    for (const [what, body] of Object.entries({
      lines,
      array,
      packed: gzipSync(lines),
      'packed array': gzipSync(array),
    })) {
      const answer = await service.call('POST', '/v0/datasources?name=rows&mode=append', {
        body,
        headers: headersOf(type),
      })
      t.match(
        answer,
        { status: 200, json: { error: false, imported_rows: 2, quarantine_rows: 0, invalid_lines: 0 } },
        `${what} as ${type}`,
      )
      rowCount += 2
    }
  }
  t.same(await service.rows('SELECT count(), sum(a), arrayStringConcat(arraySort(groupUniqArray(b))) FROM rows'), [
    [String(rowCount), String((rowCount / 2) * 3), 'xy'],
  ])
})

t.test('packed JSON of any size is known by its beginning', async (t) => {
  await service.call('POST', `/v0/datasources?name=sizes&schema=${encodeURIComponent(schema)}`)
  const same = Array.from({ length: 20_000 }, () => '{"a":1,"b":"x"}')
  const different = Array.from({ length: 5_000 }, (_, n) => JSON.stringify({ a: n % 200, b: Math.sin(n).toString(36) }))
  for (const records of [same, different]) {
    for (const body of [gzipSync(`${records.join('\n')}\n`), gzipSync(`[${records.join(',')}]`)]) {
      for (const headers of [{}, { 'content-encoding': 'gzip' }]) {
        const answer = await service.call('POST', '/v0/datasources?name=sizes&mode=append', { body, headers })
        t.match(answer, { status: 200, json: { error: false, imported_rows: records.length } }, answer.text.slice(-100))
      }
    }
  }
})

t.test('JSON inside of zstd and zip is known by what it unpacks to', async (t) => {
  await service.call('POST', `/v0/datasources?name=inside&schema=${encodeURIComponent(schema)}`)
  const different = Array.from({ length: 5_000 }, (_, n) => JSON.stringify({ a: n % 200, b: Math.sin(n).toString(36) }))
  const wide = JSON.stringify({ a: 1, b: 'x'.repeat(200_000) })
  let rowCount = 0
  for (const records of [['{"a":1,"b":"x"}', '{"a":2,"b":"y"}'], different, [wide, wide]]) {
    for (const text of [`${records.join('\n')}\n`, `\ufeff[${records.join(',\n')}]`]) {
      const bytes = Buffer.from(text)
      const zstd = await compress(bytes)
      const skipped = Buffer.concat([Buffer.from('502a4d1804000000', 'hex'), Buffer.from('skip'), zstd])
      const zip = Buffer.concat([packedMember('rows', bytes), zipEnd])
      const beside = packedMember('__MACOSX/._a.txt', Buffer.from('[{"'))
      const folder = Buffer.concat([
        packedMember('rows/', Buffer.of()),
        beside,
        packedMember('rows/a.txt', bytes),
        zipEnd,
      ])
      for (const [what, body, encoding] of [
        ['zstd', zstd],
        ['zstd by header', zstd, 'zstd'],
        ['zstd behind a frame to be skipped', skipped],
        ['zip', zip],
        ['zip with a folder', folder],
      ] as const) {
        const headers = encoding === undefined ? {} : { 'content-encoding': encoding }
        const answer = await service.call('POST', '/v0/datasources?name=inside&mode=append', { body, headers })
        t.match(answer, { status: 200, json: { imported_rows: records.length, quarantine_rows: 0 } }, what)
        rowCount += records.length
      }
    }
  }
  t.equal(await service.count('inside'), rowCount)
  const csv = {
    csv: await compress(Buffer.from('a,b\n1,x\n')),
    'a name': packedName('rows.csv', '{"a":1},x\n{"a":2},y\n'),
  }
  for (const [what, body] of Object.entries(csv)) {
    const answer = await service.call('POST', `/v0/datasources?name=${what.replace(' ', '_')}`, { body })
    t.match(answer, { status: 200, json: { datasource: { type: 'csv' } } }, `${what} stays CSV`)
  }
  const damaged = await service.call('POST', '/v0/datasources?name=inside&mode=append', {
    body: Buffer.concat([(await compress(Buffer.from(lines))).subarray(0, 12), Buffer.alloc(40, 7)]),
  })
  t.match(damaged, { status: 400, json: { error: /^The body is not valid zstd/ } })
})

t.test('NDJSON whose first line is broken is NDJSON, and so is one in UTF-16', async (t) => {
  const path = '/v0/datasources?name=broken&mode=append'
  const good = '{"a":2,"b":"x"}\n{"a":3,"b":"y"}\n'
  const marked = Buffer.from(`\ufeff{"a":1,"b":"é"}\n${good}`, 'utf16le')
  const bodies: readonly (readonly [what: string, body: Buffer, stored: number, invalid: number])[] = [
    ['a raw tab', Buffer.from(`{"a":1,"b":"a\tb"}\n${good}`), 2, 1],
    ['a line that is cut', Buffer.from(`{"a":1,\n${good}`), 2, 1],
    ['single quotes', Buffer.from(`{'a':1}\n${good}`), 2, 1],
    ['a bracket too much', Buffer.from(`{"a":1}}\n${good}`), 2, 1],
    ['a mark', Buffer.from(`\ufeff{"a":1,"b":"x}\n${good}`), 2, 1],
    ['UTF-16, little end first', marked, 3, 0],
    ['UTF-16, big end first', Buffer.from(marked).swap16(), 3, 0],
  ]
  for (const [what, body, stored, invalid] of bodies) {
    const zip = Buffer.concat([packedMember('rows', body), zipEnd])
    for (const sent of [body, gzipSync(body), await compress(body), zip]) {
      await service.create('broken', schema)
      const answer = await service.call('POST', path, { body: sent })
      t.match(
        answer,
        { status: 200, json: { imported_rows: stored, quarantine_rows: 0, invalid_lines: invalid } },
        what,
      )
      await service.call('DELETE', '/v0/datasources/broken?force=true')
    }
  }
})

t.test('an empty array is no row', async (t) => {
  await service.call('POST', `/v0/datasources?name=none&schema=${encodeURIComponent(schema)}`)
  const counts = { error: false, imported_rows: 0, quarantine_rows: 0, invalid_lines: 0 }
  for (const body of ['[]', ' [\n ]\r\n', '\ufeff[]\n', gzipSync('[]'), await compress(Buffer.from('[]'))]) {
    for (const format of ['', '&format=ndjson']) {
      const answer = await service.call('POST', `/v0/datasources?name=none&mode=append${format}`, { body })
      t.match(answer, { status: 200, json: counts }, `${body.toString('base64')} ${format}`)
    }
  }
  const more = await service.call('POST', '/v0/datasources?name=none&mode=append&format=ndjson', {
    body: '[]\n{"a":1,"b":"x"}\n',
  })
  t.match(more, { status: 200, json: { imported_rows: 1, invalid_lines: 1 } }, 'a line like others')
  const csv = await service.call('POST', '/v0/datasources?name=lists', { body: 'list\n[]\n[1]\n' })
  t.match(csv, { status: 200, json: { datasource: { type: 'csv' }, imported_rows: 2 } })
  t.match(await service.call('POST', '/v0/datasources?name=nothing', { body: '[]' }), { status: 400 })
})

t.test('a data source for JSON needs a schema, and the refusal proposes one', async (t) => {
  for (const body of [lines, array]) {
    const answer = await service.call('POST', '/v0/datasources?name=fresh', { body })
    t.match(answer, {
      status: 400,
      json: {
        error: 'Parameter "schema" is required to create a Data Source from ndjson',
        hint: /v0\/analyze.*: `a` Int64 `json:\$\.a`, `b` String `json:\$\.b`$/,
      },
    })
  }
  t.match(await service.call('GET', '/v0/datasources/fresh'), { status: 404 }, 'nothing was created')
  const query = `/v0/datasources?name=fresh&schema=${encodeURIComponent(schema)}`
  t.match(await service.call('POST', query, { body: array }), {
    status: 200,
    json: { error: false, datasource: { type: 'ndjson' }, imported_rows: 2 },
  })
})

t.test('CSV that looks like JSON at first stays CSV', async (t) => {
  const bodies = {
    numbers: '1\n2\n',
    quoted: '"id"\n1\n',
    truth: 'true\nfalse\n',
    objects: '{"a":1},x\n{"a":2},y\n',
    named: lines,
  }
  for (const [name, body] of Object.entries(bodies)) {
    const format = name === 'named' ? '&format=csv' : ''
    t.match(
      await service.call('POST', `/v0/datasources?name=csv_${name}${format}`, { body }),
      { status: 200, json: { datasource: { type: 'csv' } } },
      name,
    )
  }
})

t.test('what is no table says what it looks like', async (t) => {
  const pretty = JSON.stringify({ a: 1, b: { c: 2 } }, null, 2)
  for (const query of ['name=pretty', 'name=fresh&mode=append'])
    t.match(await service.call('POST', `/v0/datasources?${query}`, { body: pretty }), {
      status: 400,
      json: { error: /one JSON object over several lines.*format=json/ },
    })
  const form = new FormData()
  form.append('csv', new Blob([pretty]), 'event.json')
  const file = await service.call('POST', '/v0/datasources?name=fresh&mode=append', { body: form })
  t.match(file, { status: 400, json: { error: /one JSON object over several lines/ } }, 'as a file')
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const name of ['stocks.csv', './data/rows.ndjson.gz', 'events.parquet'])
    t.match(await service.call('POST', '/v0/datasources?name=file', { body: name, headers }), {
      status: 400,
      json: { error: new RegExp(`"${name}", a file name instead of the file.*@`) },
    })
})

t.test('a JSON object of parameters is the request, and any other one is rows', async (t) => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'made', schema: 'a UInt8, b String', description: 'by JSON' })
  t.match(await service.call('POST', '/v0/datasources', { body, headers }), {
    status: 200,
    json: { datasource: { name: 'made' } },
  })
  t.match(await service.call('GET', '/v0/datasources/made'), {
    json: { description: 'by JSON' },
  })
  t.same(await service.rows('SELECT a, b FROM made'), [])
  const event = await service.call('POST', '/v0/datasources?name=fresh&mode=append', {
    body: '{"name":"x","a":3,"b":"z"}',
    headers,
  })
  t.match(event, { status: 200, json: { imported_rows: 1 } }, 'with the name in the URL it is a row')
  const other = await service.call('POST', `/v0/datasources?schema=${encodeURIComponent(schema)}`, {
    body: '{"name":"x","a":3}',
    headers,
  })
  t.match(other, { status: 200, json: { datasource: { type: 'ndjson' } } }, 'a key that is no parameter makes it a row')
})
