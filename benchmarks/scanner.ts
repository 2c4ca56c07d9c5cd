import { parseArgs } from 'node:util'
import { parse as csvParse } from 'csv-parse/sync'
import ndjson from 'ndjson'
import { encodePart, encodeQuarantine } from '../src/codec/arrow/part-encoder.ts'
import { compilePlan, type ParsePlan } from '../src/codec/columns/parse-plan.ts'
import { PartBuilder } from '../src/codec/columns/part-builder.ts'
import { CsvBoundary } from '../src/codec/csv/csv-boundary.ts'
import { defaultCsvDialect } from '../src/codec/csv/csv-dialect.ts'
import { readCsvStart } from '../src/codec/csv/csv-header.ts'
import { CsvScanner } from '../src/codec/csv/csv-scanner.ts'
import { type Frame, FrameAssembler, FrameBuffers, NdjsonBoundary } from '../src/codec/frame-assembler.ts'
import { NdjsonScanner } from '../src/codec/json/ndjson-scanner.ts'
import { ScanKernel } from '../src/codec/scan-kernel/scan-kernel.ts'
import type { ColumnDefinition } from '../src/schema/columns/column-definition.types.ts'
import { parseSchema } from '../src/schema/columns/schema-parser.ts'
import { assert } from '../src/shared/assert.ts'
import { benchEnvironment, describeEnvironment, writeResult } from './support/bench-environment.ts'
import { spreadOf } from './support/statistics.ts'
import { textTable } from './support/text-table.ts'
import type { WorkloadFormat, WorkloadName } from './support/workload.types.ts'
import { badRowCount, bodyPieces } from './support/workload-bytes.ts'
import { workloads } from './support/workloads.ts'

/**
 * Where does one core spend its time between a body and its parts, and how do the parsers of the libraries compare?
 *
 * Each round frames a body that arrives in chunks of 64 KiB, scans the frames into columns and seals these into parts;
 * then, in the same round, `JSON.parse` reads every line, and the packages `ndjson` and `csv-parse` the first part of the
 * body, which for them is enough. These make objects and arrays of texts, and no part. Two rounds warm up.
 *
 * Options: --rows (300000), --rounds (5), --only=nested (parts of names), --out.
 */
const chunkBytes = 64 * 1024
const frameBytes = 8 * 1024 * 1024
const recordBytesMax = 16 * 1024 * 1024
const libraryBytesMax = 4 * 1024 * 1024
const warmUpRounds = 2

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '300000' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    out: { type: 'string', default: 'benchmarks/results/scanner.json' },
  },
})
const rowCount = Number(values.rows)

interface Body {
  readonly name: string
  readonly format: WorkloadFormat
  readonly columns: readonly ColumnDefinition[]
  readonly bytes: Buffer
  readonly badRows: number
}

/** Milliseconds of one round; the libraries' are those that the whole body would take at their speed. */
interface Round {
  readonly framing: number
  readonly scanning: number
  readonly sealing: number
  readonly libraries: Readonly<Record<string, number>>
}

interface BodyResult {
  readonly name: string
  readonly megabytesPerSecond: Readonly<Record<'framing' | 'scanning' | 'sealing' | 'all', number>>
  readonly thousandRowsPerSecond: number
  /** How many times as long as all three stages each library takes. */
  readonly ratios: Readonly<Record<string, number>>
}

await main()

async function main(): Promise<void> {
  const environment = benchEnvironment()
  const results: BodyResult[] = []
  for (const body of bodies()) results.push(await measure(body))
  const header = [
    'body',
    'framing MB/s',
    'scanning',
    'sealing',
    'all three',
    'thousand rows/s',
    'JSON.parse',
    'package',
  ]
  const rows = results.map(({ name, megabytesPerSecond: speed, thousandRowsPerSecond, ratios }) => [
    name,
    ...[speed.framing, speed.scanning, speed.sealing, speed.all].map((value) => value.toFixed(0)),
    thousandRowsPerSecond.toFixed(0),
    ratios['JSON.parse'] === undefined ? '–' : `${ratios['JSON.parse'].toFixed(1)}×`,
    Object.entries(ratios)
      .filter(([library]) => library !== 'JSON.parse')
      .map(([library, ratio]) => `${library} ${ratio.toFixed(1)}×`)
      .join(', '),
  ])
  console.log(`\n${describeEnvironment(environment)}\n\n${textTable(header, rows)}\n`)
  console.log('Ratios say how many times as long the library takes as all three stages, as medians of one run.')
  console.log(`written to ${writeResult(values.out, { question: 'scanner', ...environment, rowCount, results })}`)
}

function bodies(): readonly Body[] {
  const names: readonly WorkloadName[] = ['events', 'nested']
  const formats: readonly WorkloadFormat[] = ['ndjson', 'csv']
  const wanted = values.only.split(',')
  return names
    .flatMap((workload) => formats.flatMap((format) => [null, 100].map((badEvery) => ({ workload, format, badEvery }))))
    .map((plan) => ({
      ...plan,
      name: `${plan.workload}-${plan.format}${plan.badEvery === null ? '' : ', 1 % bad rows'}`,
    }))
    .filter(({ name }) => wanted.some((part) => name.includes(part)))
    .map(({ name, ...choice }) => {
      const plan = { ...choice, rowCount, seed: 1 }
      const { schema } = workloads[plan.workload].formats[plan.format]
      const columns = parseSchema(schema, { columnsMax: 500 })
      return {
        name,
        format: plan.format,
        columns,
        bytes: Buffer.concat([...bodyPieces(plan)]),
        badRows: badRowCount(plan),
      }
    })
}

async function measure(body: Body): Promise<BodyResult> {
  const kernel = new ScanKernel()
  const plan = compilePlan(kernel, body.columns)
  const rounds: Round[] = []
  for (let round = 0; round < warmUpRounds + Number(values.rounds); round += 1) {
    const stages = timeStages(body, kernel, plan)
    const libraries = await timeLibraries(body)
    if (round >= warmUpRounds) rounds.push({ ...stages, libraries })
  }
  const median = (msOf: (round: Round) => number) => spreadOf(rounds.map(msOf)).median
  const megabytes = body.bytes.length / 1e6
  const allMs = (round: Round) => round.framing + round.scanning + round.sealing
  const speed = (msOf: (round: Round) => number) => (megabytes / median(msOf)) * 1_000
  const libraries = Object.keys(rounds[0]?.libraries ?? {})
  return {
    name: body.name,
    megabytesPerSecond: {
      framing: speed((round) => round.framing),
      scanning: speed((round) => round.scanning),
      sealing: speed((round) => round.sealing),
      all: speed(allMs),
    },
    thousandRowsPerSecond: rowCount / median(allMs),
    ratios: Object.fromEntries(
      libraries.map((library) => [library, median((round) => (round.libraries[library] ?? Number.NaN) / allMs(round))]),
    ),
  }
}

function timeStages(body: Body, kernel: ScanKernel, plan: ParsePlan): Omit<Round, 'libraries'> {
  const startedAt = performance.now()
  const frames = frame(body)
  const ms = { framing: performance.now() - startedAt, scanning: 0, sealing: 0 }
  const [first] = frames
  assert(first !== undefined, 'a body has a frame')
  const csv = body.format === 'csv' ? readCsvStart(first, body.columns, defaultCsvDialect) : null
  const counts = { rows: 0, quarantined: 0 }
  for (const { bytes, byteCount } of frames) {
    const scanAt = performance.now()
    const builder = new PartBuilder(plan)
    const scanner =
      csv === null
        ? new NdjsonScanner(kernel, plan, builder)
        : new CsvScanner(kernel, plan, builder, {
            kind: 'csv',
            dialect: defaultCsvDialect,
            fieldColumns: csv.fieldColumns,
          })
    kernel.loadFrame(bytes.subarray(0, byteCount))
    scanner.scan(bytes, csv !== null && bytes === first.bytes ? csv.rowsOffset : 0, byteCount)
    const sealAt = performance.now()
    if (builder.rowCount > 0) encodePart(plan, builder.rowCount)
    if (builder.quarantine.rowCount > 0) encodeQuarantine(plan, builder.quarantine)
    ms.scanning += sealAt - scanAt
    ms.sealing += performance.now() - sealAt
    counts.rows += builder.rowCount
    counts.quarantined += builder.quarantine.rowCount
  }
  assert(counts.quarantined === body.badRows, `${body.badRows} rows are set aside, not ${counts.quarantined}`)
  assert(counts.rows === rowCount - body.badRows, 'every other row is in a block')
  return ms
}

function frame(body: Body): readonly Frame[] {
  const boundary = body.format === 'csv' ? new CsvBoundary(defaultCsvDialect) : new NdjsonBoundary()
  const buffers = new FrameBuffers({ frameBytes, keptMax: 0 })
  const assembler = new FrameAssembler({ frameBytes, recordBytesMax }, boundary, buffers)
  const frames: Frame[] = []
  for (let offset = 0; offset < body.bytes.length; offset += chunkBytes) {
    frames.push(...assembler.push(body.bytes.subarray(offset, offset + chunkBytes)))
  }
  const last = assembler.end()
  return last === null ? frames : [...frames, last]
}

async function timeLibraries({ format, bytes }: Body): Promise<Readonly<Record<string, number>>> {
  const part = bytes.subarray(0, bytes.lastIndexOf(10, libraryBytesMax) + 1)
  const share = part.length / bytes.length
  if (format === 'csv') return { 'csv-parse': (await msOf(() => csvParse(part))) / share }
  return { 'JSON.parse': await msOf(() => parseLines(bytes)), ndjson: (await msOf(() => streamLines(part))) / share }
}

async function msOf(run: () => unknown): Promise<number> {
  const startedAt = performance.now()
  await run()
  return performance.now() - startedAt
}

function parseLines(bytes: Buffer): void {
  let start = 0
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    JSON.parse(bytes.toString('utf8', start, end))
    start = end + 1
  }
}

async function streamLines(bytes: Buffer): Promise<void> {
  const parser = ndjson.parse()
  const ended = new Promise((resolve, reject) => parser.on('end', resolve).on('error', reject))
  parser.on('data', () => undefined)
  for (let offset = 0; offset < bytes.length; offset += chunkBytes)
    parser.write(bytes.subarray(offset, offset + chunkBytes))
  parser.end()
  await ended
}
