/** The beginning of a body, unpacked and in UTF-8; the rest follows it, and nothing is read twice. */

import { cutBytesOf } from '../../codec/columns/utf8-text.ts'
import { guessNewLine, type NewLine } from '../../guess/csv-sample.ts'
import type { SampleBytes } from '../../guess/sample.types.ts'
import { guessSingleQuotes, SingleQuotes } from '../../guess/single-quotes.ts'
import {
  createTranscoder,
  encodingByMark,
  type GuessedEncoding,
  guessEncoding,
  type TextEncoding,
  type Transcoder,
  withLineFeeds,
} from '../../guess/text-encoding.ts'
import type { BodySource, OpenedBody } from '../ingest.types.ts'
import type { LikenessKind, TextLikeness } from '../insert/text-likeness.types.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import { unpackedBody } from '../unpack/unpacked-body.ts'
import { beginsAsArray, elementLines } from './json-elements.ts'
import { decidedLate } from './late-encoding.ts'
import { spreadSample } from './spread-sample.ts'

export interface OpenLimits {
  /** Bytes of the body that are looked at. */
  readonly sampleBytesMax: number
  readonly decompressedBytesMax: number
}

/** NDJSON says of itself what it is: its first bytes tell UTF-16, and nothing else is guessed. */
const markBytes = 2

/** How many times the sample may be held of a body whose sample is to be spread. */
const spreadSamples = 32

/** See `Ingest.openBody`. `held` counts what bodies hold beyond their samples; where it has no room, none is held. */
export async function openBody(source: BodySource, limits: OpenLimits, held: MemoryBudget): Promise<OpenedBody> {
  const { sampleBytesMax } = limits
  const { spread, format } = source
  const { sample: known, ...opened } = await openBeginning(source, limits)
  const lookahead = new Lookahead(held, spread === undefined ? 0 : spreadSamples * sampleBytesMax)
  const close = (): void => lookahead.close()
  if (spread === undefined || lookahead.bytesMax === 0 || opened.failure !== null) {
    lookahead.close()
    const sample = spread === undefined ? known : spreadSample(known, { format, csv: spread, sampleBytesMax })
    return { ...opened, sample, encoding: opened.encoding(), close }
  }
  const chunks = opened.chunks[Symbol.asyncIterator]()
  const ahead = await readHead(chunks, lookahead.bytesMax)
  const sample = spreadSample(ahead, { format, csv: spread, sampleBytesMax })
  const text = lookahead.over(restOf(ahead, chunks))
  return { ...opened, sample, encoding: opened.encoding(), failure: ahead.failure, chunks: text, close }
}

type Beginning = Omit<OpenedBody, 'close' | 'encoding'> & {
  /** What is known of it so far. */
  encoding(): TextEncoding
}

/** All that is judged of a body is judged by its first `sampleBytesMax` bytes, wherever the network cuts it. */
async function openBeginning(source: BodySource, { sampleBytesMax, ...limits }: OpenLimits): Promise<Beginning> {
  const { body, contentEncoding, format, isSampled } = source
  const unpacked = unpackedBody(body, contentEncoding, limits.decompressedBytesMax)
  const json = format === 'csv' ? null : await openJson(unpacked, sampleBytesMax)
  const chunks = (json?.lines ?? unpacked)[Symbol.asyncIterator]()
  const head = isSampled ? await readHead(chunks, sampleBytesMax) : withBehind(await readHead(chunks, markBytes))
  // Of a body without a format it is known only where a mark says it.
  const decoded = json !== null && (format === 'ndjson' || json.encoding !== 'utf-8') ? json : null
  const { encoding, openEvidence } = decoded ?? guessEncoding(head.bytes, head)
  const transcoder = decoded === null ? createTranscoder(encoding) : null
  const beginning = transcoder === null ? head.bytes : transcoder.push(head.bytes)
  const newLine = format === 'ndjson' ? '\n' : (source.newLine ?? guessNewLine(beginning))
  const sent: SampleBytes = { bytes: withNewLine(beginning, newLine), isWhole: head.isWhole }
  const delimiter = format === 'ndjson' ? null : guessSingleQuotes(sent)
  const sample = delimiter === null ? sent : requotedSample(sent, delimiter)
  const rest = restOf({ ...head, bytes: sent.bytes }, chunks)
  const isPlain = transcoder === null && newLine !== '\r'
  const cutBytes = head.isWhole ? 0 : cutBytesOf(head.bytes)
  const isSame = isPlain && delimiter === null && unpacked === body && json?.isSame !== false
  const likeness: TextLikeness = { kind: 'other' }
  if (isSame) likeness.kind = openEvidence === null ? 'same' : 'open'
  const late = { windowBytes: sampleBytesMax, onLikeness: (kind: LikenessKind) => noteLikeness(likeness, kind) }
  const later = openEvidence === null ? rest : decidedLate(rest, { ...late, evidence: openEvidence, cutBytes })
  const utf8 = isPlain ? later : transcoded(later, transcoder, newLine)
  const text = delimiter === null ? utf8 : requoted(utf8, new SingleQuotes(delimiter))
  const told = (): TextEncoding => openEvidence?.verdict() ?? encoding
  const textBehind: OpenedBody['textBehind'] = (known) => {
    if (!isSame || known === 'other' || head.failure !== null) return null
    if (openEvidence !== null && known === 'open') {
      // All before it was ASCII, so that the sample is all that is known there too.
      const decision = { ...late, evidence: openEvidence, cutBytes: 0 }
      return (bytes) => decidedLate(behindNothing(bytes), decision)
    }
    likeness.kind = 'same'
    return (bytes) => bytes
  }
  return { sample, encoding: told, newLine, failure: head.failure, chunks: text, likeness, textBehind }
}

/** What is other bytes stays so. */
function noteLikeness(likeness: TextLikeness, kind: LikenessKind): void {
  if (likeness.kind !== 'other') likeness.kind = kind
}

/** Bytes behind a sample of none. */
async function* behindNothing(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield nothing
  yield* bytes
}

/** JSON in UTF-8 line by line, whatever it is written in: brackets and commas are looked for behind that. */
async function openJson(
  unpacked: AsyncIterable<Uint8Array>,
  sampleBytesMax: number,
): Promise<GuessedEncoding & { readonly isSame: boolean; readonly lines: AsyncIterable<Uint8Array> }> {
  const chunks = unpacked[Symbol.asyncIterator]()
  const head = withBehind(await readHead(chunks, markBytes))
  const encoding = encodingByMark(head.bytes)
  const transcoder = createTranscoder(encoding)
  const rest = restOf(head, chunks)
  const text = transcoder === null ? rest : decodedChunks(rest, transcoder)
  // Of UTF-8 it is judged by the same bytes as here.
  const isSame = transcoder === null && beginsAsArray(head.bytes) === false
  return { encoding, openEvidence: null, isSame, lines: elementLines(text, sampleBytesMax) }
}

async function* decodedChunks(chunks: AsyncIterable<Uint8Array>, transcoder: Transcoder): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield transcoder.push(chunk)
  yield transcoder.end()
}

/** What a body holds of the memory for all of them, from its opening until it is read or left. */
class Lookahead {
  readonly bytesMax: number
  readonly #held: MemoryBudget
  #isHolding: boolean

  constructor(held: MemoryBudget, bytesMax: number) {
    this.#held = held
    this.#isHolding = bytesMax > 0 && held.tryTake(bytesMax)
    this.bytesMax = this.#isHolding ? bytesMax : 0
  }

  close(): void {
    if (this.#isHolding) this.#held.give(this.bytesMax)
    this.#isHolding = false
  }

  /** The first chunk is all that is held. */
  async *over(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of chunks) {
        yield chunk
        this.close()
      }
    } finally {
      this.close()
    }
  }
}

interface Head {
  readonly bytes: Uint8Array
  readonly isWhole: boolean
  readonly failure: Error | null
  /** What the last chunk has beyond it; empty for none. */
  readonly behind: Uint8Array
}

/** Exactly so many bytes, where there are so many: what is judged by them must not depend on how the chunks are cut. */
async function readHead(chunks: AsyncIterator<Uint8Array>, byteCountMax: number): Promise<Head> {
  const pieces: Uint8Array[] = []
  let missing = byteCountMax
  try {
    while (missing > 0) {
      const next = await chunks.next()
      if (next.done === true) return { bytes: joinedBytes(pieces), isWhole: true, failure: null, behind: nothing }
      const { value } = next
      pieces.push(value.length > missing ? value.subarray(0, missing) : value)
      if (value.length > missing) {
        return { bytes: joinedBytes(pieces), isWhole: false, failure: null, behind: value.subarray(missing) }
      }
      missing -= value.length
    }
    return { bytes: joinedBytes(pieces), isWhole: false, failure: null, behind: nothing }
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error))
    return { bytes: joinedBytes(pieces), isWhole: false, failure, behind: nothing }
  }
}

const nothing = new Uint8Array(0)

/** With all of its last chunk, where no more than the mark is judged. */
function withBehind(head: Head): Head {
  return { ...head, bytes: joinedBytes([head.bytes, head.behind]), behind: nothing }
}

function joinedBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
}

/** The head, then what follows it. */
async function* restOf(
  { bytes, behind, failure }: Omit<Head, 'isWhole'>,
  chunks: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield bytes
    if (behind.length > 0) yield behind
    if (failure !== null) throw failure
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value
  } finally {
    await chunks.return?.()
  }
}

/** The first chunk is the sample, which is in UTF-8 with its line ends already. */
async function* transcoded(
  chunks: AsyncIterable<Uint8Array>,
  transcoder: Transcoder | null,
  newLine: NewLine,
): AsyncGenerator<Uint8Array> {
  let isSample = true
  for await (const chunk of chunks) {
    yield isSample ? chunk : withNewLine(transcoder?.push(chunk) ?? chunk, newLine)
    isSample = false
  }
  if (transcoder !== null) yield withNewLine(transcoder.end(), newLine)
}

function requotedSample({ bytes, isWhole }: SampleBytes, delimiter: string): SampleBytes {
  const quotes = new SingleQuotes(delimiter)
  return { bytes: Buffer.concat([quotes.push(bytes), isWhole ? quotes.end() : new Uint8Array(0)]), isWhole }
}

async function* requoted(chunks: AsyncIterable<Uint8Array>, quotes: SingleQuotes): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield quotes.push(chunk)
  yield quotes.end()
}

function withNewLine(bytes: Uint8Array, newLine: NewLine): Uint8Array {
  return newLine === '\r' ? withLineFeeds(bytes) : bytes
}
