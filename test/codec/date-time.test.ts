import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Session } from 'chdb'
import t from 'tap'
import { parseCommonDateTimeText, parseDateTimeText } from '../../src/codec/coercion/date-time-text.ts'
import { localToUtcSeconds } from '../../src/codec/coercion/zone-offset.ts'

const day = 86_400

t.test('dates and times are read in every usual spelling', async (t) => {
  const cases: readonly [string, number, string, number | null][] = [
    ['1970-01-01', 0, '', null],
    ['1969-12-31', -day, '', null],
    ['2000-02-29', 11_016 * day, '', null],
    ['0000-01-01', -719_528 * day, '', null],
    ['9999-12-31', 2_932_896 * day, '', null],
    ['1970-01-02 03:04', day + 11_040, '', null],
    ['1970-01-02T03:04:05', day + 11_045, '', null],
    ['1970-01-02t03:04:05z', day + 11_045, '', 0],
    ['1970-01-01 23:59:59.000001', day - 1, '000001', null],
    ['1970-01-01 00:00:00.1234567890123Z', 0, '1234567890123', 0],
    ['1970-01-01T00:00+05:30', 0, '', 19_800],
    ['1970-01-01T00:00:00-0330', 0, '', -12_600],
    ['1970-01-01 00:00:00.5+02', 0, '5', 7_200],
    ['1970-01-01 00:00:00-00:00', 0, '', 0],
    ['1970-01-01 00:00:00+23:59', 0, '', 86_340],
  ]
  for (const [text, localSeconds, fraction, offsetSeconds] of cases) {
    const read = parseDateTimeText(text)
    t.equal(read?.localSeconds, localSeconds, text)
    t.equal(read?.fraction, fraction, text)
    t.equal(Object.is(read?.offsetSeconds, -0) ? 0 : read?.offsetSeconds, offsetSeconds, text)
  }
})

t.test('what is no date or no time of the day is refused', async (t) => {
  const texts = [
    ...[
      '',
      '2023',
      '2023-01',
      '2023-1-01',
      '2023-01-1',
      '23-01-01',
      '2023/01/01',
      '20230101',
      '02023-01-01',
      '-2023-01-01',
    ],
    ...[
      '2023-02-29',
      '2023-02-30',
      '1900-02-29',
      '2100-02-29',
      '2023-04-31',
      '2023-00-01',
      '2023-13-01',
      '2023-01-00',
      '2023-01-32',
    ],
    ...[
      '2023-01-01 24:00',
      '2023-01-01 24:00:00',
      '2023-01-01 23:60',
      '2023-01-01 23:59:60',
      '2023-01-01 1:00',
      '2023-01-01 01',
    ],
    ...[
      '2023-01-01  01:00',
      '2023-01-01_01:00',
      '2023-01-01 01:00:00.',
      '2023-01-01 01:00:00,5',
      '2023-01-01 01:00.5',
      '2023-01-01T',
    ],
    ...[
      '2023-01-01Z',
      '2023-01-01+02:00',
      '2023-01-01 01:00 Z',
      '2023-01-01 01:00 UTC',
      '2023-01-01 01:00+1',
      '2023-01-01 01:00+2:00',
    ],
    ...[
      '2023-01-01 01:00+24:00',
      '2023-01-01 01:00+01:60',
      '2023-01-01 01:00+010',
      '2023-01-01 01:00:00Zx',
      ' 2023-01-01',
      '２０２３-01-01',
    ],
  ]
  for (const text of texts) t.equal(parseDateTimeText(text), undefined, text)
})

t.test('the calendar is the Gregorian one from year 0 to 9999', async (t) => {
  for (let days = -719_528; days <= 2_932_896; days += 97) {
    const text = new Date(days * 86_400_000).toISOString().slice(0, 10)
    if (text.length !== 10) continue
    if (parseDateTimeText(text)?.localSeconds !== days * day) t.fail(text)
  }
})

t.test('common spellings are read as the usual one, and others not at all', (t) => {
  const cases: readonly [string, string][] = [
    ['2024-01-15 10:00:00 UTC', '2024-01-15 10:00:00Z'],
    ['2024-01-15 10:00:00.123456 UTC', '2024-01-15 10:00:00.123456Z'],
    ['2024-01-15 10:00:00utc', '2024-01-15 10:00:00Z'],
    ['2024-01-15 10:00 GMT', '2024-01-15 10:00Z'],
    ['2024-01-15 10:00:00 Z', '2024-01-15 10:00:00Z'],
    ['2024-01-15 10:00:00 +0100', '2024-01-15 10:00:00+0100'],
    ['2024-01-15T10:00:00 -05:30', '2024-01-15T10:00:00-05:30'],
    ['2024/01/15', '2024-01-15'],
    ['2024/1/5 9:05', '2024-01-05 09:05'],
    ['2024-1-5', '2024-01-05'],
    ['2024-11-5', '2024-11-05'],
    ['2024-1-15 9:00:00.5', '2024-01-15 09:00:00.5'],
    ['2024-1-5T9:00:00Z', '2024-01-05 09:00:00Z'],
    ['20240115', '2024-01-15'],
    ['20240115100000', '2024-01-15 10:00:00'],
    ['20240115100000.5', '2024-01-15 10:00:00.5'],
    ['20240115T100000Z', '2024-01-15 10:00:00Z'],
    ['20240115 100000 +01', '2024-01-15 10:00:00+01'],
    ['20240115 9:00', '2024-01-15 09:00'],
  ]
  for (const [text, usual] of cases) t.same(parseCommonDateTimeText(text), parseDateTimeText(usual), text)
  const others = [
    ...[
      '',
      '2024',
      '202401',
      '2024011',
      '202401151',
      '20240115 ',
      '20240115100',
      '201-1-5',
      '2024-1/5',
      '2024/1-5',
      '24/1/5',
    ],
    ...[
      '2024-01-15 100000',
      '2024-01-15 9',
      '2024-01-15 9:5',
      '2024-01-15 9:05:3',
      '2024-01-15  9:05',
      '2024-01-15 UTC',
    ],
    ...['9:00:00', '15/01/2024', '2024-01-15 10:00:00  UTC', '2024-01-15 10:00:00 +1', '2024-01-15 10:00:00 CET'],
    ...['2024-01-15 10:00:00,5', '2024.01.15', 'Jan 15 2024', '2024-001-05', '20240115+0100'],
  ]
  for (const text of others) t.equal(parseCommonDateTimeText(text), undefined, text)
  t.end()
})

t.test('local times are instants of their zone', async (t) => {
  const cases: readonly [string, string, string][] = [
    ['Europe/Madrid', '2024-01-15 12:00:00', '2024-01-15 11:00:00'],
    ['Europe/Madrid', '2024-07-15 12:00:00', '2024-07-15 10:00:00'],
    ['America/New_York', '2024-07-15 12:00:00', '2024-07-15 16:00:00'],
    ['Asia/Kolkata', '2024-07-15 12:00:00', '2024-07-15 06:30:00'],
    ['Australia/Lord_Howe', '2024-07-15 12:00:00', '2024-07-15 01:30:00'],
    ['UTC', '2024-07-15 12:00:00', '2024-07-15 12:00:00'],
    // Skipped: clocks went from 02:00 to 03:00.
    ['Europe/Madrid', '2024-03-31 01:59:59', '2024-03-31 00:59:59'],
    ['Europe/Madrid', '2024-03-31 02:30:00', '2024-03-31 00:30:00'],
    ['Europe/Madrid', '2024-03-31 03:00:00', '2024-03-31 01:00:00'],
    // Ambiguous: clocks went from 03:00 back to 02:00; the earlier time is meant.
    ['Europe/Madrid', '2024-10-27 02:30:00', '2024-10-27 00:30:00'],
    ['Europe/Madrid', '2024-10-27 03:00:00', '2024-10-27 02:00:00'],
    // A day without midnight, a day with two, a day that never was, a change at one minute past midnight.
    ['America/Sao_Paulo', '2018-11-04 00:30:00', '2018-11-04 02:30:00'],
    ['America/Havana', '2024-11-03 00:30:00', '2024-11-03 04:30:00'],
    ['Pacific/Apia', '2011-12-31 00:00:00', '2011-12-30 10:00:00'],
    ['America/St_Johns', '2000-04-02 00:00:30', '2000-04-02 02:30:30'],
    ['Factory', '2024-07-15 12:00:00', '2024-07-15 12:00:00'],
  ]
  for (const [zone, local, utc] of cases) {
    const seconds = localToUtcSeconds(zone, Date.parse(`${local}Z`) / 1_000)
    t.equal(new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' '), utc, `${local} ${zone}`)
  }
})

t.test('around every clock change from 1970 to 2105 ClickHouse reads local times the same way', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'millrace-date-time-'))
  const session = new Session(directory)
  t.teardown(() => {
    session.cleanup()
    rmSync(directory, { recursive: true, force: true })
  })
  const numbers = (sql: string) => session.query(sql, 'TSV').trim().split('\n').map(Number)
  const zones = [
    'Europe/Madrid',
    'America/New_York',
    'Australia/Lord_Howe',
    'America/Havana',
    'America/St_Johns',
    'Asia/Gaza',
  ]
  for (const zone of zones) {
    const changes = numbers(`
      SELECT at FROM (
        SELECT toInt64(number) * 43200 AS at, timeZoneOffset(toDateTime(at, '${zone}')) AS offset,
          lagInFrame(offset, 1, offset) OVER (ORDER BY at) AS before
        FROM numbers(98000))
      WHERE offset != before ORDER BY at`)
    t.ok(changes.length > 100, `${zone} changed its clocks ${changes.length} times`)
    const locals = changes.flatMap((at) =>
      Array.from({ length: 150 }, (_, step) => at + (step - 90) * 1_800 - (step % 2)),
    )
    const engine = numbers(`
      SELECT toUnixTimestamp64Second(CAST(formatDateTime(toDateTime64(local, 0, 'UTC'), '%F %T') AS DateTime64(0, '${zone}')))
      FROM (
        SELECT at + (step - 90) * 1800 - step % 2 AS local
        FROM (SELECT arrayJoin([${changes.join(',')}]) AS at) AS changes
        CROSS JOIN (SELECT toInt64(number) AS step FROM numbers(150)) AS steps
        ORDER BY at, step)`)
    const differing = locals.filter((local, index) => localToUtcSeconds(zone, local) !== engine[index])
    t.same(differing, [], `${zone} at ${locals.length} local times`)
  }
  const kolkata = numbers(`SELECT toUnixTimestamp(CAST('2024-07-15 12:00:00' AS DateTime('Asia/Kolkata')))`)
  t.same(kolkata, [localToUtcSeconds('Asia/Kolkata', Date.parse('2024-07-15 12:00:00Z') / 1_000)])
})

t.test('more days and zones than the caches hold give the same answers', async (t) => {
  for (let round = 0; round < 2; round += 1) {
    for (let days = 0; days < 5_000; days += 1) {
      const seconds = localToUtcSeconds('Asia/Kolkata', days * day)
      if (seconds !== days * day - 19_800) t.fail(`day ${days}`)
    }
  }
  const zones = Intl.supportedValuesOf('timeZone').slice(0, 70)
  const first = zones.map((zone) => localToUtcSeconds(zone, 1_700_000_000))
  t.same(
    zones.map((zone) => localToUtcSeconds(zone, 1_700_000_000)),
    first,
  )
})
