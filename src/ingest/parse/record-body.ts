/** The records of an events body: what a frame is made of, now or when the body comes back out of the log. */
import { Readable } from 'node:stream'
import { framePaddingBytes } from '../../codec/frame-assembler.ts'
import type { ParseTask } from '../../codec/parse-task.types.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { countLineFeeds, rowsAtOnceMax } from '../../schema/columns/row-weight.ts'
import { errors } from '../../shared/errors/errors.ts'
import { currentValueRules, toValueRules, type ValueRules } from '../../shared/value-rules.ts'
import type { WalEntry } from '../../wal/wal.types.ts'
import type { IngestPlan } from '../ingest-plan.ts'
import { unpackedBody } from '../unpack/unpacked-body.ts'
import { linesOfDocument } from './json-lines.ts'

/** `lines` is NDJSON; a `document` is a body of `format=json` that is no JSON, and so one bad record. */
export interface RecordBody {
  readonly bytes: Uint8Array
  readonly framing: 'document' | 'lines'
  /**
   * The rules by which its values are read, whenever that is: those of the version that counted its rows. The log keeps them
   * with each body, so that a block has the same rows under its token however often, and by whatever version, it is inserted.
   */
  readonly rules: ValueRules
}

export type BodyFraming = RecordBody['framing']

const lineFeed = 0x0a
/** In an entry's flags: the body was sent as one document. */
const documentFlag = 1
/** The next seven bits are the number of the rules for values less one: without them an entry is of the first. */
const rulesShift = 1
const rulesMask = 0x7f

/** The records of an unpacked body, as `framing` says it was sent. */
export function recordsOf(body: Uint8Array, framing: BodyFraming, rules = currentValueRules): RecordBody {
  if (framing === 'lines') return { bytes: body, framing, rules }
  const lines = linesOfDocument(body)
  return lines === null ? { bytes: body, framing, rules } : { bytes: lines, framing: 'lines', rules }
}

/** @throws RECORD_TOO_LARGE (413) when a record is longer than `bytesMax`. */
export function refuseLongRecords({ bytes }: RecordBody, bytesMax: number): void {
  for (let start = 0; bytes.length - start > bytesMax; ) {
    const end = bytes.indexOf(lineFeed, start)
    if ((end < 0 ? bytes.length : end) - start > bytesMax) throw errors.RECORD_TOO_LARGE({ bytesMax })
    start = end + 1
  }
}

const smallBytes = 4096

/** @throws ROWS_TOO_MANY (413) when the body has more rows than are parsed at once for a table of these columns. */
export function refuseManyRows({ bytes }: RecordBody, columns: readonly ColumnDefinition[]): void {
  // Most bodies are small.
  if (bytes.length < smallBytes) return
  const rowsMax = rowsAtOnceMax(columns)
  if (bytes.length <= rowsMax || countLineFeeds(bytes, rowsMax) <= rowsMax) return
  throw errors.ROWS_TOO_MANY({ rowsMax, columnCount: columns.length })
}

/** Of an entry for a body as it was sent, whose rows were counted by these rules. */
export function flagsOf(framing: BodyFraming, rules: ValueRules): number {
  return (framing === 'document' ? documentFlag : 0) | ((rules - 1) << rulesShift)
}

/** The records of an entry of the log: its body was unpacked and parsed once, so no limit stops it now. */
export async function recordsOfEntry({ payload, encoding, flags }: WalEntry): Promise<RecordBody> {
  const framing = (flags & documentFlag) === 0 ? 'lines' : 'document'
  const rules = toValueRules(((flags >> rulesShift) & rulesMask) + 1)
  if (encoding === 'identity') return recordsOf(payload, framing, rules)
  const chunks: Uint8Array[] = []
  const body = unpackedBody(Readable.from([payload]), encoding, Number.POSITIVE_INFINITY)
  for await (const chunk of body) chunks.push(chunk)
  return recordsOf(Buffer.concat(chunks), framing, rules)
}

/**
 * A task over bodies of one framing and the same rules: copied behind one another into a frame, each ended by a line feed. `frame` may be
 * handed in for reuse when it has room for them and for the padding.
 */
export function taskOf(
  plan: Pick<IngestPlan, 'columns' | 'planKey'>,
  bodies: readonly RecordBody[],
  frame = new Uint8Array(frameBytesOf(bodies)),
): ParseTask {
  const bodyEnds: number[] = []
  const [first] = bodies
  let offset = 0
  for (const { bytes } of bodies) {
    frame.set(bytes, offset)
    offset += bytes.length
    frame[offset] = lineFeed
    offset += 1
    bodyEnds.push(offset)
  }
  return {
    planKey: plan.planKey,
    columns: plan.columns,
    rules: first?.rules ?? currentValueRules,
    frame,
    byteCount: offset,
    start: 0,
    bodyEnds,
    record: { kind: first?.framing === 'document' ? 'document' : 'ndjson' },
    partPaths: null,
  }
}

/**
 * Bodies of one framing and the same rules as what a frame makes of them, where that is one body: for keeping. Thousands of small buffers that
 * live for a second cost the collector more than one copy of their bytes.
 */
export function joinedBodies(bodies: readonly RecordBody[]): readonly RecordBody[] {
  const [first] = bodies
  if (first === undefined || bodies.length === 1 || first.framing === 'document') return bodies
  const bytes = new Uint8Array(bodies.reduce((total, body) => total + body.bytes.length + 1, -1))
  let offset = 0
  for (const body of bodies) {
    if (offset > 0) bytes[offset - 1] = lineFeed
    bytes.set(body.bytes, offset)
    offset += body.bytes.length + 1
  }
  return [{ ...first, bytes }]
}

/** Bytes of a frame for these bodies, line feeds and padding included. */
export function frameBytesOf(bodies: readonly RecordBody[]): number {
  let byteCount = framePaddingBytes
  for (const { bytes } of bodies) byteCount += bytes.length + 1
  return byteCount
}

/** Neighbouring bodies of one framing and the same rules, up to `bytesMax` together, but at least one: each group fits a frame. */
export function groupBodies(bodies: readonly RecordBody[], bytesMax: number): readonly (readonly RecordBody[])[] {
  const groups: RecordBody[][] = []
  let byteCount = 0
  for (const body of bodies) {
    const group = groups.at(-1)
    byteCount += body.bytes.length + 1
    if (group?.[0] === undefined || !areAlike(group[0], body) || byteCount > bytesMax) {
      groups.push([body])
      byteCount = body.bytes.length + 1
    } else group.push(body)
  }
  return groups
}

function areAlike(a: RecordBody, b: RecordBody): boolean {
  return a.framing === b.framing && a.rules === b.rules
}
