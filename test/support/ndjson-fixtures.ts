import type { BuiltFixture } from './csv-fixtures.ts'
import { type FixtureRow, fingerprintCheck } from './fixture-fingerprint.ts'

type JsonRecord = Readonly<Record<string, unknown>>

const flightsTable = {
  format: 'ndjson',
  schema: [
    'date DateTime `json:$.date`, delay Int16 `json:$.delay`, distance UInt16 `json:$.distance`',
    'origin LowCardinality(String) `json:$.origin`, destination LowCardinality(String) `json:$.destination`',
  ].join(', '),
  sortingKey: 'origin, date',
} as const

const unharmed = { quarantinedRows: 0, invalidLines: 0, shortLines: 0, quarantine: [], parameters: {} } as const

/** The NDJSON fixtures, out of the package's files read by `JSON.parse`. */
export function ndjsonFixtures(packageFile: (name: string) => string): readonly BuiltFixture[] {
  const flightRecords = flights(packageFile('flights-2k.json'))
  return [
    flightsWhole(flightRecords),
    flightsBroken(flightRecords),
    earthquakes(packageFile('earthquakes.json')),
    movies(packageFile('movies.json')),
  ]
}

interface Flight {
  readonly date: string
  readonly delay: number
  readonly distance: number
  readonly origin: string
  readonly destination: string
}

/** The package writes `2001/01/01 06:55`; the fixture writes the same minute in ISO 8601. */
function flights(text: string): readonly Flight[] {
  const records = JSON.parse(text) as readonly Flight[] // The shape of the package's file.
  return records.map((flight) => ({ ...flight, date: `${flight.date.replaceAll('/', '-').replace(' ', 'T')}:00Z` }))
}

function flightsWhole(records: readonly Flight[]): BuiltFixture {
  const late = records.filter((flight) => flight.delay > 60)
  const fromChicago = records.filter((flight) => flight.origin === 'ORD')
  return {
    inputText: ndjson(records),
    fixture: {
      ...flightsTable,
      ...unharmed,
      name: 'flights, a flat NDJSON',
      input: 'flights-2k.ndjson',
      dataSource: 'flights',
      recordCount: records.length,
      storedRows: records.length,
      checks: [
        fingerprintCheck('flights', records.map(flightRow)),
        {
          sql: 'SELECT count() AS late, sum(delay) AS minutes FROM flights WHERE delay > 60',
          row: { late: String(late.length), minutes: String(total(late.map((flight) => flight.delay))) },
        },
        {
          sql: "SELECT uniqExact(destination) AS destinations, max(distance) AS farthest FROM flights WHERE origin = 'ORD'",
          row: {
            destinations: String(new Set(fromChicago.map((flight) => flight.destination)).size),
            farthest: String(Math.max(...fromChicago.map((flight) => flight.distance))),
          },
        },
      ],
    },
  }
}

function flightsBroken(records: readonly Flight[]): BuiltFixture {
  const good = records.slice(0, 200)
  const flight = { date: '2001-01-03T10:00:00Z', delay: 5, distance: 404, origin: 'LAX', destination: 'SFO' }
  const { distance: _, ...withoutDistance } = flight
  const broken = new Map<number, readonly string[]>([
    [5, [JSON.stringify({ ...flight, delay: 'late' })]],
    [17, [JSON.stringify({ ...flight, delay: 'late' }), JSON.stringify({ ...flight, delay: 'late' })]],
    [30, [JSON.stringify({ ...flight, date: 'soon' }), '']],
    [31, [JSON.stringify({ ...flight, date: 'soon' }), '   ']],
    [60, [JSON.stringify(withoutDistance), JSON.stringify(withoutDistance)]],
    [77, [JSON.stringify({ ...flight, origin: null })]],
    [99, [JSON.stringify({ ...flight, distance: -5 })]],
    [100, [JSON.stringify({ ...flight, delay: { minutes: 5 } })]],
    [120, ['{"date": "2001-01-']],
    [140, ['[1,2,3]']],
    [150, ['hello']],
  ])
  const lines = good.flatMap((record, index) => {
    // A key that no column asks for is ignored.
    const text = JSON.stringify(index % 50 === 0 ? { ...record, carrier: 'unknown' } : record)
    return [text, ...(broken.get(index) ?? [])]
  })
  return {
    inputText: `${lines.join('\n')}\n`,
    fixture: {
      ...flightsTable,
      name: 'an NDJSON with wrong kinds, missing keys, nulls, blank lines and lines that are no object',
      input: 'flights-broken.ndjson',
      dataSource: 'flights_broken',
      parameters: {},
      recordCount: good.length + 13,
      storedRows: good.length,
      quarantinedRows: 10,
      invalidLines: 3,
      shortLines: 0,
      quarantine: [
        { column: 'delay', reason: "value 'late' on column 'delay' is not Int16", rowCount: 3 },
        { column: 'delay', reason: null, rowCount: 4 },
        { column: 'date', reason: "value 'soon' on column 'date' is not DateTime", rowCount: 2 },
        { column: 'distance', reason: "value '-5' on column 'distance' is not UInt16", rowCount: 1 },
        { column: 'distance', reason: null, rowCount: 3 },
        { column: 'origin', reason: null, rowCount: 1 },
      ],
      checks: [fingerprintCheck('flights_broken', good.map(flightRow))],
    },
  }
}

function flightRow(flight: Flight): FixtureRow {
  return {
    date: flight.date.slice(0, 19).replace('T', ' '),
    delay: String(flight.delay),
    distance: String(flight.distance),
    origin: flight.origin,
    destination: flight.destination,
  }
}

interface Earthquake {
  readonly id: string
  readonly properties: {
    readonly mag: number
    readonly place: string
    readonly time: number
    readonly felt: number | null
    readonly tsunami: number
    readonly magType: string
  }
  readonly geometry: { readonly coordinates: readonly number[] }
}

/** Records of GeoJSON as they are: three levels of objects, an array, nulls, and many keys that nobody asks for. */
function earthquakes(text: string): BuiltFixture {
  const collection = JSON.parse(text) as { readonly features: readonly Earthquake[] } // The shape of the package's file.
  const records = collection.features.slice(0, 600)
  const felt = records.filter(({ properties }) => properties.felt !== null)
  return {
    inputText: ndjson(records),
    fixture: {
      ...unharmed,
      name: 'earthquakes, a nested NDJSON with an array and nulls',
      input: 'earthquakes.ndjson',
      format: 'ndjson',
      schema: [
        'id String `json:$.id`, mag Float64 `json:$.properties.mag`, place String `json:$.properties.place`',
        'time_ms Int64 `json:$.properties.time`, felt Nullable(UInt32) `json:$.properties.felt`',
        'tsunami UInt8 `json:$.properties.tsunami`, mag_type LowCardinality(String) `json:$.properties.magType`',
        'coordinates Array(Float64) `json:$.geometry.coordinates[:]`',
      ].join(', '),
      dataSource: 'earthquakes',
      sortingKey: 'time_ms',
      recordCount: records.length,
      storedRows: records.length,
      checks: [
        fingerprintCheck('earthquakes', records.map(earthquakeRow)),
        {
          sql: 'SELECT count() AS places, sum(felt) AS reports, round(max(mag), 2) AS strongest FROM earthquakes WHERE felt IS NOT NULL',
          row: {
            places: String(felt.length),
            reports: String(total(felt.map(({ properties }) => properties.felt ?? 0))),
            strongest: String(Number(Math.max(...felt.map(({ properties }) => properties.mag)).toFixed(2))),
          },
        },
        {
          sql: 'SELECT countIf(coordinates[3] > 100) AS deep, countIf(length(coordinates) = 3) AS places FROM earthquakes',
          row: {
            deep: String(records.filter(({ geometry }) => (geometry.coordinates[2] ?? 0) > 100).length),
            places: String(records.length),
          },
        },
      ],
    },
  }
}

function earthquakeRow({ id, properties, geometry }: Earthquake): FixtureRow {
  return {
    id,
    mag: String(properties.mag),
    place: properties.place,
    time_ms: String(properties.time),
    felt: textOrNull(properties.felt),
    tsunami: String(properties.tsunami),
    mag_type: properties.magType,
    coordinates: `[${geometry.coordinates.map(String).join(',')}]`,
  }
}

/** Keys of the movies that the fixture keeps, and what it calls them: a path has no blanks. */
const movieKeys: Readonly<Record<string, string>> = {
  Title: 'title',
  'US Gross': 'us_gross',
  'Production Budget': 'production_budget',
  'Release Date': 'release_date',
  Distributor: 'distributor',
  'Major Genre': 'genre',
  Director: 'director',
  'Rotten Tomatoes Rating': 'tomatoes',
  'IMDB Rating': 'imdb_rating',
  'IMDB Votes': 'imdb_votes',
}

/**
 * Films with the faults the package keeps on purpose: titles that are numbers, one that is null, letters outside ASCII.
 * In every second record the keys that are null are left out, so that records have different keys.
 */
function movies(text: string): BuiltFixture {
  const all = JSON.parse(text) as readonly JsonRecord[] // The shape of the package's file.
  const chosen = all.filter((movie, index) => index < 600 || typeof movie['Title'] !== 'string')
  const records = chosen.map((movie, index) => {
    const entries = Object.entries(movieKeys).map(([key, name]) => [name, movie[key]] as const)
    return Object.fromEntries(index % 2 === 0 ? entries : entries.filter(([, value]) => value !== null))
  })
  const rated = records.filter((record) => typeof record['tomatoes'] === 'number')
  return {
    inputText: ndjson(records),
    fixture: {
      ...unharmed,
      name: 'films, a ragged NDJSON with numbers for titles',
      input: 'movies.ndjson',
      format: 'ndjson',
      schema: [
        "title String `json:$.title` DEFAULT 'untitled', us_gross Nullable(UInt64) `json:$.us_gross`",
        'production_budget Nullable(UInt64) `json:$.production_budget`, release_date String `json:$.release_date`',
        'distributor LowCardinality(Nullable(String)) `json:$.distributor`, genre LowCardinality(Nullable(String)) `json:$.genre`',
        'director Nullable(String) `json:$.director`, tomatoes Nullable(UInt8) `json:$.tomatoes`',
        'imdb_rating Nullable(Float32) `json:$.imdb_rating`, imdb_votes Nullable(UInt32) `json:$.imdb_votes`',
      ].join(', '),
      dataSource: 'movies',
      sortingKey: 'title',
      recordCount: records.length,
      storedRows: records.length,
      checks: [
        fingerprintCheck('movies', records.map(movieRow)),
        {
          sql: 'SELECT count() AS rated, sum(tomatoes) AS points, countIf(director IS NULL) AS unnamed FROM movies WHERE tomatoes IS NOT NULL',
          row: {
            rated: String(rated.length),
            points: String(total(rated.map((record) => Number(record['tomatoes'])))),
            unnamed: String(rated.filter((record) => record['director'] == null).length),
          },
        },
      ],
    },
  }
}

function movieRow(record: JsonRecord): FixtureRow {
  const cells = Object.values(movieKeys).map((name) => [name, textOrNull(record[name])] as const)
  const row = Object.fromEntries(cells)
  return { ...row, title: row['title'] ?? 'untitled' }
}

function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value)
}

function ndjson(records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('')
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
