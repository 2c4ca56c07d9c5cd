/**
 * Where CSV records end: the bytes go through the kernel (`kernel/csv-boundary.ts`), which alone looks at each of them. This
 * runs on the thread that reads the sockets, so it is to be quick.
 */

import type { RecordBoundary } from '../frame-assembler.ts'
import { ScanKernel } from '../scan-kernel/scan-kernel.ts'
import { lineFeed, openQuoteIn, quote } from './csv-cells.ts'
import { type CsvDialect, delimiterWord } from './csv-dialect.ts'

/** What is copied into the kernel's memory at a time: as much as a socket gives, and as the processor's cache holds. */
const pieceBytes = 65_536

/** One kernel for all bodies of the thread; what is known of a body between two calls is its own. */
let shared: { readonly kernel: ScanKernel; readonly pieceAt: number } | undefined

function sharedKernel(): { readonly kernel: ScanKernel; readonly pieceAt: number } {
  if (shared === undefined) {
    const kernel = new ScanKernel()
    // The kernel reads 16 bytes at a time, so a little beyond the end.
    shared = { kernel, pieceAt: kernel.memory.allocate(pieceBytes + 16) }
  }
  return shared
}

export class CsvBoundary implements RecordBoundary {
  readonly #dialect: CsvDialect
  readonly #delimiter: number
  /** The quote where quotes are only doubled. */
  readonly #escape: number
  /** What the kernel has to know of the bytes before: inside quotes or not, and so on. */
  #state: number

  constructor(dialect: CsvDialect) {
    this.#dialect = dialect
    this.#delimiter = delimiterWord(dialect)
    this.#escape = dialect.escape ?? quote
    this.#state = sharedKernel().kernel.exports.initialCsvState()
  }

  advance(bytes: Uint8Array, from: number, to: number): number {
    const { kernel, pieceAt } = sharedKernel()
    const { exports, memory } = kernel
    exports.openCsvBoundary(this.#delimiter, this.#escape)
    let lastEnd = -1
    for (let start = from; start < to; start += pieceBytes) {
      const piece = bytes.subarray(start, Math.min(to, start + pieceBytes))
      memory.bytes.set(piece, pieceAt)
      const pieceEnd = pieceAt + piece.length
      const end = exports.advanceCsv(pieceAt, pieceEnd, this.#state)
      this.#state = exports.csvState()
      if (end >= 0) lastEnd = start + end
    }
    return lastEnd
  }

  /** The line of a quote that is never closed. Lines of closed fields before it belong to the same record. */
  skipOpenLine(record: Uint8Array): number {
    const opening = openQuoteIn(record, this.#dialect)
    const lineEnd = opening < 0 ? -1 : record.indexOf(lineFeed, opening)
    if (lineEnd < 0) return 0
    this.#state = sharedKernel().kernel.exports.initialCsvState()
    return lineEnd + 1
  }
}
