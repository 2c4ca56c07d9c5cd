// What an answer tells of its making, told to a reader whose rows are filtered.
//
// The engine writes at the end of some formats how many rows and bytes it has read, and how many rows there were before a
// LIMIT. All of these count rows that the filter hides, or depend on where they lie: by halving a range of the key, a reader
// finds the values of hidden rows. So the end is written anew, out of nothing but the answer itself.

import { assert } from '../shared/assert.ts'
import type { SelectStream } from '../store/store.types.ts'

/** The end of an answer as the engine writes it: the rows, and what counts more than them. */
const jsonEnd =
  /\n\t"rows": (\d+)(,\n\n\t"rows_before_limit_at_least": \d+)?(?:,\n\n\t"statistics":\n\t\{[^{}]*\})?\n\}\n$/
const xmlEnd =
  /\n\t<rows>(\d+)<\/rows>(\n\t<rows_before_limit_at_least>\d+<\/rows_before_limit_at_least>)?(?:\n\t<statistics>[\s\d.e+-]*(?:<\/?[a-z_]+>[\s\d.e+-]*)*<\/statistics>)?\n<\/result>\n$/

const ends: ReadonlyMap<string, { readonly end: RegExp; readonly write: (told: Told) => string }> = new Map([
  ...['JSON', 'JSONCompact', 'JSONStrings', 'JSONCompactStrings', 'JSONColumnsWithMetadata'].map(
    (format) => [format, { end: jsonEnd, write: jsonText }] as const,
  ),
  ['XML', { end: xmlEnd, write: xmlText }] as const,
])

/** The longest end that the engine writes has a few hundred bytes. */
const endBytesMax = 1024

interface Told {
  readonly rows: string
  readonly hasLimit: boolean
  readonly bytes: number
  readonly elapsedSeconds: number
  readonly hasStatistics: boolean
}

export interface StatisticsOptions {
  readonly format: string
  readonly elapsedSeconds: number
  /** False when the query asks for none. */
  readonly hasStatistics: boolean
}

export interface ToldStatistics {
  readonly resultRows: number
  readonly readRows: number
  readonly readBytes: number
}

const nothingTold: ToldStatistics = { resultRows: 0, readRows: 0, readBytes: 0 }

/** What the end of an answer tells of its making; zeros for a format that tells nothing. */
export function statisticsAtEnd(end: Uint8Array): ToldStatistics {
  const start = Math.max(0, end.byteLength - endBytesMax)
  const text = Buffer.from(end.buffer, end.byteOffset + start, end.byteLength - start).toString('latin1')
  const [, resultRows, readRows, readBytes] = toldEnd.exec(text) ?? toldXmlEnd.exec(text) ?? []
  if (resultRows === undefined) return nothingTold
  return { resultRows: Number(resultRows), readRows: Number(readRows ?? 0), readBytes: Number(readBytes ?? 0) }
}

const toldEnd =
  /\n\t"rows": (\d+)(?:,\n\n\t"rows_before_limit_at_least": \d+)?(?:,\n\n\t"statistics":\n\t\{\n\t\t"elapsed": [^,]*,\n\t\t"rows_read": (\d+),\n\t\t"bytes_read": (\d+)\n\t\})?\n\}\n$/

const toldXmlEnd =
  /\n\t<rows>(\d+)<\/rows>(?:\n\t<rows_before_limit_at_least>\d+<\/rows_before_limit_at_least>)?(?:\n\t<statistics>\s*<elapsed>[^<]*<\/elapsed>\s*<rows_read>(\d+)<\/rows_read>\s*<bytes_read>(\d+)<\/bytes_read>\s*<\/statistics>)?\n<\/result>\n$/

/** The same answer, whose statistics are of its own rows and bytes; one in a format without statistics is unchanged. */
export function withOwnStatistics(body: SelectStream, options: StatisticsOptions): SelectStream {
  if (!ends.has(options.format)) return body
  if (body.whole === undefined) return rewrittenChunks(body, options)
  const whole = Buffer.from(body.whole.buffer, body.whole.byteOffset, body.whole.byteLength)
  const start = Math.max(0, whole.byteLength - endBytesMax)
  const end = rewrittenEnd(whole.subarray(start), start, options)
  const rewritten = Buffer.concat([whole.subarray(0, start), end])
  return {
    whole: rewritten,
    async *[Symbol.asyncIterator]() {
      yield rewritten
    },
  }
}

async function* rewrittenChunks(chunks: SelectStream, options: StatisticsOptions): AsyncGenerator<Uint8Array> {
  let held: Buffer = Buffer.alloc(0)
  let sentBytes = 0
  for await (const chunk of chunks) {
    const joined = Buffer.concat([held, chunk])
    const ready = Math.max(0, joined.byteLength - endBytesMax)
    held = joined.subarray(ready)
    sentBytes += ready
    if (ready > 0) yield joined.subarray(0, ready)
  }
  yield rewrittenEnd(held, sentBytes, options)
}

function rewrittenEnd(held: Buffer, bytesBefore: number, options: StatisticsOptions): Buffer {
  const { format, elapsedSeconds, hasStatistics } = options
  const rule = ends.get(format)
  // As latin1 each byte is one character, so that places in the text are places in the bytes.
  const found = rule?.end.exec(held.toString('latin1'))
  // An end that we do not know may tell what it must not.
  assert(rule !== undefined && found !== null && found !== undefined, 'the end of an answer has a known form')
  const [, rows = '0', limit] = found
  const bytes = bytesBefore + found.index
  const end = rule.write({ rows, hasLimit: limit !== undefined, bytes, elapsedSeconds, hasStatistics })
  return Buffer.concat([held.subarray(0, found.index), Buffer.from(end)])
}

function jsonText({ rows, hasLimit, bytes, elapsedSeconds, hasStatistics }: Told): string {
  const limit = hasLimit ? `,\n\n\t"rows_before_limit_at_least": ${rows}` : ''
  const statistics = `,\n\n\t"statistics":\n\t{\n\t\t"elapsed": ${elapsedSeconds},\n\t\t"rows_read": ${rows},\n\t\t"bytes_read": ${bytes}\n\t}`
  return `\n\t"rows": ${rows}${limit}${hasStatistics ? statistics : ''}\n}\n`
}

function xmlText({ rows, hasLimit, bytes, elapsedSeconds, hasStatistics }: Told): string {
  const limit = hasLimit ? `\n\t<rows_before_limit_at_least>${rows}</rows_before_limit_at_least>` : ''
  const statistics = `\n\t<statistics>\n\t\t<elapsed>${elapsedSeconds}</elapsed>\n\t\t<rows_read>${rows}</rows_read>\n\t\t<bytes_read>${bytes}</bytes_read>\n\t</statistics>`
  return `\n\t<rows>${rows}</rows>${limit}${hasStatistics ? statistics : ''}\n</result>\n`
}
