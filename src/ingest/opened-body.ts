/** The beginning of a body, unpacked and in UTF-8; the rest follows it, and nothing is read twice. */
import { isAscii } from 'node:buffer'
import { guessNewLine, type NewLine } from '../guess/csv-sample.ts'
import type { SampleBytes } from '../guess/sample.types.ts'
import { guessSingleQuotes, SingleQuotes } from '../guess/single-quotes.ts'
import {
  createTranscoder,
  encodingByMark,
  guessEncoding,
  type TextEncoding,
  type Transcoder,
  withLineFeeds,
} from '../guess/text-encoding.ts'
import type { BodySource, OpenedBody } from './ingest.types.ts'
import { elementLines } from './json-elements.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { spreadSample } from './spread-sample.ts'
import { unpackedBody } from './unpacked-body.ts'

export interface OpenLimits {
  /** Bytes of the body that are looked at; a chunk more when the network gives it. */
  readonly sampleBytesMax: number
  readonly decompressedBytesMax: number
}

/** NDJSON says of itself what it is: its first bytes tell UTF-16, and nothing else is guessed. */
const markBytes = 2

/** How many times the sample may be held of a body whose sample is to be spread. */
const spreadSamples = 32

/** See `Ingest.openBody`. `held` counts what bodies hold beyond their samples; where it has no room, none is held. */
export async function openBody(source: BodySource, limits: OpenLimits, held: MemoryBudget): Promise<OpenedBody> {
  const { body, contentEncoding, format } = source
  const unpacked = unpackedBody(body, contentEncoding, limits.decompressedBytesMax)
  const chunks = (format === 'csv' ? unpacked : elementLines(unpacked))[Symbol.asyncIterator]()
  const { sampleBytesMax } = limits
  const lookahead = new Lookahead(held, source.spread === undefined ? 0 : spreadSamples * sampleBytesMax)
  const head = await readHead(chunks, source.isSampled ? Math.max(sampleBytesMax, lookahead.bytesMax) : markBytes)
  const encoding = format === 'ndjson' ? encodingByMark(head.bytes) : encodingOf(head.bytes, sampleBytesMax)
  const transcoder = createTranscoder(encoding)
  const beginning = transcoder === null ? head.bytes : transcoder.push(head.bytes)
  const newLine = format === 'ndjson' ? '\n' : (source.newLine ?? guessNewLine(beginning))
  const sent: SampleBytes = { bytes: withNewLine(beginning, newLine), isWhole: head.isWhole }
  const delimiter = format === 'ndjson' ? null : guessSingleQuotes(sent)
  const known = delimiter === null ? sent : requotedSample(sent, delimiter)
  const sample =
    source.spread === undefined ? known : spreadSample(known, { format, csv: source.spread, sampleBytesMax })
  const rest = restOf(sent.bytes, head.failure, chunks)
  const isPlain = transcoder === null && newLine !== '\r'
  const isOpen = format !== 'ndjson' && encoding === 'utf-8' && isAscii(head.bytes.subarray(0, -cutBytesMax))
  const later = isOpen ? decidedLate(rest) : rest
  const decoded = isPlain ? later : transcoded(later, transcoder, newLine)
  const text = lookahead.over(delimiter === null ? decoded : requoted(decoded, new SingleQuotes(delimiter)))
  return { sample, encoding, newLine, failure: head.failure, chunks: text, close: () => lookahead.close() }
}

/** A body may begin in ASCII and have its first other letter far behind: then a part of what is held tells. */
function encodingOf(bytes: Uint8Array, sampleBytesMax: number): TextEncoding {
  const first = guessEncoding(bytes.subarray(0, sampleBytesMax))
  return first === 'utf-8' && bytes.length > sampleBytesMax ? guessEncoding(bytes) : first
}

/** What a body holds of the memory for all of them, from its opening until it is read or left. */
class Lookahead {
  readonly bytesMax: number
  private readonly held: MemoryBudget
  private isHolding: boolean

  constructor(held: MemoryBudget, bytesMax: number) {
    this.held = held
    this.isHolding = bytesMax > 0 && held.tryTake(bytesMax)
    this.bytesMax = this.isHolding ? bytesMax : 0
  }

  close(): void {
    if (this.isHolding) this.held.give(this.bytesMax)
    this.isHolding = false
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
}

async function readHead(chunks: AsyncIterator<Uint8Array>, byteCountMin: number): Promise<Head> {
  const pieces: Uint8Array[] = []
  let byteCount = 0
  try {
    while (byteCount < byteCountMin) {
      const next = await chunks.next()
      if (next.done === true) return { bytes: joinedBytes(pieces), isWhole: true, failure: null }
      pieces.push(next.value)
      byteCount += next.value.length
    }
    return { bytes: joinedBytes(pieces), isWhole: false, failure: null }
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error))
    return { bytes: joinedBytes(pieces), isWhole: false, failure }
  }
}

function joinedBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
}

/** The sample, then what follows it. */
async function* restOf(
  sample: Uint8Array,
  failure: Error | null,
  chunks: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield sample
    if (failure !== null) throw failure
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value
  } finally {
    await chunks.return?.()
  }
}

/** In UTF-8 a character has four bytes or fewer. */
const cutBytesMax = 3

/** A body of which nothing but ASCII is known: the first chunk with anything else tells what it is written in. */
async function* decidedLate(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let transcoder: Transcoder | null = null
  let isDecided = false
  let cut: Uint8Array = new Uint8Array(0)
  for await (const next of chunks) {
    const chunk = cut.length === 0 ? next : Buffer.concat([cut, next])
    cut = new Uint8Array(0)
    if (!isDecided && !isAscii(chunk)) {
      // Of a character that the chunk may have cut nothing can be told yet.
      const whole = chunk.subarray(0, -cutBytesMax)
      if (isAscii(whole)) {
        cut = chunk.slice(whole.length)
        if (whole.length > 0) yield whole.slice()
        continue
      }
      transcoder = createTranscoder(guessEncoding(chunk))
      isDecided = true
    }
    yield transcoder?.push(chunk) ?? chunk
  }
  if (cut.length > 0) yield createTranscoder(guessEncoding(cut))?.push(cut) ?? cut
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
