// What the thread of the log does: takes records out of the ring and writes them, for as long as the process lives.
//
// A write must never wait: a thread that waits in one cannot be ended, and the process with it. So the streams are opened
// anew without blocking where the system can do that, and a stream that takes nothing is asked again later.

import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import type { LogRecord, LogRing } from './log-ring.ts'
import { toLogText } from './log-text.ts'

export interface LogWriterOptions {
  /** `text` is for people, `json` for programs. */
  readonly format: 'json' | 'text'
}

const outputDescriptor = 1
const errorDescriptor = 2
const batchBytes = 64 * 1024
/** Entries are gathered for so long, so that a busy service does not wake the thread for each. */
const gatherMs = 10
const retryMs = { shortest: 5, longest: 100 }
/** A text on stdout that is not taken by then is dropped: the log behind it must not wait for it. */
const outputTimeoutMs = 1_000

/** Writes for ever. */
export function writeLog(ring: LogRing, { format }: LogWriterOptions): never {
  const errorStream = openStream(errorDescriptor)
  ring.beginReading()
  let outputStream: LogStream | undefined
  for (;;) {
    ring.waitForRecord()
    const records = ring.peek(batchBytes)
    const [first] = records
    if (first?.kind === 'output-text') {
      outputStream ??= openStream(outputDescriptor)
      writeWhole(outputStream, { bytes: first.bytes, ring, timeoutMs: outputTimeoutMs })
      ring.release([first])
      continue
    }
    const entries = untilOutput(records)
    const bytes = Buffer.concat(entries.map((record) => toBytes(record, format)))
    // What was taken only in part is dropped as a whole: nobody can tell which entries are complete.
    if (!writeWhole(errorStream, { bytes, ring, timeoutMs: null })) ring.countDropped(entries.length)
    else tellDropped(errorStream, ring, format)
    ring.release(entries)
    ring.pause(gatherMs)
  }
}

function untilOutput(records: readonly LogRecord[]): readonly LogRecord[] {
  const index = records.findIndex(({ kind }) => kind === 'output-text')
  return index < 0 ? records : records.slice(0, index)
}

function toBytes({ kind, bytes }: LogRecord, format: LogWriterOptions['format']): Buffer {
  return kind === 'entry' && format === 'text' ? Buffer.from(toLogText(bytes.toString())) : bytes
}

function tellDropped(stream: LogStream, ring: LogRing, format: LogWriterOptions['format']): void {
  const droppedCount = ring.takeDropped()
  if (droppedCount === 0) return
  const entry = {
    level: 'warn',
    time: new Date().toISOString(),
    droppedCount,
    msg: 'Entries of the log were dropped, because stderr was not read fast enough.',
  }
  const bytes = toBytes({ kind: 'entry', bytes: Buffer.from(`${JSON.stringify(entry)}\n`) }, format)
  if (!writeWhole(stream, { bytes, ring, timeoutMs: null })) ring.countDropped(droppedCount)
}

interface LogStream {
  readonly descriptor: number
  /** Kept, as its collection would close the descriptor. */
  readonly socket: Socket | null
  /** The stream ends in the middle of a line. */
  isLineOpen: boolean
}

interface WriteOrder {
  readonly bytes: Buffer
  readonly ring: LogRing
  /** Null tries for ever. */
  readonly timeoutMs: number | null
}

/** False when the stream refused, or did not take all of it in time. */
function writeWhole(stream: LogStream, { bytes, ring, timeoutMs }: WriteOrder): boolean {
  const rest = stream.isLineOpen ? Buffer.concat([newLine, bytes]) : bytes
  let offset = 0
  let sleepMs = retryMs.shortest
  let leftMs = timeoutMs ?? Number.POSITIVE_INFINITY
  while (offset < rest.length && leftMs > 0) {
    const byteCount = writeSome(stream.descriptor, rest.subarray(offset))
    if (byteCount === null) break
    offset += byteCount
    if (byteCount > 0) {
      sleepMs = retryMs.shortest
      continue
    }
    ring.sleep(sleepMs)
    leftMs -= sleepMs
    sleepMs = Math.min(sleepMs * 2, retryMs.longest)
  }
  if (offset > 0) stream.isLineOpen = rest[offset - 1] !== newLine[0]
  return offset === rest.length
}

const newLine = Buffer.from('\n')

/** How many bytes the stream took; null when it takes none any more, such as a pipe without a reader or a full disk. */
function writeSome(descriptor: number, bytes: Uint8Array): number | null {
  try {
    return writeSync(descriptor, bytes)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    return code === 'EAGAIN' || code === 'EINTR' ? 0 : null
  }
}

/** The descriptor, or another one of the same stream, whose writes do not wait. */
function openStream(descriptor: number): LogStream {
  const stream = { descriptor, socket: null, isLineOpen: false }
  try {
    const status = fstatSync(descriptor)
    // Writes to a file do not wait for a reader.
    if (status.isFile()) return stream
    if (status.isSocket()) return { ...stream, socket: unblockingSocket(descriptor) }
    // Opened anew, as the flag would else hold for all processes that have the stream of our parent.
    const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY
    return { ...stream, descriptor: openSync(`/proc/self/fd/${descriptor}`, flags) }
  } catch {
    return { ...stream, socket: triedSocket(descriptor) }
  }
}

/** A socket cannot be opened anew. Node takes the waiting out of a descriptor that it makes a socket of. */
function unblockingSocket(fd: number): Socket {
  return new Socket({ fd, readable: false, writable: true, allowHalfOpen: true })
}

function triedSocket(descriptor: number): Socket | null {
  try {
    return unblockingSocket(descriptor)
  } catch {
    // A stream of an unknown kind, or none at all: its writes may wait, or fail and be counted.
    return null
  }
}
