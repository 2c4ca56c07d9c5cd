import { parse } from 'csv-parse/sync'
import type { Fixture } from './fixture.types.ts'
import { type FixtureRow, fingerprintCheck } from './fixture-fingerprint.ts'

/** An input and what must come of it. */
export interface BuiltFixture {
  readonly fixture: Fixture
  readonly inputText: string
}

type CsvRecord = Readonly<Record<string, string>>

const weather = {
  format: 'csv',
  schema:
    'date Date, precipitation Float32, temp_max Float32, temp_min Float32, wind Float32, weather LowCardinality(String)',
  sortingKey: 'date',
} as const

const unharmed = { quarantinedRows: 0, invalidLines: 0, shortLines: 0, quarantine: [], parameters: {} } as const

/** The CSV fixtures, out of the package's files read by `csv-parse`. */
export function csvFixtures(packageFile: (name: string) => string): readonly BuiltFixture[] {
  const weatherText = packageFile('seattle-weather.csv')
  return [
    weatherWhole(weatherText),
    weatherReordered(weatherText),
    weatherBroken(weatherText),
    weatherUnterminated(weatherText),
    airports(packageFile('airports.csv')),
    github(packageFile('github.csv')),
  ]
}

function weatherWhole(inputText: string): BuiltFixture {
  const records = readCsv(inputText)
  const rows = records.map(weatherRow)
  const rainy = records.filter((record) => record['weather'] === 'rain')
  return {
    inputText,
    fixture: {
      ...weather,
      ...unharmed,
      name: 'daily weather of Seattle, a plain CSV',
      input: 'seattle-weather.csv',
      dataSource: 'seattle_weather',
      recordCount: rows.length,
      storedRows: rows.length,
      checks: [
        fingerprintCheck('seattle_weather', rows),
        {
          sql: "SELECT count() AS days, round(sum(precipitation), 1) AS millimetres, max(temp_max) AS hottest FROM seattle_weather WHERE weather = 'rain'",
          row: {
            days: String(rainy.length),
            millimetres: rounded(sum(rainy, 'precipitation'), 1),
            hottest: String(Math.max(...rainy.map((record) => Number(record['temp_max'])))),
          },
        },
        {
          sql: 'SELECT toString(min(date)) AS first, toString(max(date)) AS last, uniqExact(date) AS days FROM seattle_weather',
          row: {
            first: records[0]?.['date'] ?? '',
            last: records.at(-1)?.['date'] ?? '',
            days: String(new Set(records.map((record) => record['date'])).size),
          },
        },
      ],
    },
  }
}

/** The same measurements as a spreadsheet in Europe writes them: byte order mark, semicolons, CRLF, columns in another order. */
function weatherReordered(text: string): BuiltFixture {
  const records = readCsv(text).slice(0, 365)
  const columns = ['weather', 'wind', 'date', 'temp_min', 'temp_max', 'precipitation']
  const lines = records.map((record) => columns.map((column) => record[column]).join(';'))
  return {
    inputText: `\uFEFF${columns.join(';')}\r\n${lines.join('\r\n')}\r\n`,
    fixture: {
      ...weather,
      ...unharmed,
      name: 'a byte order mark, semicolons, CRLF and columns in another order',
      input: 'seattle-weather-reordered.csv',
      dataSource: 'seattle_weather_reordered',
      parameters: { dialect_delimiter: ';' },
      recordCount: records.length,
      storedRows: records.length,
      checks: [fingerprintCheck('seattle_weather_reordered', records.map(weatherRow))],
    },
  }
}

function weatherBroken(text: string): BuiltFixture {
  const [header = '', ...lines] = text.split('\n').slice(0, 121)
  const broken = [
    { after: 3, line: '2012-01-05,1.3,8.9,2.8,strong,rain' },
    { after: 10, line: '2012-01-12,0.0,6.1,-1.1,strong,sun' },
    { after: 20, line: 'yesterday,0.0,6.1,-1.1,5.1,sun' },
    { after: 30, line: '2012-13-45,0.0,6.1,-1.1,5.1,sun' },
    { after: 40, line: '2012-02-11,,6.1,-1.1,5.1,rain' },
    { after: 41, line: '2012-02-12,0.3,7 degrees,-1.1,5.1,"rain, then sun"' },
    { after: 60, line: '2012-03-01,0.0' },
    { after: 61, line: '' },
    { after: 62, line: '2012-03-03,0.0,11.1,3.3,5.1,sun,and then some' },
  ]
  const mixed = lines.flatMap((line, index) => [
    line,
    ...broken.filter(({ after }) => after === index).map((bad) => bad.line),
  ])
  const good = readCsv([header, ...lines].join('\n'))
  return {
    // Without a final newline: the last row counts all the same.
    inputText: [header, ...mixed].join('\n'),
    fixture: {
      ...weather,
      name: 'a CSV with wrong numbers, wrong dates, a short, a long and an empty line and no final newline',
      input: 'seattle-weather-broken.csv',
      dataSource: 'seattle_weather_broken',
      parameters: {},
      recordCount: good.length + 8,
      storedRows: good.length,
      quarantinedRows: 8,
      invalidLines: 1,
      shortLines: 1,
      quarantine: [
        { column: 'wind', reason: "value 'strong' on column 'wind' is not Float32", rowCount: 2 },
        { column: 'date', reason: "value 'yesterday' on column 'date' is not Date", rowCount: 1 },
        { column: 'date', reason: "value '2012-13-45' on column 'date' is not Date", rowCount: 1 },
        { column: 'precipitation', reason: "value '' on column 'precipitation' is not Float32", rowCount: 1 },
        { column: 'temp_max', reason: "value '7 degrees' on column 'temp_max' is not Float32", rowCount: 1 },
        // The short line and the long one are wrong as a whole.
        { column: '', reason: null, rowCount: 2 },
      ],
      checks: [fingerprintCheck('seattle_weather_broken', good.map(weatherRow))],
    },
  }
}

/** Of a quote that nobody closes the line is set aside, and what stands before and behind it is stored. */
function weatherUnterminated(text: string): BuiltFixture {
  const lines = text.split('\n').slice(0, 31)
  const behind = '2012-02-02,0.0,8.3,1.7,2.6,sun'
  const good = readCsv([...lines, behind].join('\n'))
  return {
    inputText: `${lines.join('\n')}\n"2012-02-01,13.5,8.9,3.3,2.7,rain\n${behind}\n`,
    fixture: {
      ...weather,
      name: 'a CSV whose last field is never closed',
      input: 'seattle-weather-unterminated.csv',
      dataSource: 'seattle_weather_unterminated',
      parameters: {},
      recordCount: good.length + 1,
      storedRows: good.length,
      quarantinedRows: 1,
      invalidLines: 1,
      shortLines: 1,
      quarantine: [{ column: '', reason: 'a quote is never closed: "2012-02-01,13.5,8.9,3.3,2.7,rain', rowCount: 1 }],
      checks: [fingerprintCheck('seattle_weather_unterminated', good.map(weatherRow))],
    },
  }
}

function airports(inputText: string): BuiltFixture {
  const records = readCsv(inputText)
  const rows = records.map((record) => ({
    ...record,
    latitude: number(record, 'latitude'),
    longitude: number(record, 'longitude'),
  }))
  const texas = records.filter((record) => record['state'] === 'TX')
  return {
    inputText,
    fixture: {
      ...unharmed,
      name: 'airports, a CSV with quoted commas',
      input: 'airports.csv',
      format: 'csv',
      schema:
        'iata String, name String, city String, state LowCardinality(String), country LowCardinality(String), latitude Float64, longitude Float64',
      dataSource: 'airports',
      sortingKey: 'state, iata',
      recordCount: rows.length,
      storedRows: rows.length,
      checks: [
        fingerprintCheck('airports', rows),
        {
          sql: "SELECT count() AS airports, round(avg(latitude), 6) AS latitude, uniqExact(city) AS cities FROM airports WHERE state = 'TX'",
          row: {
            airports: String(texas.length),
            latitude: rounded(sum(texas, 'latitude') / texas.length, 6),
            cities: String(new Set(texas.map((record) => record['city'])).size),
          },
        },
        {
          sql: "SELECT name, city FROM airports WHERE iata = '53A'",
          row: { name: 'Dr. C.P. Savage, Sr.', city: 'Montezuma' },
        },
      ],
    },
  }
}

function github(inputText: string): BuiltFixture {
  const records = readCsv(inputText)
  const commits = (hour: string) =>
    sum(
      records.filter((record) => record['time']?.slice(11, 13) === hour),
      'count',
    )
  return {
    inputText,
    fixture: {
      ...unharmed,
      name: 'commits by the hour, a CSV with dates in slashes kept as text',
      input: 'github.csv',
      format: 'csv',
      schema: 'time String, count UInt32',
      dataSource: 'github',
      sortingKey: 'time',
      recordCount: records.length,
      storedRows: records.length,
      checks: [
        fingerprintCheck('github', records),
        {
          sql: "SELECT sumIf(count, substring(time, 12, 2) = '14') AS afternoon, sumIf(count, substring(time, 12, 2) = '04') AS night FROM github",
          row: { afternoon: String(commits('14')), night: String(commits('04')) },
        },
      ],
    },
  }
}

function readCsv(text: string): readonly CsvRecord[] {
  return parse(text, { columns: true, skip_empty_lines: true })
}

function weatherRow(record: CsvRecord): FixtureRow {
  return {
    date: record['date'] ?? null,
    precipitation: number(record, 'precipitation'),
    temp_max: number(record, 'temp_max'),
    temp_min: number(record, 'temp_min'),
    wind: number(record, 'wind'),
    weather: record['weather'] ?? null,
  }
}

/** A number as the engine writes it: the shortest text that reads back to it, as JavaScript's own. */
function number(record: CsvRecord, column: string): string {
  return String(Number(record[column]))
}

function sum(records: readonly CsvRecord[], column: string): number {
  return records.reduce((total, record) => total + Number(record[column]), 0)
}

function rounded(value: number, decimals: number): string {
  return String(Number(value.toFixed(decimals)))
}
