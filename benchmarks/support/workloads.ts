import { SeededRandom } from '../../test/support/seeded-random.ts'

export type WorkloadName = 'events' | 'nested'
export type WorkloadFormat = 'ndjson' | 'csv'

/** One kind of row, in both text formats, and the tables on both sides that store the same values of it. */
export interface Workload {
  readonly csvHeader: string
  /** One record without its line end; a bad one has a word where `badColumn` wants a number. */
  row(random: SeededRandom, rowIndex: number, isBad: boolean): WorkloadRow
  readonly badColumn: string
  readonly formats: Readonly<Record<WorkloadFormat, WorkloadTables>>
}

export interface WorkloadRow {
  readonly ndjson: string
  readonly csv: string
}

export interface WorkloadTables {
  /** Schema string of the data source. */
  readonly schema: string
  readonly sortingKey: string
  /** Columns and sorting key of the ClickHouse table that takes the same bytes. */
  readonly clickHouseColumns: string
  readonly clickHouseSortingKey: string
  /** Settings that ClickHouse needs to read these bytes at all, beside its defaults. */
  readonly clickHouseSettings: Readonly<Record<string, string>>
  /** Two expressions over all columns that are equal when the same rows are stored. */
  readonly checksum: string
  readonly clickHouseChecksum: string
  /** Columns of the Arrow floor: the flat ones, read out of the ClickHouse table. */
  readonly floorSelect: string
}

/**
 * The rows that the benchmarks send.
 *
 * `events` is a flat row of 5 columns and about 85 bytes of NDJSON: 10,000 users, 100 paths. `nested` is an event of
 * 9 columns and about 220 bytes with three objects and an array in it. ClickHouse has no JSONPaths; its table has columns
 * named `user.id` and so on, which `input_format_import_nested_json` fills. That stores the same flat columns, and was about
 * a tenth faster than Tuple columns.
 */
export const workloads: Readonly<Record<WorkloadName, Workload>> = {
  events: eventsWorkload(),
  nested: nestedWorkload(),
}

/** Each workload in each format. */
export const bodyKinds: readonly Pick<BodyPlan, 'format' | 'workload'>[] = [
  { workload: 'events', format: 'ndjson' },
  { workload: 'events', format: 'csv' },
  { workload: 'nested', format: 'ndjson' },
  { workload: 'nested', format: 'csv' },
]

const startMs = Date.UTC(2026, 0, 1)

function eventsWorkload(): Workload {
  const columns = 'ts DateTime64(3), user String, path String, n UInt32, v Float64'
  const tables: WorkloadTables = {
    schema: columns,
    sortingKey: 'user, ts',
    clickHouseColumns: columns,
    clickHouseSortingKey: 'user, ts',
    clickHouseSettings: {},
    checksum: 'sum(cityHash64(ts, user, path, n, v))',
    clickHouseChecksum: 'sum(cityHash64(ts, user, path, n, v))',
    floorSelect: 'ts, user, path, n, v',
  }
  return {
    csvHeader: 'ts,user,path,n,v',
    row: eventsRow,
    badColumn: 'n',
    formats: { ndjson: tables, csv: tables },
  }
}

function eventsRow(random: SeededRandom, rowIndex: number, isBad: boolean): WorkloadRow {
  const ts = new Date(startMs + rowIndex * 7 + random.below(7)).toISOString().slice(0, 23).replace('T', ' ')
  const user = `u${random.below(10_000)}`
  const path = `/p/${random.below(100)}`
  const count = random.below(100_000)
  const v = random.below(1_000_000) / 10_000
  const csvPath = rowIndex % 4 === 0 ? `"${path}"` : path
  return {
    ndjson: `{"ts":"${ts}","user":"${user}","path":"${path}","n":${isBad ? '"many"' : count},"v":${v}}`,
    csv: `${ts},${user},${csvPath},${isBad ? 'many' : count},${v}`,
  }
}

function nestedWorkload(): Workload {
  const flat =
    'id UUID, at DateTime64(3), user_id UInt64, plan LowCardinality(String), url String, referrer Nullable(String), load_ms UInt32, score Float64, tags Array(String)'
  const flatChecksum = 'sum(cityHash64(id, at, user_id, plan, url, referrer, load_ms, score, tags))'
  const withPaths = [
    'id UUID `json:$.id`, at DateTime64(3) `json:$.at`, user_id UInt64 `json:$.user.id`',
    'plan LowCardinality(String) `json:$.user.plan`, url String `json:$.page.url`',
    'referrer Nullable(String) `json:$.page.referrer`, load_ms UInt32 `json:$.timing.load_ms`',
    'score Float64 `json:$.timing.score`, tags Array(String) `json:$.tags[:]`',
  ].join(', ')
  return {
    csvHeader: 'id,at,user_id,plan,url,referrer,load_ms,score,tags',
    row: nestedRow,
    badColumn: 'load_ms',
    formats: {
      ndjson: {
        schema: withPaths,
        sortingKey: 'user_id, at',
        clickHouseColumns: [
          'id UUID, at DateTime64(3), `user.id` UInt64, `user.plan` LowCardinality(String), `page.url` String',
          '`page.referrer` Nullable(String), `timing.load_ms` UInt32, `timing.score` Float64, tags Array(String)',
        ].join(', '),
        clickHouseSortingKey: '`user.id`, at',
        clickHouseSettings: { date_time_input_format: 'best_effort', input_format_import_nested_json: '1' },
        checksum: flatChecksum,
        clickHouseChecksum:
          'sum(cityHash64(id, at, user.id, user.plan, page.url, page.referrer, timing.load_ms, timing.score, tags))',
        floorSelect:
          'id, at, user.id AS user_id, user.plan AS plan, page.url AS url, page.referrer AS referrer, timing.load_ms AS load_ms, timing.score AS score, tags',
      },
      csv: {
        schema: flat,
        sortingKey: 'user_id, at',
        clickHouseColumns: flat,
        clickHouseSortingKey: 'user_id, at',
        clickHouseSettings: { date_time_input_format: 'best_effort' },
        checksum: flatChecksum,
        clickHouseChecksum: flatChecksum,
        floorSelect: 'id, at, user_id, plan, url, referrer, load_ms, score, tags',
      },
    },
  }
}

function nestedRow(random: SeededRandom, rowIndex: number, isBad: boolean): WorkloadRow {
  const id = [8, 4, 4, 4, 12].map((digitCount) => random.hex(digitCount)).join('-')
  const at = new Date(startMs + rowIndex * 11 + random.below(11)).toISOString()
  const userId = random.below(100_000)
  const plan = random.pick(['free', 'pro', 'team', 'max'])
  const url = `https://x.example/p/${random.below(5_000)}${random.pick(['', '', '?q=b,c'])}`
  const referrer = random.below(3) === 0 ? `https://n.io/${random.below(300)}` : null
  const loadMs = random.below(5_000)
  const score = random.below(100) / 100
  const tags = Array.from({ length: random.below(3) }, () => random.pick(['new', 'web', 'app', 'ios']))
  const load = isBad ? 'slow' : String(loadMs)
  return {
    ndjson: `{"id":"${id}","at":"${at}","user":{"id":${userId},"plan":"${plan}"},"page":{"url":"${url}","referrer":${JSON.stringify(referrer)}},"timing":{"load_ms":${isBad ? '"slow"' : load},"score":${score}},"tags":${JSON.stringify(tags)}}`,
    csv: `${id},${at},${userId},${plan},"${url}",${referrer ?? ''},${load},${score},"[${tags.map((tag) => `'${tag}'`).join(',')}]"`,
  }
}

/** Rows to make, as plain data that crosses to the sending process. */
export interface BodyPlan {
  readonly workload: WorkloadName
  readonly format: WorkloadFormat
  readonly rowCount: number
  readonly seed: number
  /** Each row whose index divides by it is bad; null makes none bad. */
  readonly badEvery: number | null
}

/** Rows gathered into one piece; a piece is about 700 KiB to 2 MiB. */
const rowsPerPiece = 8_192

/** The bytes of a body piece by piece; the same plan gives the same bytes. A CSV body starts with its header. */
export function* bodyPieces(plan: BodyPlan): Generator<Buffer> {
  const workload = workloads[plan.workload]
  const random = new SeededRandom(plan.seed)
  let lines = plan.format === 'csv' ? [workload.csvHeader] : []
  for (let rowIndex = 0; rowIndex < plan.rowCount; rowIndex += 1) {
    const isBad = plan.badEvery !== null && rowIndex % plan.badEvery === 0
    lines.push(workload.row(random, rowIndex, isBad)[plan.format])
    if (lines.length < rowsPerPiece) continue
    yield Buffer.from(`${lines.join('\n')}\n`)
    lines = []
  }
  if (lines.length > 0) yield Buffer.from(`${lines.join('\n')}\n`)
}

/** How many rows of the plan are bad. */
export function badRowCount(plan: BodyPlan): number {
  return plan.badEvery === null ? 0 : Math.ceil(plan.rowCount / plan.badEvery)
}
