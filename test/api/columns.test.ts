// Every type of column end to end: from the bytes of a request to the engine's answer.

import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { typeCases as types } from '../support/api/type-cases.ts'

const service = await openTestService(t)

t.test('a value of every type comes back as it was sent, by NDJSON, events and CSV', async (t) => {
  const schema = types.map(([type], index) => `c${index} ${type}`).join(', ')
  const made = await service.create('wide', `id UInt8, ${schema}, visits AggregateFunction(count)`)
  t.equal(made.status, 200, made.text)
  const members = types.map(([, value], index) => `"c${index}": ${value}`).join(', ')
  const cells = types.map(([, , cell]) => (cell === '' ? '' : `"${cell}"`)).join(',')
  const header = types.map((_, index) => `c${index}`).join(',')
  const clean = { status: 200, json: { error: false, imported_rows: 1 } }
  t.match(await service.append('wide', 'ndjson', `{"id": 1, ${members}}\n`), clean)
  t.match(await service.append('wide', 'csv', `id,${header}\n2,${cells}\n`), clean)
  t.match(await service.events('wide', `{${members}, "id": 3}`, { wait: 'true' }), { json: { successful_rows: 1 } })
  const reasons = await service.rows('SELECT id, c__error FROM wide_quarantine')
  t.same(reasons, [], 'nothing is set aside')
  for (const [index, [type, , , expected]] of types.entries()) {
    const stored = await service.rows(`SELECT id, c${index} FROM wide ORDER BY id`)
    t.same(
      stored,
      ['1', '2', '3'].map((id) => [id, expected]),
      `${type} ${expected.slice(0, 40)}`,
    )
  }
  t.same(await service.rows('SELECT countMerge(visits) FROM wide'), [['0']], 'a state is empty')
  await service.events('wide', `{${members}, "id": 4, "visits": 9}`, { wait: 'true' })
  t.same(
    await service.rows('SELECT id, visits, c__error FROM wide_quarantine'),
    [['4', '9', "['value \\'9\\' on column \\'visits\\' is not AggregateFunction(count)']"]],
    'and is not read from a row',
  )
})

t.test('a value that a type cannot hold is set aside with its text, whatever the type', async (t) => {
  const misfits = [
    ['Int8', '128', '128'],
    ['UInt64', '-1', '-1'],
    ['UInt32', '1.5', '1.5'],
    ['Float64', '"x"', 'x'],
    ['Decimal(4, 2)', '1000', '1000'],
    ['Bool', '"perhaps"', 'perhaps'],
    ['FixedString(2)', '"abc"', 'abc'],
    ['UUID', '"61f0"', '61f0'],
    ['Date', '"2024-02-30"', '2024-02-30'],
    ['DateTime', '"soon"', 'soon'],
    ['DateTime64(3)', '{"at": 1}', '{"at": 1}'],
    ["Enum8('a' = 1)", '"b"', 'b'],
    ['IPv4', '"1.2.3"', '1.2.3'],
    ['IPv6', '"::g"', '::g'],
    ['Array(UInt8)', '[1, 256]', '[1, 256]'],
    ['Map(String, UInt8)', '{"a": "b"}', '{"a": "b"}'],
    ['Tuple(UInt8, String)', '[1]', '[1]'],
    ['JSON', '[1]', '[1]'],
    ['Nullable(Int32)', '"x"', 'x'],
    ['LowCardinality(Nullable(String))', null, null],
  ] as const
  const schema = misfits.map(([type], index) => `c${index} ${type}`).join(', ')
  t.match(await service.create('misfits', schema), { status: 200 })
  const members = misfits.flatMap(([, value], index) => (value === null ? [] : [`"c${index}": ${value}`]))
  t.match(await service.append('misfits', 'ndjson', `{${members.join(', ')}}\n`), { json: { quarantine_rows: 1 } })
  for (const [index, [type, value, text]] of misfits.entries()) {
    const kept = await service.sql(`SELECT c${index} AS cell FROM misfits_quarantine FORMAT JSONEachRow`)
    t.same(JSON.parse(kept), { cell: text }, type)
    const reason = `value '${text}' on column 'c${index}' is not ${type.replace(/^Nullable\((.*)\)$/, '$1')}`
    const found = `SELECT c__error[indexOf(c__error_column, 'c${index}')] AS reason FROM misfits_quarantine FORMAT JSONEachRow`
    t.same(JSON.parse(await service.sql(found)), { reason: value === null ? '' : reason }, type)
  }
})

t.test(
  'what a record lacks takes DEFAULT, then NULL, then the quarantine; an explicit null is a value where it can be',
  async (t) => {
    const schema = [
      'id UInt8',
      'number UInt32 DEFAULT id * 10',
      "word String DEFAULT concat('w', toString(number))",
      'maybe Nullable(UInt32) DEFAULT number + 1',
      'plain Nullable(String)',
      "low LowCardinality(Nullable(String)) DEFAULT 'low'",
      'list Array(UInt8) DEFAULT [id, 2]',
      "pairs Map(String, UInt8) DEFAULT map('k', id)",
      "two Tuple(a UInt8, b String) DEFAULT (id, 'b')",
      'document JSON DEFAULT \'{"made":true}\'',
      "day Date DEFAULT toDate('2024-01-01') + id",
    ].join(', ')
    t.match(await service.create('defaults', schema), { status: 200 })
    const whole = `"number":1,"word":"x","maybe":2,"plain":"p","low":"l","list":[3],"pairs":{"q":4},"two":{"a":5,"b":"c"},"document":{"d":6},"day":"2020-02-02"`
    const nulls = whole.replaceAll(/"(\w+)":(?:\{[^}]*\}|\[[^\]]*\]|[^,]+)/g, '"$1":null')
    const answer = await service.append('defaults', 'ndjson', `{"id":1}\n{"id":2,${nulls}}\n{"id":3,${whole}}\n`)
    t.match(answer.json, { error: false, imported_rows: 3 })
    const made = (id: string, n: number) => [
      ...[id, String(n * 10), `w${n * 10}`, String(n * 10 + 1), '\\N', 'low', `[${n},2]`, `{'k':${n}}`, `(${n},'b')`],
      ...['{"made":true}', `2024-01-0${n + 1}`],
    ]
    t.same(await service.rows('SELECT * FROM defaults ORDER BY id'), [
      made('1', 1),
      made('2', 2).map((cell, index) => (index === 3 || index === 5 ? '\\N' : cell)),
      ['3', '1', 'x', '2', 'p', 'l', '[3]', "{'q':4}", "(5,'c')", '{"d":6}', '2020-02-02'],
    ])
    t.match(await service.append('defaults', 'csv', 'id,number,word\n4,,\n'), {
      json: { error: false, imported_rows: 1 },
    })
    t.same(await service.rows('SELECT * FROM defaults WHERE id = 4'), [made('4', 4)])

    t.match(await service.create('bare', 'id UInt8, word String'), { status: 200 })
    await service.append('bare', 'ndjson', '{"id":1}\n{"id":2,"word":null}\n{"word":"x"}\n')
    t.same(await service.rows('SELECT id, word, c__error FROM bare_quarantine ORDER BY id'), [
      ['1', '\\N', "['value is missing on column \\'word\\', which is neither Nullable nor has a DEFAULT']"],
      ['2', '\\N', "['value \\'null\\' on column \\'word\\' is not String']"],
      ['\\N', 'x', "['value is missing on column \\'id\\', which is neither Nullable nor has a DEFAULT']"],
    ])
  },
)

t.test('a path finds its value at any depth, in elements of an array, and as the whole record', async (t) => {
  const schema = [
    'deep UInt8 `json:$.a.b.c.d`',
    'list Array(String) `json:$.list[:]`',
    'prices Array(Nullable(Float64)) `json:$.items[:].price`',
    'names Array(String) `json:$.order.items[:].name`',
    'odd String `json:$.["a key"]`',
    'whole String `json:$`',
    'own_name Nullable(String)',
  ].join(', ')
  const made = await service.create('paths', schema)
  t.match(made, { status: 200 })
  const record =
    '{"a":{"b":{"c":{"d":4}}},"list":["x","y"],"items":[{"price":1.5},{"price":null},{"other":1}],' +
    '"order":{"items":[{"name":"n1"},{"name":"n2"}]},"a key":"v","own_name":"o"}'
  t.match(await service.append('paths', 'ndjson', `${record}\n`), { json: { error: false, imported_rows: 1 } })
  t.same(await service.rows('SELECT deep, list, prices, names, odd, whole, own_name FROM paths'), [
    ['4', "['x','y']", '[1.5,NULL,NULL]', "['n1','n2']", 'v', record, 'o'],
  ])
})
