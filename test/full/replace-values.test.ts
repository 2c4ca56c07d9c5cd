// A replace_condition is asked of each row in several statements: it must say the same in all of them.

import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t)
await service.create('kept', 'a UInt8, at DateTime, b String', {
  engine: 'MergeTree',
  engine_partition_key: 'intDiv(a, 10)',
  engine_sorting_key: 'a',
})
await service.append('kept', 'csv', 'a,at,b\n1,2001-01-01 00:00:00,old\n2,2101-01-01 00:00:00,old\n')

function replace(name: string, condition: string, body: string): Promise<Answer> {
  const parameters = { mode: 'replace', name, format: 'csv', replace_condition: condition }
  return service.call('POST', `/v0/datasources?${new URLSearchParams(parameters)}`, { body })
}

const fickle: readonly string[] = [
  'arrayShuffle([1,2,3])[1] = 1',
  'ARRAYSHUFFLE([1,2,3])[1] = 1',
  '`arrayShuffle`([1,2,3])[1] = 1',
  'arrayPartialShuffle([1,2,3], 1)[1] = 1',
  'arrayRandomSample([1,2,3], 1)[1] = 1',
  'arrayExists(x -> arrayShuffle([x, 1])[1] = 1, [2])',
  "dateTimeToUUIDv7(at) > toUUID('00000000-0000-0000-0000-000000000000')",
  'now64() > at',
  'now64(9) > at',
  "nowInBlock('UTC') > at",
  'nowInBlock64() > at',
  'localtime() > localtime',
  'generateUUIDv7() = generateUUIDv7()',
  'generateSnowflakeID() > 1',
  "randomString(1) = 'a'",
  'randCanonical() > 0.5',
  "fuzzBits('a', 0.5) = 'a'",
  "obfuscateQuery('select a') = 'x'",
  'blockSize() > 1',
  'blockNumber() = 0',
  'rowNumberInBlock() = 0',
  'runningDifference(a) = 0',
  'neighbor(a, 1) = 0',
  'indexHint(a = 1)',
  'isConstant(a)',
  'arrayExists(rand64, [1])',
  "arrayReduce('groupArraySample(1)', [1, 2])[1] = 1",
  "arrayReduce('GROUPARRAYSAMPLE(1)', [1, 2])[1] = 1",
  "arrayReduceInRanges('groupArraySample(1)', [(1, 2)], [1, 2])[1][1] = 1",
  "finalizeAggregation(initializeAggregation('groupArraySampleState(1)', 1))[1] = 1",
]

t.test('a condition that would not say the same of a row again is refused', async (t) => {
  for (const condition of fickle) {
    const answer = await replace('kept', `a = 1 AND (${condition})`, 'a,at,b\n1,2001-01-01 00:00:00,new\n')
    const told = /^Parameter "replace_condition" cannot be used: .*(must not call|not known|cannot call|Unknown)/
    t.match(answer, { status: 400, json: { error: told } }, `${condition}: ${answer.text}`)
  }
  t.same(await service.rows('SELECT a, b FROM kept ORDER BY a'), [
    ['1', 'old'],
    ['2', 'old'],
  ])
})

const times: readonly string[] = [
  'now()',
  "now('Asia/Tokyo')",
  'NOW()',
  'now',
  'CURRENT_TIMESTAMP',
  'UTCTimestamp()',
  'today()',
  'CURRENT_DATE',
  'yesterday()',
  'today() - 1',
  'now() - INTERVAL 1 DAY',
  'toStartOfHour(now())',
  "toDateTime64(now(), 3, 'UTC')",
]

t.test('a condition may speak of the time, which is that of the replace', async (t) => {
  for (const [round, time] of times.entries()) {
    const body = `a,at,b\n1,2001-01-01 00:00:00,new${round}\n2,2101-01-01 00:00:00,new${round}\n`
    const answer = await replace('kept', `a < 10 AND at < ${time}`, body)
    t.match(answer, { status: 200, json: { imported_rows: 1, unmatched_rows: 1 } }, `${time}: ${answer.text}`)
    t.same(await service.rows('SELECT a, b FROM kept ORDER BY a'), [
      ['1', `new${round}`],
      ['2', 'old'],
    ])
  }
})

t.test('columns with the names of such functions are columns', async (t) => {
  const named = { engine: 'MergeTree', engine_partition_key: 'rand', engine_sorting_key: 'now' }
  t.match(await service.create('named', 'now UInt8, today UInt8, rand UInt8', named), { status: 200 })
  const answer = await replace('named', 'rand = 1 AND now = 2 AND `today` = 3', 'now,today,rand\n2,3,1\n3,3,1\n')
  t.match(answer, { status: 200, json: { imported_rows: 1, unmatched_rows: 1 } }, answer.text)
})
