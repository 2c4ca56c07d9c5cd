/** The beginning of a body, unpacked and in UTF-8; the rest follows it, and nothing is read twice. */
import { guessNewLine, type NewLine } from '../guess/csv-sample.ts'
import type { SampleBytes } from '../guess/sample.types.ts'
import {
  createTranscoder,
  encodingByMark,
  guessEncoding,
  type Transcoder,
  withLineFeeds,
} from '../guess/text-encoding.ts'
import type { BodySource, OpenedBody } from './ingest.types.ts'
import { unpackedBody } from './unpacked-body.ts'

export interface OpenLimits {
  /** Bytes of the body that are looked at; a chunk more when the network gives it. */
  readonly sampleBytesMax: number
  readonly decompressedBytesMax: number
}

/** NDJSON says of itself what it is: its first bytes tell UTF-16, and nothing else is guessed. */
const markBytes = 2

/** See `Ingest.openBody`. */
export async function openBody(source: BodySource, limits: OpenLimits): Promise<OpenedBody> {
  const { body, contentEncoding, format } = source
  const unpacked = unpackedBody(body, contentEncoding, limits.decompressedBytesMax)
  const chunks = unpacked[Symbol.asyncIterator]()
  const head = await readHead(chunks, source.isSampled ? limits.sampleBytesMax : markBytes)
  const encoding = format === 'ndjson' ? encodingByMark(head.bytes) : guessEncoding(head.bytes)
  const transcoder = createTranscoder(encoding)
  const beginning = transcoder === null ? head.bytes : transcoder.push(head.bytes)
  const newLine = format === 'ndjson' ? '\n' : (source.newLine ?? guessNewLine(beginning))
  const sample: SampleBytes = { bytes: withNewLine(beginning, newLine), isWhole: head.isWhole }
  const rest = restOf(sample.bytes, head.failure, chunks)
  const isPlain = transcoder === null && newLine !== '\r'
  const text = isPlain ? rest : transcoded(rest, transcoder, newLine)
  return { sample, encoding, newLine, failure: head.failure, chunks: text }
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

function withNewLine(bytes: Uint8Array, newLine: NewLine): Uint8Array {
  return newLine === '\r' ? withLineFeeds(bytes) : bytes
}
