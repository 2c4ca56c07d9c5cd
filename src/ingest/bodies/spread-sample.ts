/**
 * A sample of more than the beginning of a body: whole records of it, and of places spread over all that is held.
 *
 * A body that streams in can be held only so far before its data source has to be there: what lies behind that is not
 * looked at, and its rows that contradict the guess go to quarantine.
 */
import { type CsvDialect, csvDialect } from '../../codec/csv/csv-dialect.ts'
import { guessDialect } from '../../guess/csv-sample.ts'
import type { SampleBytes } from '../../guess/sample.types.ts'
import type { BodyFormat, CsvRules } from '../ingest.types.ts'

export interface SpreadRules {
  readonly format: BodyFormat | undefined
  readonly csv: CsvRules
  /** Bytes of the beginning, and as many again of the rest. */
  readonly sampleBytesMax: number
}

/** Of NDJSON no more records are looked at than this, so those of the beginning must leave room for the others. */
const recordsMax = 1_000
const headRecordsMax = 400
const placeCount = 16

/** @param held the beginning of a body, in UTF-8 and with line feeds, as much of it as is here. */
export function spreadSample(held: SampleBytes, rules: SpreadRules): SampleBytes {
  const { sampleBytesMax } = rules
  if (held.bytes.length <= 2 * sampleBytesMax) return held
  const isCsv = rules.format !== 'ndjson' && !/^\s*\{\s*["}]/.test(textOf(held.bytes.subarray(0, 64)))
  const dialect = isCsv ? dialectOf(held, rules) : null
  const pieces = piecesOf(held.bytes, { dialect, sampleBytesMax })
  return { bytes: Buffer.concat(pieces), isWhole: false }
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

function dialectOf({ bytes }: SampleBytes, { csv, sampleBytesMax }: SpreadRules): CsvDialect {
  const { delimiter, escapeCharacter } = guessDialect(
    { bytes: bytes.subarray(0, sampleBytesMax), isWhole: false },
    csv,
    null,
  )
  return csvDialect(delimiter, escapeCharacter)
}

interface Cutting {
  /** Null for records that end with their line. */
  readonly dialect: CsvDialect | null
  readonly sampleBytesMax: number
}

/** Records of the beginning, then of each place: all of them whole. */
function piecesOf(bytes: Uint8Array, { dialect, sampleBytesMax }: Cutting): readonly Uint8Array[] {
  const ends = new RecordEnds(bytes, dialect)
  const rest = bytes.length - sampleBytesMax
  const pieces: Uint8Array[] = []
  const take = (from: number, byteCount: number, countMax: number): void => {
    const start = from === 0 ? 0 : ends.after(from)
    let end = start
    for (let count = 0; count < countMax && end < start + byteCount; count += 1) {
      const next = ends.after(end)
      if (next === end) break
      end = next
    }
    if (end > start) pieces.push(bytes.subarray(start, end))
  }
  const isLimited = dialect === null
  take(0, sampleBytesMax, isLimited ? headRecordsMax : Number.POSITIVE_INFINITY)
  const perPlace = isLimited ? Math.floor((recordsMax - headRecordsMax) / placeCount) : Number.POSITIVE_INFINITY
  for (let place = 0; place < placeCount; place += 1) {
    const from = sampleBytesMax + Math.floor((rest * (place + 0.5)) / placeCount)
    take(Math.max(from, ends.position), sampleBytesMax / placeCount, perPlace)
  }
  return pieces
}

const lineFeed = 0x0a
const carriageReturn = 0x0d
const quote = 0x22

/** Where records end, walked through once: a line feed inside quotes ends none. */
class RecordEnds {
  position = 0
  /** True when no record ends behind `position`: to look once more would be to read all the rest for each place. */
  #isOver = false
  readonly #bytes: Uint8Array
  readonly #dialect: CsvDialect | null

  constructor(bytes: Uint8Array, dialect: CsvDialect | null) {
    this.#bytes = bytes
    this.#dialect = dialect
  }

  /** Behind the first record that ends at `offset` or later; asked for offsets in their order. The end, where none does. */
  after(offset: number): number {
    if (this.position > offset || this.#isOver) return this.position
    const end = this.#dialect === null ? this.#lineEnd(offset) : this.#endBehind(offset, this.#dialect)
    // A record that the end of the bytes cuts is none.
    if (end > 0) this.position = end
    else this.#isOver = true
    return this.position
  }

  #lineEnd(offset: number): number {
    return this.#bytes.indexOf(lineFeed, offset) + 1
  }

  #endBehind(offset: number, dialect: CsvDialect): number {
    let end = this.#recordEnd(this.position, dialect)
    while (end > 0 && end <= offset) end = this.#recordEnd(end, dialect)
    return end
  }

  /** Behind the line feed of the record at `start`, or 0 when it does not end. */
  #recordEnd(start: number, { delimiter, escape: escapeByte }: CsvDialect): number {
    const bytes = this.#bytes
    const last = delimiter.at(-1)
    let isQuoted = false
    for (let at = start; at < bytes.length; at += 1) {
      const byte = bytes[at]
      if (isQuoted) {
        if (byte === escapeByte && escapeByte !== quote) at += 1
        else if (byte === quote && bytes[at + 1] === quote) at += 1
        else if (byte === quote) isQuoted = false
      } else if (byte === lineFeed) return at + 1
      else if (byte === quote) {
        const before = bytes[at - 1]
        // Elsewhere it is a character like any other.
        isQuoted = at === start || before === last || before === carriageReturn
      }
    }
    return 0
  }
}
