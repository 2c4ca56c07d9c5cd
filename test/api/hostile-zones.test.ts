// Names of time zones against the whole service. The canary is a file with the rules of a zone that is 1:10:42 ahead, so a time
// of the engine tells whether it was opened.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openTestService } from '../support/api/test-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
t.teardown(() => directory.remove())
const path = join(directory.path, 'zone')
await writeFile(path, zoneFile(4_242))
const canary = '01:10:42'

const service = await openTestService(t)
const zone = `file:${path}`
const time = "toDateTime(0, 'UTC')"

t.test('a name of a time zone opens no file', async (t) => {
  const [early, late] = [zone.slice(0, 9), zone.slice(9)]
  const queries = [
    `SELECT toString(toTimeZone(${time}, '${zone}')) AS x`,
    `SELECT toString(${time}, '${zone}') AS x`,
    `SELECT toString(${time}, materialize('${zone}')) AS x`,
    `SELECT toString(${time}, z) AS x FROM (SELECT arrayJoin(['UTC', '${zone}']) AS z)`,
    `SELECT arrayMap(toString, [${time}], ['${zone}']) AS x`,
    `SELECT arrayMap((a, b) -> toString(a, b), [${time}], ['${zone}']) AS x`,
    `SELECT mapFilter(toString, map(${time}, '${zone}')) AS x`,
    `SELECT toString(toTimeZone(${time}, concat('${early}', '${late}'))) AS x`,
    `SELECT toString(toTimeZone(${time}, '${early}' || '${late}')) AS x`,
    `SELECT toString(toTimeZone(${time}, (SELECT '${zone}'))) AS x`,
    `WITH '${zone}' AS z SELECT toString(toTimeZone(${time}, z)) AS x`,
    `WITH '${early}' || '${late}' AS z SELECT toString(toTimeZone(${time}, z)) AS x`,
    `SELECT '${early}' || '${late}' AS z, toString(toTimeZone(${time}, z)) AS x`,
    `WITH 'UTC' AS z SELECT (WITH '${zone}' AS z SELECT toString(toTimeZone(${time}, z))) AS x`,
    `SELECT toString(toTimeZone(${time}, 'x') AS a, 'UTC') AS x FROM (SELECT '${zone}' AS x)`,
    `SELECT formatDateTime(${time}, '%T', '${zone}') AS x`,
    `SELECT formatDateTime(${time}, '%T', materialize('${zone}')) AS x`,
    `SELECT FROM_UNIXTIME(0, '%T', '${zone}') AS x`,
    `SELECT formatDateTimeInJodaSyntax(${time}, 'HH:mm:ss', materialize('${zone}')) AS x`,
    `SELECT dateName('minute', ${time}, '${zone}') AS x, '${zone}' AS y`,
    `SELECT dateTrunc('second', ${time}, '${zone}') AS x`,
    `SELECT date_trunc('second', ${time}, '${early}' || '${late}') AS x`,
    `SELECT dateDiff('second', ${time}, ${time}, '${zone}') AS x`,
    `SELECT TIMESTAMPDIFF(second, ${time}, ${time}, '${zone}') AS x`,
    `SELECT toStartOfInterval(${time}, INTERVAL 1 second, '${zone}') AS x`,
    `SELECT toStartOfInterval(${time}, INTERVAL 1 second, '${early}' || '${late}') AS x`,
    `SELECT toStartOfInterval(${time}, INTERVAL 1 second, ${time}, '${zone}') AS x`,
    `SELECT toString(fromUTCTimestamp(${time}, '${zone}')) AS x`,
    `SELECT toString(toDateTime(0, '${zone}')) AS x`,
    `SELECT toString(toDateTime('1970-01-01', 3, '${zone}')) AS x`,
    `SELECT toString(toDateTime64(0, 3, '${zone}')) AS x`,
    `SELECT toString(CAST(0 AS DateTime('${zone}'))) AS x`,
    `SELECT toString(CAST(0, 'DateTime(\\'${zone}\\')')) AS x`,
    `SELECT toString(0::DateTime64(3, '${zone}')) AS x`,
    `SELECT toString(0::TIMESTAMP('${zone}')) AS x`,
    `SELECT * FROM values('x DateTime(\\'${zone}\\')', 0)`,
    `SELECT * FROM generateRandom('x Array(Tuple(a DateTime64(3, \\'${zone}\\')))') LIMIT 1`,
    `SELECT JSONExtract('{"a": 0}', 'a', 'DateTime(\\'${zone}\\')') AS x`,
    `SELECT defaultValueOfTypeName('DateTime(\\'${zone}\\')') AS x`,
    `SELECT parseDateTimeInJodaSyntax('1970-01-01 ${zone}', 'yyyy-MM-dd z') AS x`,
    `SELECT parseDateTimeInJodaSyntax(materialize('1970-01-01 ${zone}'), concat('yyyy-MM-dd ', 'z')) AS x`,
    `SELECT parseDateTime64InJodaSyntaxOrNull('1970-01-01 ${zone}', 'yyyy-MM-dd zzz') AS x`,
    `SELECT finalizeAggregation(CAST(unhex('${dynamicState(zone)}'), 'AggregateFunction(any, Dynamic)')) AS x`,
    `SELECT now('${zone}') AS x`,
    `SELECT * APPLY(now) FROM (SELECT '${zone}' AS x)`,
    `SELECT 1 AS x SETTINGS session_timezone = '${zone}'`,
  ]
  for (const sql of queries) {
    const { status, text } = await service.call('POST', '/v0/sql', { body: sql })
    t.equal(status, 400, `${sql}: ${text}`)
    t.notMatch(text, canary, sql)
  }
})

t.test('a name of a time zone takes no other form that the engine knows', async (t) => {
  const names = [
    '/etc/localtime',
    '../../../etc/localtime',
    'Europe/../Europe/Berlin',
    'Fixed/UTC+01:02:03',
    'libc:localtime',
    'localtime',
    'posix/Europe/Berlin',
    'right/UTC',
    'europe/berlin',
    'Europe/Berlin ',
    'UTC\\0',
    'UTC\\0/etc/passwd',
    'file:',
    `UTC${'x'.repeat(100_000)}`,
  ]
  for (const name of names) {
    for (const [place, sql] of [
      ['text', `SELECT toTimeZone(${time}, '${name}')`],
      ['type', `SELECT CAST(0 AS DateTime('${name}'))`],
    ] as const) {
      const { status, text } = await service.call('POST', '/v0/sql', { body: sql })
      t.match({ status, text }, { status: 400, text: /Unknown time zone/ }, `${place}: ${name.slice(0, 60)}`)
    }
    const computed = `SELECT toString(${time}, materialize('${name}'))`
    const { status } = await service.call('POST', '/v0/sql', { body: computed })
    t.equal(status, 400, computed.slice(0, 100))
  }
})

t.test('a file that is there and one that is not are told alike', async (t) => {
  const told = async (name: string): Promise<string> => {
    const sql = `SELECT toString(${time}, materialize('${name}')) AS x`
    return (await service.call('POST', '/v0/sql', { body: sql })).text.replaceAll(name, '')
  }
  t.equal(await told(zone), await told(`${zone}-gone`))
  t.equal(await told('file:/etc/passwd'), await told('file:/etc/gone'))
})

t.test('neither does one in a definition', async (t) => {
  const places: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    type: { schema: `a DateTime('${zone}')` },
    'nested type': { schema: `a Array(Nullable(DateTime64(3, '${zone}')))` },
    state: { schema: `a AggregateFunction(max, DateTime('${zone}'))` },
    'state that tells types': { schema: 'a AggregateFunction(any, Dynamic)' },
    DEFAULT: { schema: `a DateTime, b DateTime DEFAULT toTimeZone(a, '${zone}')` },
    'DEFAULT of a column': { schema: 'a DateTime, z String, b String DEFAULT toString(a, z)' },
    sorting: { schema: 'a DateTime', engine: 'MergeTree', engine_sorting_key: `toStartOfDay(a, '${zone}')` },
    partition: { schema: 'a DateTime', engine: 'MergeTree', engine_partition_key: `toYYYYMM(a, '${zone}')` },
    ttl: { schema: 'a DateTime', engine: 'MergeTree', engine_ttl: `toStartOfDay(a, '${zone}') + INTERVAL 1 DAY` },
    index: { schema: 'a DateTime', indexes: `i toHour(a, '${zone}') TYPE minmax` },
  }
  let count = 0
  for (const [place, { schema = '', ...more }] of Object.entries(places)) {
    count += 1
    const answer = await service.create(`zoned_${count}`, schema, more)
    t.equal(answer.status, 400, `${place}: ${answer.text}`)
  }
  const token = { name: 'filtered', scope: `DATASOURCES:READ:zoned:toHour(a, '${zone}') > 0` }
  await service.create('zoned', 'a DateTime')
  const made = await service.call('POST', `/v0/tokens?${new URLSearchParams(token)}`)
  t.not(made.status, 200, made.text)
})

t.test('names of time zones go on working', async (t) => {
  const answers: readonly (readonly [sql: string, answer: string])[] = [
    [`SELECT toString(toTimeZone(${time}, 'Asia/Tokyo'))`, '1970-01-01 09:00:00'],
    [`WITH 'Asia/Tokyo' AS tz SELECT toString(${time}, tz)`, '1970-01-01 09:00:00'],
    [`SELECT toString(toTimeZone(${time}, concat('Asia/', 'Tokyo')))`, '1970-01-01 09:00:00'],
    [`SELECT toString(toTimeZone(${time}, (SELECT 'Etc/GMT+1')))`, '1969-12-31 23:00:00'],
    [
      `SELECT toString(${time}, z) FROM (SELECT arrayJoin(['America/Argentina/Buenos_Aires']) AS z)`,
      '1969-12-31 21:00:00',
    ],
    [`SELECT toString(${time}, z) FROM (SELECT toLowCardinality('Asia/Tokyo') AS z)`, '1970-01-01 09:00:00'],
    [`SELECT formatDateTime(${time}, '%T', if(1, 'Asia/Tokyo', 'UTC'))`, '09:00:00'],
    [`SELECT toString(toTimeZone(${time}, timezone()))`, '1970-01-01 00:00:00'],
    [`SELECT toStartOfInterval(${time} + 3700, INTERVAL 1 HOUR, ${time} + 60)`, '1970-01-01 01:01:00'],
    [`SELECT toStartOfInterval(toDate(5), INTERVAL 2 DAY, toDate(1))`, '1970-01-06'],
    [`SELECT toStartOfInterval(${time} + 86400, INTERVAL 1 DAY, 'Asia/Tokyo')`, '1970-01-02 00:00:00'],
    [`SELECT toString(toDateTime('1970-01-01 00:00:00', 3, 'UTC'))`, '1970-01-01 00:00:00.000'],
    [`SELECT arrayMap(toString, [${time}])[1]`, '1970-01-01 00:00:00'],
    [`SELECT parseDateTimeInJodaSyntax('1970-01-01 z 5', 'yyyy-MM-dd ''z'' H')`, '1970-01-01 05:00:00'],
    [`SELECT toTimeZone(${time}, NULL) IS NULL`, '1'],
  ]
  for (const [sql, answer] of answers) t.equal((await service.sql(`${sql} FORMAT TSVRaw`)).trim(), answer, sql)
  const named = await service.sql(`SELECT toString(${time}, concat('U', 'TC')), 1 FORMAT JSON`)
  t.match(named, `"toString(${time}, concat('U', 'TC'))"`, 'the column keeps its name')
})

/** The rules of a zone that is always so many seconds ahead (RFC 9636, version 1). */
function zoneFile(offsetSeconds: number): Uint8Array {
  const file = Buffer.alloc(44 + 6 + 4)
  file.write('TZif', 0, 'latin1')
  file.writeInt32BE(1, 36)
  file.writeInt32BE(4, 40)
  file.writeInt32BE(offsetSeconds, 44)
  file.write('XXX\0', 50, 'latin1')
  return file
}

/** The state of any() over a Dynamic with a DateTime of the zone, as hexadecimal digits. */
function dynamicState(name: string): string {
  return Buffer.concat([Buffer.from([1, 0x12, name.length]), Buffer.from(name), Buffer.alloc(4)]).toString('hex')
}
