/**
 * Counts the rows of an answer as its bytes pass, as far as its format shows them: the engine does not tell.
 *
 * A format of lines has a row a line, a document of JSON says how many it has, at its end.
 */
export interface RowCounter {
  take(chunk: Uint8Array): void
  /** Null where the format does not show them. */
  count(): number | null
}

const lineFeed = 0x0a
const quote = 0x22

/** @param format as `answerFormat` gives it. */
export function createRowCounter(format: string): RowCounter {
  const headLines = /WithNamesAndTypes$/.test(format) ? 2 : /WithNames$/.test(format) ? 1 : 0
  if (/^CSV/.test(format)) return new LineCounter(headLines, true)
  if (/^(?:TSV|TabSeparated|TSKV)/.test(format) && !format.includes('Raw')) return new LineCounter(headLines, false)
  if (/EachRow/.test(format) && !/^(?:PrettyJSON|JSONObject)/.test(format)) return new LineCounter(headLines, false)
  if (/^(?:NDJSON|JSONLines)$/.test(format)) return new LineCounter(headLines, false)
  if (/^JSON(?:Strings|Compact|CompactStrings|ColumnsWithMetadata)?$/.test(format)) return new TailCounter()
  return { take: () => undefined, count: () => null }
}

/** Line feeds within values are escaped, or stand between quotes. */
class LineCounter implements RowCounter {
  readonly #headLines: number
  readonly #hasQuotes: boolean
  #lineCount = 0
  #isQuoted = false

  constructor(headLines: number, hasQuotes: boolean) {
    this.#headLines = headLines
    this.#hasQuotes = hasQuotes
  }

  take(chunk: Uint8Array): void {
    for (const byte of chunk) {
      // A quote within quotes is doubled, which turns twice.
      if (this.#hasQuotes && byte === quote) this.#isQuoted = !this.#isQuoted
      else if (byte === lineFeed && !this.#isQuoted) this.#lineCount += 1
    }
  }

  count(): number {
    return Math.max(0, this.#lineCount - this.#headLines)
  }
}

/** More than what stands behind the rows: the counts and the statistics. */
const tailBytesMax = 4_096

class TailCounter implements RowCounter {
  #tail: Uint8Array = new Uint8Array()

  take(chunk: Uint8Array): void {
    const joined = Buffer.concat([this.#tail, chunk.subarray(-tailBytesMax)])
    this.#tail = joined.subarray(-tailBytesMax)
  }

  count(): number | null {
    // The last one: a column, or a value, may be called so too.
    const found = [
      ...Buffer.from(this.#tail)
        .toString()
        .matchAll(/"rows":\s*(\d+)/g),
    ].at(-1)?.[1]
    return found === undefined ? null : Number(found)
  }
}
