import { gzipSync } from 'node:zlib'
import { SeededRandom } from '../../test/support/seeded-random.ts'
import type { SenderRequest } from './body-sender.types.ts'
import type { BodiesPlan } from './events-sender.types.ts'
import { workloads } from './workloads.ts'

/** A request as the bytes that go out on the connection, made before the clock starts. */
export interface ReadyRequest {
  readonly bytes: Buffer
  readonly rowCount: number
  /** Sum of column `n`, to tell that what is stored is what was sent. */
  readonly total: number
  /** Where the ten digits of each event's marker stand; empty without markers. */
  readonly markerOffsets: readonly number[]
}

/** The marker of body 0. Ten digits from here on, so that a marker can be written over another; all fit UInt32. */
export const firstMarker = 1_000_000_000

/** The events of the workload `events`; with markers each gets a sixth key, the same number for all events of a body. */
export function readyRequests(plan: BodiesPlan, target: SenderRequest): readonly ReadyRequest[] {
  const random = new SeededRandom(plan.seed)
  return Array.from({ length: plan.bodyCount }, (_, bodyIndex) => {
    const rows = Array.from({ length: plan.rowsPerBody }, (_, index) => {
      const text = workloads.events.row(random, bodyIndex * plan.rowsPerBody + index, false).ndjson
      return plan.hasMarkers ? `${text.slice(0, -1)},"marker":${firstMarker}}` : text
    })
    return readyRequest(rows, target, plan.isPacked === true)
  })
}

/** A copy with another marker: the connection may hold the bytes of the one before for a while. */
export function marked(request: ReadyRequest, marker: number): Buffer {
  const bytes = Buffer.from(request.bytes)
  const digits = Buffer.from(String(marker))
  for (const offset of request.markerOffsets) bytes.set(digits, offset)
  return bytes
}

function readyRequest(rows: readonly string[], target: SenderRequest, isPacked: boolean): ReadyRequest {
  const plain = Buffer.from(`${rows.join('\n')}\n`)
  const body = isPacked ? gzipSync(plain) : plain
  const encoding = isPacked ? { 'content-encoding': 'gzip' } : {}
  const { host, pathname, search } = new URL(target.url)
  const type = { 'content-type': 'application/json', 'content-length': body.length }
  const headers = { ...target.headers, host, ...encoding, ...type }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const bytes = Buffer.concat([Buffer.from(`POST ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`), body])
  const total = rows.reduce((sum, row) => sum + Number(/"n":(\d+)/.exec(row)?.[1]), 0)
  return { bytes, rowCount: rows.length, total, markerOffsets: markerOffsetsOf(bytes) }
}

function markerOffsetsOf(bytes: Buffer): readonly number[] {
  const key = '"marker":'
  const offsets: number[] = []
  for (let at = bytes.indexOf(key); at !== -1; at = bytes.indexOf(key, at + 1)) offsets.push(at + key.length)
  return offsets
}
