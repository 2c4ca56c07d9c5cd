import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'

// Nothing of a body is dropped without its text: what is no row stands in the quarantine, its bytes included.

const service = await openTestService(t, { sampleBytesMax: 4096 })

interface Loaded {
  readonly imported: number
  readonly quarantined: number
  readonly invalid: number
  /** The columns that are wrong, with the reasons, of each row set aside. */
  readonly reasons: readonly string[]
}

async function load(schema: string, format: 'csv' | 'ndjson', body: Buffer | string, more = ''): Promise<Loaded> {
  await service.create('kept', schema)
  const path = `/v0/datasources?mode=append&format=${format}&name=kept${more}`
  const answer = await service.call('POST', path, { body: Buffer.from(body) })
  t.equal(answer.status, 200, answer.text)
  const counts = answer.json as Readonly<Record<string, number>>
  const rows = await service.rows("SELECT arrayStringConcat(c__error, '; ') AS r FROM kept_quarantine ORDER BY r")
  return {
    imported: await service.count('kept'),
    quarantined: counts['quarantine_rows'] ?? -1,
    invalid: counts['invalid_lines'] ?? -1,
    reasons: rows.map(([reason = '']) => reason),
  }
}

const drop = () => service.call('DELETE', '/v0/datasources/kept')
const noObject = (text: string): string => `record is not a JSON object: ${text}`
const nested = `{"n":1,"x":${'['.repeat(501)}${']'.repeat(501)}}`

t.test(
  'an invalid line of NDJSON stands in the quarantine with its text, and counts in invalid_lines alone',
  async (t) => {
    const lines = [
      '{"n":1}',
      '{"n":2,"s":"a\tb"}',
      '{"n":3,"s":"\0"}',
      '{"n":4,',
      '[5]',
      '{"n":6} {"n":7}',
      nested,
      '\0',
      'true',
    ]
    const found = await load('n UInt32 `json:$.n`', 'ndjson', `${lines.join('\n')}\n{"n":"x"}\n{"n":8`)
    t.same(
      { ...found, reasons: [...found.reasons].sort() },
      {
        imported: 1,
        quarantined: 1,
        invalid: 9,
        reasons: [
          ...[...lines.slice(1), '{"n":8'].map((line) =>
            noObject(line.replaceAll('\t', '\\t').replaceAll('\0', '\\0')),
          ),
          "value \\'x\\' on column \\'n\\' is not UInt32",
        ].sort(),
      },
    )
    const summary = await service.call('GET', '/v0/datasources/kept/quarantine/summary')
    t.match(summary.json, {
      quarantine_rows: 10,
      groups: [{ reason: 'record is not a JSON object', rows: 9 }, { rows: 1 }],
    })
    await drop()
  },
)

t.test('a byte that is no UTF-8 is kept, in keys that nobody reads too', async (t) => {
  const body = Buffer.from('{"n":1,"é":2}\n{"n":2,"s":"50 % \xe9"}\n{"n":3}\n', 'latin1')
  const { imported, invalid, quarantined, reasons } = await load('n UInt32 `json:$.n`', 'ndjson', body)
  t.same([imported, invalid, quarantined], [1, 2, 0])
  t.same(reasons, ['record is not valid UTF-8: {"n":1,"%E9":2}', 'record is not valid UTF-8: {"n":2,"s":"50 %25 %E9"}'])
  await drop()
})

t.test('a record of CSV with text behind a quote, or with cells of no column, is kept whole', async (t) => {
  const body = '1,a\n2,"b"c\n3,d,more\n4\n5,"e""" f,\n'
  const found = await load('n UInt32, s String', 'csv', body)
  t.same(found, {
    imported: 1,
    quarantined: 2,
    invalid: 3,
    reasons: [
      'record has 1 of 2 fields',
      'record has 3 fields instead of 2: 3,d,more',
      'text stands behind a closing quote: 2,"b"c',
      'text stands behind a closing quote: 5,"e""" f,',
    ],
  })
  await drop()
})

t.test('a long line is kept in whole', async (t) => {
  const text = `[${'x'.repeat(300_000)}`
  const { reasons } = await load('n UInt32 `json:$.n`', 'ndjson', `{"n":1}\n${text}\n`)
  t.same(reasons, [noObject(text)])
  await drop()
})

t.test('one pair of bytes that is UTF-8 by chance leaves a Latin-1 file Latin-1', async (t) => {
  const rows = Array.from({ length: 1000 }, (_, n) => `${n},${n === 500 ? '«CAFÉ»' : 'café'}\n`)
  for (const order of [rows, [rows[500], ...rows], [...rows, rows[500]]]) {
    const text = `n,s\n${order.join('')}`
    const found = await load('n UInt32, s String', 'csv', Buffer.from(text, 'latin1'))
    t.match(found, { imported: order.length, quarantined: 0, invalid: 0 })
    t.same(await service.rows("SELECT count(), uniqExact(s) FROM kept WHERE s IN ('café', '«CAFÉ»')"), [
      [String(order.length), '2'],
    ])
    await drop()
  }
  const late = `n,s\n${'1,plain\n'.repeat(2000)}2,É»\n${'3,café\n'.repeat(2000)}`
  t.match(await load('n UInt32, s String', 'csv', Buffer.from(late, 'latin1')), { imported: 4001, quarantined: 0 })
  t.same(await service.rows("SELECT countIf(s = 'café'), countIf(s = 'É»') FROM kept"), [['2000', '1']])
  await drop()
})

t.test('values that are no UTF-8 are escaped, stay so in a replay, and go in by a fix', async (t) => {
  const good = 'é,ü\n'.repeat(200)
  const body = Buffer.concat([
    Buffer.from(`s,u\n${good}%E9,x\n`),
    Buffer.from('100%E9 caf\xe9,\xe8 %41\n"a\xff""b",ok\nshort\xe9\nx,y,\xe9z\n', 'latin1'),
  ])
  const found = await load('s String, u String', 'csv', body)
  t.match(found, { imported: 201, quarantined: 4, invalid: 1 })
  const values = 'SELECT s, u, c__error_column FROM kept_quarantine ORDER BY s'
  const kept = [
    ['100%25E9 caf%E9', '%E8 %2541', "['s','u']"],
    ['a%FF"b', 'ok', "['s']"],
    ['short%E9', '\\N', "['','s']"],
    ['x', 'y', "['']"],
  ]
  t.same(await service.rows(values), kept)
  t.ok(found.reasons.includes('record has 3 fields instead of 2 (not valid UTF-8): x,y,%E9z'), found.reasons.join('\n'))
  const replay = (order: object) =>
    service.call('POST', '/v0/datasources/kept/quarantine/replay', { body: JSON.stringify(order) })
  const condition = "s != 'x'"
  t.match((await replay({ condition })).json, { selected_rows: 3, replayed_rows: 0, failed_rows: 3 })
  t.same(await service.rows(values), kept)
  const fixed = (column: string) =>
    `if(has(c__error_column, '${column}'), convertCharset(decodeURLComponent(${column}), 'windows-1252', 'UTF-8'), ${column})`
  const fixes = { s: fixed('s'), u: fixed('u') }
  t.match((await replay({ condition: "s NOT IN ('x') AND u IS NOT NULL", fixes })).json, { replayed_rows: 2 })
  t.same(await service.rows("SELECT s, u FROM kept WHERE s NOT IN ('é', '%E9') ORDER BY s"), [
    ['100%E9 café', 'è %41'],
    ['aÿ"b', 'ok'],
  ])
  await drop()
})

t.test('a replay makes no rows of records of which nothing could be read, unless a fix reads their text', async (t) => {
  await load(
    'n Nullable(UInt32) `json:$.n`, s Nullable(String) `json:$.s`',
    'ndjson',
    '{"n":1,"s":"a\tb"}\n{"n":"x"}\n',
  )
  const replay = (fixes: object) =>
    service.call('POST', '/v0/datasources/kept/quarantine/replay', { body: JSON.stringify({ fixes }) })
  t.match((await replay({})).json, { selected_rows: 1, replayed_rows: 0, failed_rows: 1 })
  t.match((await replay({ n: "'7'" })).json, { selected_rows: 1, replayed_rows: 1 })
  t.equal(await service.count('kept_quarantine'), 1)
  const json = "replaceAll(substring(c__error[1], length('record is not a JSON object: ') + 1), '\\t', '\\\\t')"
  const fixes = { n: `JSONExtractString(${json}, 'n')`, s: `JSONExtractString(${json}, 's')` }
  t.match((await replay({ ...fixes, n: `JSONExtractRaw(${json}, 'n')` })).json, { selected_rows: 1, replayed_rows: 1 })
  t.same(await service.rows('SELECT n, s FROM kept ORDER BY n'), [
    ['1', 'a\\tb'],
    ['7', '\\N'],
  ])
  await drop()
})
