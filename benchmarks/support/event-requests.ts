import { gzipSync } from 'node:zlib'
import { SeededRandom } from '../../test/support/seeded-random.ts'
import { workloads } from './workloads.ts'

/** Where a request goes. */
export interface Target {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Bodies of events that are made before the clock starts and sent in turn, again and again. */
export interface EventBodies {
  readonly rowsPerBody: number
  readonly bodyCount: number
  readonly seed: number
  /** Whether each event has the number of its body, counted over all that are sent; not in gzip. */
  readonly hasMarkers?: boolean
  readonly isGzip?: boolean
}

/** A request as the bytes that go out on the connection. */
export interface EventRequest {
  readonly bytes: Buffer
  readonly rowCount: number
  /** Sum of column `n`, to tell that what is stored is what was sent. */
  readonly total: number
  /** Where the ten digits of each event's marker stand; empty without markers. */
  readonly markerOffsets: readonly number[]
}

/** The marker of body 0. Ten digits from here on, so that a marker can be written over another; all fit UInt32. */
export const firstMarker = 1_000_000_000

/** Requests with events of the workload `events`; a marker is one key more. */
export function eventRequests(bodies: EventBodies, target: Target): readonly EventRequest[] {
  const random = new SeededRandom(bodies.seed)
  return Array.from({ length: bodies.bodyCount }, (_, bodyIndex) => {
    const rows = Array.from({ length: bodies.rowsPerBody }, (_, index) => {
      const text = workloads.events.row(random, bodyIndex * bodies.rowsPerBody + index, false).ndjson
      return bodies.hasMarkers === true ? `${text.slice(0, -1)},"marker":${firstMarker}}` : text
    })
    return eventRequest(rows, target, bodies.isGzip === true)
  })
}

/** A copy with another marker: the connection may hold the bytes of the one before for a while. */
export function withMarker(request: EventRequest, marker: number): Buffer {
  const bytes = Buffer.from(request.bytes)
  const digits = Buffer.from(String(marker))
  for (const offset of request.markerOffsets) bytes.set(digits, offset)
  return bytes
}

function eventRequest(rows: readonly string[], target: Target, isGzip: boolean): EventRequest {
  const plain = Buffer.from(`${rows.join('\n')}\n`)
  const body = isGzip ? gzipSync(plain) : plain
  const { host, pathname, search } = new URL(target.url)
  const length = { 'content-type': 'application/json', 'content-length': body.length }
  const headers = { ...target.headers, host, ...(isGzip ? { 'content-encoding': 'gzip' } : {}), ...length }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const bytes = Buffer.concat([Buffer.from(`POST ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`), body])
  const total = rows.reduce((sum, row) => sum + Number(/"n":(\d+)/.exec(row)?.[1]), 0)
  const markerOffsets = isGzip ? [] : offsetsBehind(bytes, '"marker":')
  return { bytes, rowCount: rows.length, total, markerOffsets }
}

function offsetsBehind(bytes: Buffer, key: string): readonly number[] {
  const offsets: number[] = []
  for (let at = bytes.indexOf(key); at !== -1; at = bytes.indexOf(key, at + 1)) offsets.push(at + key.length)
  return offsets
}
