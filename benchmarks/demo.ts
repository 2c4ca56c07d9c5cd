import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { repositoryRoot } from '../test/support/repository-root.ts'
import { withBench } from './support/bench.ts'
import { startService } from './support/processes.ts'
import { createServiceClient, type ServiceClient } from './support/service-client.ts'

/**
 * What the service does, to be looked at: real weather (CSV) and real flights (NDJSON) go in with some broken rows among
 * them; the counts, the quarantine by column and reason and the answers of two queries come out. Everything happens on a
 * free port and in a temporary directory that is removed at the end.
 */
interface DemoSet {
  readonly title: string
  readonly name: string
  readonly format: 'csv' | 'ndjson'
  readonly path: string
  readonly schema: string
  readonly sortingKey: string
  /** Put at the end of the real rows. */
  readonly brokenLines: readonly string[]
  readonly question: string
  readonly query: string
}

const demoSets: readonly DemoSet[] = [
  {
    title: 'Daily weather of Seattle, 2012 to 2015, as CSV',
    name: 'weather',
    format: 'csv',
    path: 'fixtures/csv/seattle-weather.csv',
    schema:
      'date Date, precipitation Float32, temp_max Float32, temp_min Float32, wind Float32, weather LowCardinality(String)',
    sortingKey: 'date',
    brokenLines: [
      '2016-01-01,0.0,7.8,-1.1,strong,sun',
      '2016-01-02,0.0,7.8,-1.1,strong,sun',
      '2016-01-03,,4.4,-2.2,2.0,fog',
      'yesterday,0.5,4.4,-2.2,2.0,fog',
      '2016-13-45,0.5,4.4,-2.2,2.0,fog',
      '2016-01-06,12.2',
    ],
    question: 'What was each kind of day like?',
    query: `SELECT weather, count() AS days, round(sum(precipitation)) AS rain_mm, round(avg(temp_max), 1) AS mean_high, max(temp_max) AS highest
      FROM weather GROUP BY weather ORDER BY days DESC`,
  },
  {
    title: 'Two thousand flights of 2001, as NDJSON',
    name: 'flights',
    format: 'ndjson',
    path: 'fixtures/ndjson/flights-2k.ndjson',
    schema: [
      'date DateTime `json:$.date`, delay Int16 `json:$.delay`, distance UInt16 `json:$.distance`',
      'origin LowCardinality(String) `json:$.origin`, destination LowCardinality(String) `json:$.destination`',
    ].join(', '),
    sortingKey: 'origin, date',
    brokenLines: [
      '{"date":"2001-03-31T08:00:00Z","delay":"late","distance":404,"origin":"LAX","destination":"SFO"}',
      '{"date":"2001-03-31T09:00:00Z","delay":"late","distance":404,"origin":"LAX","destination":"SFO"}',
      '{"date":"soon","delay":3,"distance":404,"origin":"LAX","destination":"SFO"}',
      '{"date":"2001-03-31T10:00:00Z","delay":3,"distance":-404,"origin":"LAX","destination":"SFO"}',
      '{"date":"2001-03-31T11:00:00Z","delay":3,"origin":"LAX","destination":"SFO"}',
      '{"date":"2001-03-31T12:00',
    ],
    question: 'From where do the most flights leave, and how late?',
    query: `SELECT origin, count() AS flights, round(avg(delay), 1) AS mean_delay, countIf(delay > 60) AS over_an_hour, uniq(destination) AS destinations
      FROM flights GROUP BY origin ORDER BY flights DESC LIMIT 8`,
  },
]

await withBench(async ({ directory, opened }) => {
  const service = opened(await startService({ directory }))
  print(`Millrace listens on ${service.url}, with its data in ${directory}.`)
  const client = createServiceClient(service)
  for (const set of demoSets) await show(client, set)
})
print('\nThe service is closed and its data removed.')

async function show(client: ServiceClient, set: DemoSet): Promise<void> {
  print(`\n\n${set.title}\n${'─'.repeat(set.title.length)}`)
  await client.createDataSource(set)
  const real = await readFile(join(repositoryRoot, set.path), 'utf8')
  const body = `${real.trimEnd()}\n${set.brokenLines.join('\n')}\n`
  const result = await client.append(set.name, set.format, body)
  const [stored] = await client.rows<{ rowCount: string }>(`SELECT toString(count()) AS rowCount FROM ${set.name}`)

  print(`POST /v0/datasources?mode=append&name=${set.name}&format=${set.format}, ${Buffer.byteLength(body)} bytes`)
  print(`  stored             ${stored?.rowCount ?? '0'} rows`)
  print(`  set aside          ${result.quarantine_rows ?? 0} rows, kept in ${set.name}_quarantine`)
  print(`  invalid            ${result.invalid_lines ?? 0} lines`)
  print(`  the answer says    ${result.error === false ? 'no error' : result.error}`)

  print('\nThe quarantine, by column and reason')
  print(await client.sql(quarantineQuery(set.name)))
  print(set.question)
  print(await client.sql(`${set.query} FORMAT PrettyCompact`))
}

function quarantineQuery(name: string): string {
  return `SELECT arrayStringConcat(c__error_column, ', ') AS column, arrayStringConcat(c__error, '; ') AS reason, count() AS rows
    FROM ${name}_quarantine GROUP BY column, reason ORDER BY column, rows DESC, reason FORMAT PrettyCompact`
}

function print(text: string): void {
  process.stdout.write(`${text.trimEnd()}\n`)
}
