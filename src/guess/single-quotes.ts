/**
 * CSV with single quotes around its fields, as some databases write it. No parameter asks for it, so it is guessed, and
 * the body is rewritten with the quotes of all other CSV while it streams.
 *
 * A quote at the beginning of a field may be an apostrophe. So it is one of these files only when no field of the
 * beginning has a double quote in front, all records have as many fields, and one column is quoted in all of its records.
 */
import { parse } from 'csv-parse/sync'
import { carriageReturn, lineFeed, quote } from '../codec/csv/csv-cells.ts'
import type { SampleBytes } from './sample.types.ts'

const singleQuote = 0x27
const delimiters = [',', ';', '\t', '|'] as const
const looksAtBytesMax = 16_384
const recordsMax = 100

/** The delimiter of a file with single quotes; null for all other files. */
export function guessSingleQuotes({ bytes, isWhole }: SampleBytes): string | null {
  const start = bytes.subarray(0, looksAtBytesMax)
  if (!start.includes(singleQuote)) return null
  const text = new TextDecoder().decode(start)
  // Most files are told by a look: the dialects are only tried where some field begins so.
  if (!/(?:^|[,;\t|])'/m.test(text) || /(?:^|[,;\t|])"/m.test(text)) return null
  const isCut = !isWhole || start.length < bytes.length
  return delimiters.find((delimiter) => isQuoted(text, delimiter, isCut)) ?? null
}

function isQuoted(text: string, delimiter: string, isCut: boolean): boolean {
  const records = cut(text, delimiter)
  // Behind the last record of a cut text nothing is known.
  const rows = records.slice(1, isCut ? -1 : undefined)
  const fieldCount = records[0]?.length ?? 0
  if (rows.length < 2 || fieldCount < 2 || rows.some((row) => row.length !== fieldCount)) return false
  return records[0]?.some((_, column) => rows.every((row) => row[column] === true)) ?? false
}

/** For each record, which of its fields are quoted. */
function cut(text: string, delimiter: string): readonly (readonly boolean[])[] {
  const records: boolean[][] = []
  try {
    parse(text, {
      delimiter,
      quote: "'",
      escape: "'",
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      to: recordsMax,
      // What `cast` gives is what the records hold; the types of csv-parse do not follow it.
      cast: (_, { quoting }) => quoting as unknown as string,
      on_record: (record) => {
        // As above: an array of what `cast` gave.
        records.push(record as unknown as boolean[])
        return null
      },
    })
  } catch {
    // An apostrophe that is no quote, or a quote that the end of the text leaves open.
    return records
  }
  return records
}

/** Rewrites a body whose fields have single quotes; in pieces cut anywhere. */
export class SingleQuotes {
  readonly #delimiter: number
  #isAtStart = true
  #isInside = false
  /** Behind a quote inside quotes: another one makes it a character. */
  #isBehindQuote = false

  /** @param delimiter one ASCII character. */
  constructor(delimiter: string) {
    this.#delimiter = delimiter.charCodeAt(0)
  }

  push(bytes: Uint8Array): Uint8Array {
    // A double quote becomes two, and a quote may be added that the piece before left open.
    const out = new Uint8Array(bytes.length * 2 + 1)
    let length = 0
    for (const byte of bytes) {
      if (this.#isBehindQuote) {
        this.#isBehindQuote = false
        if (byte === singleQuote) {
          out[length++] = singleQuote
          continue
        }
        out[length++] = quote
        this.#isInside = false
      }
      if (this.#isInside) {
        if (byte === singleQuote) {
          this.#isBehindQuote = true
          continue
        }
        if (byte === quote) out[length++] = quote
        out[length++] = byte
        continue
      }
      this.#isInside = this.#isAtStart && byte === singleQuote
      out[length++] = this.#isInside ? quote : byte
      this.#isAtStart = byte === this.#delimiter || byte === lineFeed || byte === carriageReturn
    }
    return out.slice(0, length)
  }

  /** What is left at the end of the body. */
  end(): Uint8Array {
    return this.#isBehindQuote ? Uint8Array.of(quote) : new Uint8Array(0)
  }
}
