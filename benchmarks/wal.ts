import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { gibibyte, mebibyte } from '../src/shared/bytes.ts'
import { diskFileLayer } from '../src/wal/file-layer.ts'
import { openWal } from '../src/wal/wal.ts'
import type { NewEntry } from '../src/wal/wal.types.ts'
import { readOptions, withBench } from './support/bench.ts'
import { report } from './support/report.ts'

/**
 * How many appends a second are on disk, by size and by how many wait at once?
 *
 * Each sender waits for its append before it sends the next. Beside each size stands a bare loop that writes as many bytes
 * at the end of a file and syncs them, one after the other: what the disk does without a log. The log's directory is new
 * for each case. A case ends after --ms or 512 MiB.
 * --directory, the system's for temporary files, must be on the disk in question, not in memory.
 */
const caseBytesMax = 512 * mebibyte
const sizes = [100, 10_000, 1_000_000]
const senderCounts = [1, 32, 256]

const options = readOptions({ ms: 1_000, directory: tmpdir() })

interface CaseResult {
  readonly payloadBytes: number
  readonly senderCount: number
  readonly appendsPerSecond: number
  readonly appendsPerSync: number
  /** Of the bare loop with this size, measured just before. */
  readonly bareSyncsPerSecond: number
}

const results: CaseResult[] = []
for (const payloadBytes of sizes) {
  for (const senderCount of senderCounts) {
    const timing = await withBench(async ({ directory }) => {
      const bareSyncsPerSecond = await timeBareLoop(directory, payloadBytes)
      return { ...(await timeLog(directory, payloadBytes, senderCount)), bareSyncsPerSecond }
    }, options.directory)
    results.push({ payloadBytes, senderCount, ...timing })
  }
}
const header = ['payload bytes', 'senders', 'appends/s', 'MB/s', 'appends a sync', 'bare loop/s', 'ratio']
report({ header, rows: results.map(cellsOf) }, options.out, results)

function cellsOf(result: CaseResult): readonly string[] {
  const { payloadBytes, senderCount, appendsPerSecond, appendsPerSync, bareSyncsPerSecond } = result
  return [
    String(payloadBytes),
    String(senderCount),
    appendsPerSecond.toFixed(0),
    ((appendsPerSecond * payloadBytes) / 1e6).toFixed(1),
    appendsPerSync.toFixed(1),
    bareSyncsPerSecond.toFixed(0),
    (appendsPerSecond / bareSyncsPerSecond).toFixed(2),
  ]
}

async function timeLog(directory: string, payloadBytes: number, senderCount: number) {
  const walOptions = {
    directory: join(directory, 'log'),
    markPath: join(directory, 'log-mark'),
    waitingRows: () => 0,
    segmentBytesMax: 64 * mebibyte,
    zerosAheadBytes: mebibyte,
    entryBytesMax: 10 * mebibyte,
    pendingBytesMax: 512 * mebibyte,
    totalBytesMax: 4 * gibibyte,
    streamsMax: 1024,
    onDamage: 'refuse',
    onEvent: (event: unknown) => console.log(event),
  } as const
  const wal = await openWal(walOptions, diskFileLayer)
  const entry = entryOf(payloadBytes)
  await wal.append(entry)
  const appendsMax = caseBytesMax / payloadBytes
  let appendCount = 0
  const start = performance.now()
  const end = start + options.ms
  const send = async () => {
    while (performance.now() < end && appendCount < appendsMax) {
      appendCount += 1
      await wal.append(entry)
    }
  }
  const groupsBefore = wal.stats().groupCount
  await Promise.all(Array.from({ length: senderCount }, send))
  const elapsedMs = performance.now() - start
  const groupCount = wal.stats().groupCount - groupsBefore
  await wal.close()
  return { appendsPerSecond: (appendCount / elapsedMs) * 1000, appendsPerSync: appendCount / groupCount }
}

async function timeBareLoop(directory: string, payloadBytes: number): Promise<number> {
  const file = await diskFileLayer.open(join(directory, 'bare'), 'append')
  const payload = Buffer.alloc(payloadBytes, 'p')
  const countMax = caseBytesMax / payloadBytes
  const start = performance.now()
  let count = 0
  while (performance.now() - start < options.ms && count < countMax) {
    await file.write([payload], count * payloadBytes)
    count += 1
  }
  const elapsedMs = performance.now() - start
  await file.close()
  return (count / elapsedMs) * 1000
}

function entryOf(payloadBytes: number): NewEntry {
  return {
    kind: 'rows',
    stream: 't_0123456789abcdef0123456789abcdef',
    version: 1,
    encoding: 'identity',
    flags: 0,
    acceptedAtMs: Date.now(),
    rowCount: 1,
    quarantinedRowCount: 0,
    payload: Buffer.alloc(payloadBytes, 'p'),
  }
}
