import t from 'tap'
import { readCondition } from '../../src/sql/condition.ts'

const read = (text: string) =>
  readCondition(text, 'replace_condition', { columns: ['day', 'today'], seconds: 1_700_000_000 })

t.test('a condition is one expression in brackets, without its comments', async (t) => {
  t.equal(read("day = '2024-01-01'").sql, "(day = '2024-01-01')")
  t.equal(read('/* why */ `my day`>=toDate(1)--x').sql, '(`my day`>=toDate(1))')
  t.equal(read('CAST(ts AS Date) IN (1, 2) AND NOT (a OR b)').sql, '(CAST(ts AS Date) IN (1, 2) AND NOT (a OR b))')
  t.same([...read('toYYYYMM(`day`) = 1').names], ['toYYYYMM', 'day'])
})

t.test('what is more or other than an expression is refused', async (t) => {
  const hostile = [
    '',
    '1) OR (1',
    '1; DROP TABLE x',
    'day IN (SELECT day FROM system.parts)',
    'exists(SELECT 1)',
    '(WITH 1 AS x SELECT x)',
    'day IN system.users',
    'day IN other',
    'in(day, other)',
    "file('/etc/passwd') != ''",
    "`file`('/etc/passwd') != ''",
    "joinGet('ws_0001.t_1', 'x', 1)",
    "dictGet('d', 'x', 1)",
    'sleep(3)',
    "hasColumnInTable('ws_0001', 't', 'x')",
    "arrayMap(file, ['/etc/passwd'])[1] != ''",
    '1 ORDER BY day',
    '1 SETTINGS max_threads = 1',
    '1 FORMAT JSON',
    "1 INTO OUTFILE '/tmp/x'",
    '1 AS day',
    '(toDate(0) AS day) = day',
    "plus(1 AS day, cast('1' AS Int8))",
    '{day:Date} = 1',
    'day = 1 -- \0',
    `day = '${'x'.repeat(9_000)}'`,
  ]
  for (const text of hostile) t.throws(() => read(text), { code: 'SQL_INVALID', status: 400 }, text.slice(0, 60))
})

t.test('the time is that of the replace in every statement, and columns of such names are columns', async (t) => {
  const now = 'toDateTime(1700000000)'
  const written: readonly (readonly [text: string, sql: string])[] = [
    ['day < now()', `day < ${now}`],
    ["day < NOW('Asia/Tokyo')", "day < toDateTime(1700000000,'Asia/Tokyo')"],
    ['day < `now`()', `day < ${now}`],
    ['day < now', `day < ${now}`],
    ['day < CURRENT_TIMESTAMP', `day < ${now}`],
    ['day IN (curdate(), yesterday())', `day IN (toDate(${now}), addDays(toDate(${now}), -1))`],
    ['day = CURRENT_DATE', `day = toDate(${now})`],
    ['day = today', 'day = today'],
    ['day = `today`', 'day = `today`'],
    ['day = today()-1', `day = toDate(${now})-1`],
    ['day < UTCTimestamp()', "day < toDateTime(1700000000, 'UTC')"],
    ['arraySum([toUInt32(now()), now]) > day', `arraySum([toUInt32(${now}), ${now}]) > day`],
    ['arrayExists(now -> now = day, [today()])', `arrayExists(now -> now = day, [toDate(${now})])`],
  ]
  for (const [text, sql] of written) t.equal(read(text).sql, `(${sql})`, text)
  for (const text of ['day = today(1)', 'day < now(1)(2)', 'day < now(1, 2)', 'day < UTCTimestamp(1)']) {
    t.throws(() => read(text), { code: 'SQL_INVALID' }, text)
  }
})
