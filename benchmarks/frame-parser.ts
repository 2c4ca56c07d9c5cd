import { parseArgs } from 'node:util'
import { defaultCsvDialect } from '../src/codec/csv/csv-dialect.ts'
import { readCsvStart } from '../src/codec/csv/csv-header.ts'
import { framePaddingBytes } from '../src/codec/frame-assembler.ts'
import { FrameParser } from '../src/codec/parse-frame.ts'
import type { ParseTask } from '../src/codec/parse-task.types.ts'
import { parseSchema } from '../src/schema/columns/schema-parser.ts'
import { assert } from '../src/shared/assert.ts'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import { type Spread, spreadOf } from './support/statistics.ts'
import { textTable } from './support/text-table.ts'
import type { WorkloadFormat, WorkloadName } from './support/workload.types.ts'
import { badRowCount, bodyPieces } from './support/workload-bytes.ts'
import { workloads } from './support/workloads.ts'

/**
 * How fast does one core turn frames of text into sealed Arrow parts, without socket, thread border and engine?
 *
 * Frames of 8 MiB go through `FrameParser` one after the other on this thread; rows and rows set aside are counted. Beside
 * it stands `JSON.parse` of every line of the same NDJSON, which finds no column and writes nothing. Two rounds warm up.
 *
 * Options: --rows (500000), --rounds (7), --only=nested (parts of names), --out.
 */
const frameBytes = 8 * 1024 * 1024
const warmUpRounds = 2
const badEvery = 100

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '500000' },
    rounds: { type: 'string', default: '7' },
    only: { type: 'string', default: '' },
    out: { type: 'string', default: 'benchmarks/results/frame-parser.json' },
  },
})

interface Timing {
  readonly name: string
  readonly megabytesPerSecond: Spread
  readonly thousandRowsPerSecond: Spread
}

main()

function main(): void {
  const environment = benchEnvironment()
  const results = timings()
  const rows = results.map(({ name, megabytesPerSecond, thousandRowsPerSecond }) => [
    name,
    ...[megabytesPerSecond.min, megabytesPerSecond.median, megabytesPerSecond.max].map((value) => value.toFixed(0)),
    thousandRowsPerSecond.median.toFixed(0),
  ])
  const header = ['frames of', 'MB/s min', 'median', 'max', 'thousand rows/s']
  console.log(`\n${describeEnvironment(environment)}\n\n${textTable(header, rows)}\n`)
  console.log(`written to ${writeResult(values.out, { question: 'frame-parser', ...environment, timings: results })}`)
}

function timings(): readonly Timing[] {
  const wanted = values.only.split(',')
  const names: readonly WorkloadName[] = ['events', 'nested']
  const formats: readonly WorkloadFormat[] = ['ndjson', 'csv']
  const chosen = names.flatMap((workload) => formats.map((format) => ({ workload, format })))
  return chosen
    .filter(({ workload, format }) => wanted.some((part) => `${workload}-${format}`.includes(part)))
    .flatMap(({ workload, format }) => [
      timeFrames(workload, format, null),
      timeFrames(workload, format, badEvery),
      ...(format === 'ndjson' ? [timeJsonParse(workload)] : []),
    ])
}

function timeFrames(workload: WorkloadName, format: WorkloadFormat, everyBad: number | null): Timing {
  const plan = { workload, format, rowCount: Number(values.rows), seed: 1, badEvery: everyBad }
  const tasks = makeTasks(workload, format, [...bodyPieces(plan)])
  const parser = new FrameParser()
  const badRows = badRowCount(plan)
  return time(`${workload}-${format}${everyBad === null ? '' : ', 1 % bad rows'}`, byteCountOf(tasks), () => {
    const counts = { rows: 0, quarantined: 0 }
    for (const task of tasks) {
      const result = parser.parse(task)
      counts.rows += result.rowCount
      counts.quarantined += result.quarantinedRowCount
    }
    assert(counts.quarantined === badRows, `${badRows} rows are set aside, not ${counts.quarantined}`)
    assert(counts.rows === plan.rowCount - badRows, 'every other row is in a block')
  })
}

function timeJsonParse(workload: WorkloadName): Timing {
  const plan = { workload, format: 'ndjson', rowCount: Number(values.rows), seed: 1, badEvery: null } as const
  const body = Buffer.concat([...bodyPieces(plan)])
  return time(`${workload}-ndjson, JSON.parse alone`, body.length, () => {
    let start = 0
    for (let end = body.indexOf(10); end !== -1; end = body.indexOf(10, start)) {
      JSON.parse(body.toString('utf8', start, end))
      start = end + 1
    }
  })
}

function time(name: string, byteCount: number, run: () => void): Timing {
  const elapsed: number[] = []
  for (let round = 0; round < warmUpRounds + Number(values.rounds); round += 1) {
    const startedAt = performance.now()
    run()
    if (round >= warmUpRounds) elapsed.push(performance.now() - startedAt)
  }
  return {
    name,
    megabytesPerSecond: spreadOf(elapsed.map((ms) => byteCount / ms / 1_000)),
    thousandRowsPerSecond: spreadOf(elapsed.map((ms) => Number(values.rows) / ms)),
  }
}

/** Frames as the service cuts them, made before the clock starts. The parser leaves a frame as it is, so rounds share them. */
function makeTasks(workload: WorkloadName, format: WorkloadFormat, pieces: readonly Buffer[]): readonly ParseTask[] {
  const columns = parseSchema(workloads[workload].formats[format].schema, { columnsMax: 500 })
  const frames = gatherFrames(pieces)
  const first = frames[0]
  assert(first !== undefined, 'a body has a frame')
  const csv = format === 'csv' ? readCsvStart(first, columns, defaultCsvDialect) : null
  return frames.map(({ bytes, byteCount }, index) => ({
    planKey: `${workload}-${format}`,
    columns,
    frame: bytes,
    byteCount,
    start: index === 0 && csv !== null ? csv.rowsOffset : 0,
    bodyEnds: [byteCount],
    record:
      csv === null ? { kind: 'ndjson' } : { kind: 'csv', dialect: defaultCsvDialect, fieldColumns: csv.fieldColumns },
    partPaths: null,
  }))
}

function gatherFrames(
  pieces: readonly Buffer[],
): readonly { readonly bytes: Uint8Array; readonly byteCount: number }[] {
  const groups: Buffer[][] = []
  let size = frameBytes
  for (const piece of pieces) {
    // A piece holds whole records, and a frame as many pieces as fit.
    if (size + piece.length > frameBytes) {
      groups.push([])
      size = 0
    }
    groups.at(-1)?.push(piece)
    size += piece.length
  }
  return groups.map((group) => {
    const byteCount = group.reduce((total, piece) => total + piece.length, 0)
    return { bytes: new Uint8Array(Buffer.concat(group, byteCount + framePaddingBytes)), byteCount }
  })
}

function byteCountOf(tasks: readonly ParseTask[]): number {
  return tasks.reduce((total, task) => total + task.byteCount, 0)
}
