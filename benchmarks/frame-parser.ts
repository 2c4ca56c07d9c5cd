import { parse as csvParse } from 'csv-parse/sync'
import ndjson from 'ndjson'
import { CsvBoundary } from '../src/codec/csv/csv-boundary.ts'
import { defaultCsvDialect } from '../src/codec/csv/csv-dialect.ts'
import { readCsvStart } from '../src/codec/csv/csv-header.ts'
import { type Frame, FrameAssembler, FrameBuffers, NdjsonBoundary } from '../src/codec/frame-assembler.ts'
import { FrameParser } from '../src/codec/parse-frame.ts'
import type { ParseTask } from '../src/codec/parse-task.types.ts'
import { parseSchema } from '../src/schema/columns/schema-parser.ts'
import { assert } from '../src/shared/assert.ts'
import { isChosen, readOptions } from './support/bench.ts'
import { report } from './support/report.ts'
import { medianOf } from './support/statistics.ts'
import { type BodyPlan, badRowCount, bodyKinds, bodyPieces, workloads } from './support/workloads.ts'

/**
 * How fast does one core turn a body into Arrow parts, without socket, thread border and engine, and how do the parsers of the
 * libraries compare?
 *
 * Each round frames a body that arrives in chunks of 64 KiB and parses the frames into sealed parts; then, in the same round,
 * `JSON.parse` reads every line, and the packages `ndjson` and `csv-parse` the first part of the body, which for them is
 * enough. These make objects and arrays of texts, and no part. Two rounds warm up and do not count.
 */
const options = readOptions({ rows: 300_000, rounds: 5, only: '' })
const chunkBytes = 64 * 1024
const frameBytes = 8 * 1024 * 1024
const recordBytesMax = 16 * 1024 * 1024
const libraryBytesMax = 4 * 1024 * 1024
const warmUpRounds = 2

/** Milliseconds of one round; the libraries' are those that the whole body would take at their speed. */
interface Round {
  readonly framing: number
  readonly parsing: number
  readonly json: number | null
  readonly library: number
}

const results: { readonly name: string; readonly byteCount: number; readonly rounds: readonly Round[] }[] = []
for (const kind of bodyKinds.flatMap((one) => [null, 100].map((badEvery) => ({ ...one, badEvery })))) {
  const name = `${kind.workload}-${kind.format}${kind.badEvery === null ? '' : ', 1 % bad rows'}`
  if (!isChosen(options.only, name)) continue
  const plan = { ...kind, rowCount: options.rows, seed: 1 }
  const body = Buffer.concat([...bodyPieces(plan)])
  const parser = new FrameParser()
  const rounds: Round[] = []
  for (let round = -warmUpRounds; round < options.rounds; round += 1) {
    const measured = { ...timeStages(plan, body, parser), ...(await timeLibraries(plan, body)) }
    if (round >= 0) rounds.push(measured)
  }
  results.push({ name, byteCount: body.length, rounds })
}
const header = ['body', 'framing MB/s', 'parsing', 'both', 'thousand rows/s', 'JSON.parse', 'ndjson or csv-parse']
const rows = results.map(({ name, byteCount, rounds }) => {
  const median = (value: (round: Round) => number) => medianOf(rounds.map(value))
  const bothMs = ({ framing, parsing }: Round) => framing + parsing
  const isJson = rounds.every(({ json }) => json !== null)
  return [
    name,
    ...[median(({ framing }) => framing), median(({ parsing }) => parsing), median(bothMs)].map((ms) =>
      (byteCount / ms / 1_000).toFixed(0),
    ),
    (options.rows / median(bothMs)).toFixed(0),
    isJson ? `${median((round) => (round.json ?? 0) / bothMs(round)).toFixed(1)}×` : '–',
    `${median((round) => round.library / bothMs(round)).toFixed(1)}×`,
  ]
})
const notes = 'Ratios say how many times as long the library takes as framing and parsing, as medians of one run.'
report({ header, rows, notes }, options.out, results)

function timeStages(plan: BodyPlan, body: Buffer, parser: FrameParser): Pick<Round, 'framing' | 'parsing'> {
  const startedAt = performance.now()
  const frames = framesOf(plan, body)
  const framing = performance.now() - startedAt
  const tasks = tasksOf(plan, frames)
  const counts = { rows: 0, quarantined: 0 }
  const parsedAt = performance.now()
  for (const task of tasks) {
    const result = parser.parse(task)
    counts.rows += result.rowCount
    counts.quarantined += result.quarantinedRowCount
  }
  const parsing = performance.now() - parsedAt
  const badRows = badRowCount(plan)
  assert(counts.quarantined === badRows, `${badRows} rows are set aside, not ${counts.quarantined}`)
  assert(counts.rows === plan.rowCount - badRows, 'every other row is in a part')
  return { framing, parsing }
}

function framesOf({ format }: BodyPlan, body: Buffer): readonly Frame[] {
  const boundary = format === 'csv' ? new CsvBoundary(defaultCsvDialect) : new NdjsonBoundary()
  const buffers = new FrameBuffers({ frameBytes, keptMax: 0 })
  const assembler = new FrameAssembler({ frameBytes, recordBytesMax }, boundary, buffers)
  const frames: Frame[] = []
  for (let offset = 0; offset < body.length; offset += chunkBytes) {
    frames.push(...assembler.push(body.subarray(offset, offset + chunkBytes)))
  }
  const last = assembler.end()
  return last === null ? frames : [...frames, last]
}

function tasksOf({ workload, format }: BodyPlan, frames: readonly Frame[]): readonly ParseTask[] {
  const columns = parseSchema(workloads[workload].formats[format].schema, { columnsMax: 500 })
  const [first] = frames
  assert(first !== undefined, 'a body has a frame')
  const csv = format === 'csv' ? readCsvStart(first, columns, defaultCsvDialect) : null
  return frames.map(({ bytes, byteCount }) => ({
    planKey: `${workload}-${format}`,
    columns,
    frame: bytes,
    byteCount,
    start: csv !== null && bytes === first.bytes ? csv.rowsOffset : 0,
    bodyEnds: [byteCount],
    record:
      csv === null ? { kind: 'ndjson' } : { kind: 'csv', dialect: defaultCsvDialect, fieldColumns: csv.fieldColumns },
    partPaths: null,
  }))
}

async function timeLibraries({ format }: BodyPlan, body: Buffer): Promise<Pick<Round, 'json' | 'library'>> {
  const part = body.subarray(0, body.lastIndexOf(10, libraryBytesMax) + 1)
  const share = part.length / body.length
  if (format === 'csv') return { json: null, library: (await msOf(() => csvParse(part))) / share }
  return { json: await msOf(() => parseLines(body)), library: (await msOf(() => streamLines(part))) / share }
}

async function msOf(run: () => unknown): Promise<number> {
  const startedAt = performance.now()
  await run()
  return performance.now() - startedAt
}

function parseLines(body: Buffer): void {
  let start = 0
  for (let end = body.indexOf(10); end !== -1; end = body.indexOf(10, start)) {
    JSON.parse(body.toString('utf8', start, end))
    start = end + 1
  }
}

async function streamLines(body: Buffer): Promise<void> {
  const parser = ndjson.parse()
  const ended = new Promise((resolve, reject) => parser.on('end', resolve).on('error', reject))
  parser.on('data', () => undefined)
  for (let at = 0; at < body.length; at += chunkBytes) parser.write(body.subarray(at, at + chunkBytes))
  parser.end()
  await ended
}
