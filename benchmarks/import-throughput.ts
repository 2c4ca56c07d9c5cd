import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startClickHouseServer } from '../test/support/clickhouse-server.ts'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import { measureCase } from './support/import-case.ts'
import type { Bench, ImportCase, ImportCaseResult } from './support/import-case.types.ts'
import { startSendingProcess } from './support/sending-process.ts'
import { startServiceProcess } from './support/service-process.ts'
import { throughputTable } from './support/throughput-table.ts'

/**
 * How many rows a second does an append of a large body take, beside a ClickHouse server that takes the same bytes?
 *
 * The service (`dist/src/main.js`), a ClickHouse server made of the same engine, and the sender are three processes on one
 * machine. In each round the same body goes, in turn, to the service by `POST /v0/datasources?mode=append`, to ClickHouse
 * by HTTP `INSERT … FORMAT JSONEachRow` or `CSVWithNames`, to ClickHouse as Arrow made beforehand (the floor: no text to
 * parse), and, with 1 % of bad rows, to the service again. The first two rounds warm up and do not count.
 *
 * Every run fills a new table. After it the count and a checksum over all columns must equal what the engine reads out of
 * the same file by itself; then the table is dropped with the merges that are still going on in it, so no run stands
 * beside another's merges. Merges that start during a run belong to its processor time, on both sides.
 *
 * ClickHouse runs with its defaults; `workloads.ts` says what it needs beside them for the nested record.
 *
 * Options: --rows (1000000), --rounds (9, and two to warm up), --only=events-ndjson,nested (parts of case names), --seed,
 * --target-ndjson and --target-csv (exit code 1 when a median ratio is below), --clickhouse-only, --out.
 */
const cases: readonly ImportCase[] = [
  { name: 'events-ndjson', workload: 'events', format: 'ndjson' },
  { name: 'events-csv', workload: 'events', format: 'csv' },
  { name: 'nested-ndjson', workload: 'nested', format: 'ndjson' },
  { name: 'nested-csv', workload: 'nested', format: 'csv' },
]

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '9' },
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: '20260101' },
    'target-ndjson': { type: 'string' },
    'target-csv': { type: 'string' },
    'clickhouse-only': { type: 'boolean', default: false },
    out: { type: 'string', default: 'benchmarks/results/import-throughput.json' },
  },
})

await main()

async function main(): Promise<void> {
  const environment = benchEnvironment()
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  try {
    const results = await measureCases(directory)
    console.log(`\n${describeEnvironment(environment)}\n\n${throughputTable(results)}\n`)
    const options = { rows: Number(values.rows), rounds: Number(values.rounds), seed: Number(values.seed) }
    console.log(
      `written to ${writeResult(values.out, { question: 'import-throughput', ...environment, options, cases: results })}`,
    )
    reportTargets(results)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function measureCases(directory: string): Promise<readonly ImportCaseResult[]> {
  const sender = startSendingProcess()
  const clickHouse = await startClickHouseServer({ directory: join(directory, 'clickhouse') })
  try {
    const service = values['clickhouse-only']
      ? null
      : await startServiceProcess({ directory: join(directory, 'service') })
    try {
      return await measureChosen({ directory, sender, service, clickHouse })
    } finally {
      await service?.close()
    }
  } finally {
    await clickHouse.close()
    await sender.close()
  }
}

async function measureChosen(bench: Bench): Promise<readonly ImportCaseResult[]> {
  const wanted = values.only.split(',')
  const options = { rowCount: Number(values.rows), roundCount: Number(values.rounds), seed: Number(values.seed) }
  const results: ImportCaseResult[] = []
  for (const importCase of cases) {
    if (!wanted.some((part) => importCase.name.includes(part))) continue
    console.log(`${importCase.name}: ${options.rowCount} rows, ${options.roundCount} rounds and two to warm up`)
    results.push(await measureCase(bench, importCase, options))
  }
  return results
}

function reportTargets(results: readonly ImportCaseResult[]): void {
  for (const { name, ratio } of results) {
    const target = name.endsWith('-csv') ? values['target-csv'] : values['target-ndjson']
    if (target === undefined || ratio === null) continue
    const isMet = ratio.median >= Number(target)
    console.log(`${name}: ${ratio.median.toFixed(2)} × ClickHouse, target ${target}: ${isMet ? 'met' : 'MISSED'}`)
    if (!isMet) process.exitCode = 1
  }
}
