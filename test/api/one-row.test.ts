// Wherever an expression says something of one row, it must not make several of it, or none: rows would be lost or doubled.

import t from 'tap'
import { readRowFilter } from '../../src/sql/row-filter.ts'
import { type Answer, openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)

const schema = 'a UInt8, b String'
const tens = { engine: 'MergeTree', engine_partition_key: 'intDiv(a, 10)', engine_sorting_key: 'a' }
const before = [
  ['1', 'old'],
  ['2', 'old'],
  ['3', 'old'],
  ['20', 'old'],
]

await service.create('kept', schema, tens)
await service.append('kept', 'csv', 'a,b\n1,old\n2,old\n3,old\n20,old\nx,wrong\n')
await service.create('dated', 'd Date, a UInt8', { engine: 'MergeTree', engine_sorting_key: 'a' })

function replace(condition: string, body = 'a,b\n1,new\n2,new\n'): Promise<Answer> {
  const parameters = { mode: 'replace', name: 'kept', format: 'csv', replace_condition: condition }
  return service.call('POST', `/v0/datasources?${new URLSearchParams(parameters)}`, { body })
}

function replay(order: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  return service.call('POST', '/v0/datasources/kept/quarantine/replay', { body: JSON.stringify(order), headers })
}

function alter(values: Readonly<Record<string, string>>): Promise<Answer> {
  return service.call('POST', '/v0/datasources/dated/alter', { body: new URLSearchParams(values).toString() })
}

/** Each is a number. */
const calls: readonly string[] = [
  'arrayJoin([1,2,3])',
  "arrayJoin(if(b = 'old', emptyArrayUInt8(), [0]))",
  'unnest([1,2])',
  'UNNEST([1,2])',
  '`arrayJoin`([1,2])',
  '"unnest" ([1,2])',
  'arrayJoin\n\t([1,2])',
  '(1 + arrayJoin([a, a]))',
  'arraySum(x -> arrayJoin([x]), [1])',
  'arraySum(x -> x + 1, [unnest([1,2])])',
  'arraySum(arrayMap(arrayJoin, [[1]]))',
  'arraySum(arrayMap(`unnest`, [[1]], [1]))',
  'if(a > 1, arrayJoin([1]), 0)',
  'CASE WHEN a > 1 THEN unnest([1]) ELSE 0 END',
  "CAST(arrayJoin([1]), 'UInt8')",
  'tuple(arrayJoin([1])).1',
]

t.test('a replace_condition that would multiply or lose rows is refused, and nothing is replaced', async (t) => {
  for (const call of calls) {
    for (const condition of [`a = 1 AND ${call} > 0`, `a = 1 OR ${call} = 1`, `a IN (1, 2) AND NOT (${call} = 0)`]) {
      const answer = await replace(condition)
      const told = /^Parameter "replace_condition" cannot be used: .*cannot call (arrayJoin|unnest)\(\)/i
      t.match(answer, { status: 400, json: { error: told } }, `${condition}: ${answer.text}`)
    }
  }
  t.same(await service.rows('SELECT * FROM kept ORDER BY a'), before)
})

t.test('a replay neither multiplies nor loses rows by its condition and fixes', async (t) => {
  for (const call of calls) {
    const orders = [
      { condition: `${call} > 0` },
      { fixes: { a: `toString(${call})` } },
      { fixes: { b: `toString(${call})` } },
    ]
    for (const order of orders) {
      const told = /^The replay cannot run: .*cannot call (arrayJoin|unnest)\(\)/i
      const answer = await replay(order)
      t.match(answer, { status: 400, json: { error: told } }, `${JSON.stringify(order)}: ${answer.text}`)
    }
  }
  t.match(await replay({ fixes: { a: 'arrayJoin(emptyArrayString())' } }), { status: 400 })
  t.equal(await service.count('kept_quarantine'), 1)
})

t.test('no part of a definition makes other rows of one', async (t) => {
  const dated = 'd Date, a UInt8, b String'
  for (const call of calls) {
    const answers = await Promise.all([
      service.create('vain', `${schema}, c UInt64 DEFAULT ${call}`),
      service.create('vain', schema, { engine: 'MergeTree', engine_sorting_key: `a, ${call}` }),
      service.create('vain', schema, { engine: 'MergeTree', engine_partition_key: call }),
      service.create('vain', dated, { engine: 'MergeTree', engine_ttl: `d DELETE WHERE ${call} = 1` }),
      service.create('vain', dated, { engine: 'MergeTree', engine_ttl: `d + toIntervalDay(${call})` }),
      service.create('vain', dated, { engine: 'MergeTree', engine_ttl: `d + INTERVAL ${call} DAY` }),
      service.create('vain', dated, {
        engine: 'MergeTree',
        engine_sorting_key: 'a',
        engine_ttl: `d GROUP BY a SET b = toString(max(${call}))`,
      }),
      service.create('vain', schema, { engine: 'MergeTree', indexes: `i (${call}) TYPE minmax` }),
      alter({ schema: `d Date, a UInt8, b String DEFAULT 'x', c UInt64 DEFAULT ${call}` }),
      alter({ ttl: `d WHERE ${call.replaceAll('b', 'a')} = 1` }),
      alter({ indexes: `i (${call}) TYPE minmax` }),
    ])
    for (const [place, answer] of answers.entries()) {
      t.match(
        answer,
        { status: 400, json: { error: /cannot call|Unknown|expected/i } },
        `${call} at ${place}: ${answer.text}`,
      )
    }
  }
  const plain = await service.create('vain', dated, { engine: 'MergeTree', engine_ttl: 'd WHERE arrayJoin([0,1])=1' })
  t.match(plain, { status: 400, json: { error: /cannot call arrayJoin\(\), which turns a row into several or none/ } })
})

t.test('a row filter makes no rows', async (t) => {
  for (const call of calls) {
    const told = { message: /cannot call (arrayJoin|unnest)\(\), which turns a row into several or none/i }
    t.throws(() => readRowFilter(`${call} > 0`, ['a', 'b']), told, call)
  }
  t.doesNotThrow(() => readRowFilter('arrayExists(x -> x = a, [1])', ['a', 'b']))
})

t.test('columns of such names, and functions over arrays that give one value, are taken', async (t) => {
  const named = 'arrayJoin UInt8, unnest Array(UInt8), c UInt8 DEFAULT length(unnest) + arrayJoin'
  const made = await service.create('lookalike', named, { engine: 'MergeTree', engine_partition_key: 'arrayJoin' })
  t.match(made, { status: 200 }, made.text)
  const taken = 'a IN (1, 2) AND arraySum(arrayMap(x -> x + 1, [a])) > 0 AND length(arrayConcat([a], [1])) = 2'
  t.match(await replace(taken), { status: 200, json: { imported_rows: 2 } })
  t.same(await service.rows('SELECT * FROM kept ORDER BY a'), [['1', 'new'], ['2', 'new'], ...before.slice(2)])
  const own = {
    mode: 'replace',
    name: 'lookalike',
    format: 'csv',
    replace_condition: 'arrayJoin = 1 AND arrayMax(unnest) > 1',
  }
  const answer = await service.call('POST', `/v0/datasources?${new URLSearchParams(own)}`, {
    body: 'arrayJoin,unnest\n1,"[1,2]"\n',
  })
  t.match(answer, { status: 200, json: { imported_rows: 1 } }, answer.text)
  t.same(await service.rows('SELECT count() FROM kept WHERE arrayJoin([1, 2]) > 0'), [['8']], 'and queries may call it')
  t.match((await replay({ fixes: { a: "'7'" } })).json, { replayed_rows: 1 })
})
