/**
 * The pages of a Parquet file, looked at before the engine reads them.
 *
 * The engine takes the unpacked size in the header of a page at its word: when a page of gzip, zstd or brotli unpacks to less
 * than that, it waits for the rest for ever, in a thread that nothing can stop. So the headers of all pages are read, and what
 * a page unpacks to is compared with what is said of it. Where the packed bytes tell their own size only that is read, and the
 * engine finds out whether it is true; else they are unpacked. Of snappy and raw lz4 the engine compares the sizes itself.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress, unzip } from 'node:zlib'
import { decompress as unzstdNative } from '@mongodb-js/zstd'
import { mebibyte } from '../../shared/bytes.ts'
import { ApiError } from '../../shared/errors/errors.ts'
import { giveWay, inTimeSlices } from '../../shared/time-slices.ts'
import { scanZstd } from '../../shared/zstd/zstd-frames.ts'
import { readAt } from './parquet-bytes.ts'
import { type ColumnChunk, type ParquetFooter, parquetFault } from './parquet-footer.ts'
import { codecs, type PageHeader, pageTypes, readPageHeader } from './parquet-page.ts'

/** Pages that are larger than this are not looked into. */
const packedBytesMax = 64 * mebibyte
const unpackedBytesMax = 256 * mebibyte
const windowBytes = 64 * 1024
/** A header has the smallest and the largest value of its page. */
const headerBytesMax = 16 * mebibyte
/** Pages that are unpacked at once. */
const unpackingMax = 4

/**
 * Reads the headers of all pages, and what is packed as far as it takes.
 *
 * @throws BODY_CORRUPT (400) with the column and what is wrong; what `signal` is aborted with.
 */
export async function checkPages(path: string, footer: ParquetFooter, signal?: AbortSignal): Promise<void> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    await new PageCheck({ file, size }, footer, signal).run()
  } finally {
    await file.close()
  }
}

interface SizedFile {
  readonly file: FileHandle
  readonly size: number
}

interface Page extends PageHeader {
  /** Where its packed bytes begin. */
  readonly start: number
  readonly column: string
  readonly codec: number
}

class PageCheck {
  readonly #file: FileHandle
  readonly #size: number
  readonly #footer: ParquetFooter
  readonly #signal: AbortSignal | undefined
  #window: Buffer = Buffer.alloc(0)
  #windowStart = 0
  readonly #unpacking = new Set<Promise<void>>()
  #failure: Error | null = null

  constructor({ file, size }: SizedFile, footer: ParquetFooter, signal: AbortSignal | undefined) {
    this.#file = file
    this.#size = size
    this.#footer = footer
    this.#signal = signal
  }

  async run(): Promise<void> {
    const { leaves, rowGroups } = this.#footer
    try {
      for (const { chunks } of rowGroups) {
        for (const [index, chunk] of chunks.entries()) await this.#checkChunk(chunk, leaves[index]?.name ?? '')
      }
    } finally {
      // The file is closed afterwards.
      await Promise.all(this.#unpacking)
    }
    if (this.#failure !== null) throw this.#failure
  }

  async #checkChunk(chunk: ColumnChunk, column: string): Promise<void> {
    const { codec, valueCount, end } = chunk
    if (codec === codecs.lz4Frames) {
      throw parquetFault(`the column ${column} is packed by LZ4 with its old framing; write it with LZ4_RAW or ZSTD`)
    }
    let seenCount = 0
    for (let offset = chunk.start; offset < end; ) {
      this.#signal?.throwIfAborted()
      if (this.#failure !== null) throw this.#failure
      const header = await this.#headerAt(offset, end, column)
      const start = offset + header.headerBytes
      if (header.packedBytes > end - start) throw pageFault(column, 'a page ends after the pages of its column')
      if (header.plainBytes > header.packedBytes) throw pageFault(column, 'a page has more levels than bytes')
      const page = { ...header, start: start + header.plainBytes, column, codec }
      if (header.type !== pageTypes.index && codec !== codecs.none) await this.#checkPacked(page)
      offset = start + header.packedBytes
      seenCount += header.valueCount
      await giveWay()
    }
    if (seenCount !== valueCount) {
      throw pageFault(column, `its pages have ${seenCount} values, and its metadata says ${valueCount}`)
    }
  }

  async #headerAt(offset: number, end: number, column: string): Promise<PageHeader> {
    let byteCount = Math.min(1024, end - offset)
    for (;;) {
      const bytes = await this.#bytesAt(offset, byteCount, end)
      try {
        return await inTimeSlices(readPageHeader(bytes))
      } catch (cause) {
        if (!(cause instanceof RangeError)) throw cause
        if (byteCount >= end - offset || byteCount >= headerBytesMax) {
          throw pageFault(column, `the header of a page cannot be read (${cause.message})`, cause)
        }
        byteCount = Math.min(byteCount * 16, end - offset)
      }
    }
  }

  /** Out of the window, which moves ahead when it has to. */
  async #bytesAt(offset: number, byteCount: number, end: number): Promise<Buffer> {
    const known = this.#inWindow(offset, byteCount)
    if (known !== null) return known
    const aheadBytes = Math.max(byteCount, Math.min(windowBytes, Math.max(end - offset, this.#aheadOf(offset))))
    this.#window = await readAt(this.#file, offset, aheadBytes)
    this.#windowStart = offset
    return this.#window.subarray(0, byteCount)
  }

  /**
   * How much is read beyond a column that lies after what was read last: a file may have a hundred thousand columns of some
   * bytes. It doubles, so that columns in any other order cost twice their bytes at most.
   */
  #aheadOf(offset: number): number {
    const skippedBytes = offset - this.#windowStart - this.#window.length
    const isNext = offset >= this.#windowStart && skippedBytes <= this.#window.length
    return isNext ? Math.min(2 * this.#window.length, this.#size - offset) : 0
  }

  #inWindow(offset: number, byteCount: number): Buffer | null {
    const at = offset - this.#windowStart
    return at >= 0 && at + byteCount <= this.#window.length ? this.#window.subarray(at, at + byteCount) : null
  }

  async #packedAt(offset: number, byteCount: number): Promise<Buffer> {
    return this.#inWindow(offset, byteCount) ?? (await readAt(this.#file, offset, byteCount))
  }

  async #checkPacked(page: Page): Promise<void> {
    const packedBytes = page.packedBytes - page.plainBytes
    if (page.unpackedBytes === null || page.unpackedBytes === 0) return
    if (packedBytes === 0) throw sizeFault(page, 0)
    const { codec } = page
    if (codec === codecs.gzip) {
      // RFC 1952 §2.3.1: the last four bytes of a member are its unpacked size.
      const told = packedBytes < 18 ? 0 : (await this.#packedAt(page.start + packedBytes - 4, 4)).readUInt32LE()
      if (told < page.unpackedBytes) await this.#unpackBeside(page)
    } else if (codec === codecs.zstd) await this.#checkZstd(page, packedBytes)
    else if (codec === codecs.brotli) await this.#unpackBeside(page)
  }

  async #checkZstd(page: Page, packedBytes: number): Promise<void> {
    if (packedBytes > packedBytesMax) return
    const packed = await this.#packedAt(page.start, packedBytes)
    const scan = scanZstd(packed)
    if (!scan.isValid) throw pageFault(page.column, `a page cannot be unpacked (${scan.reason})`)
    const unpackedBytes = page.unpackedBytes ?? 0
    if (scan.bytesMax < unpackedBytes) throw sizeFault(page, scan.bytesMax)
    if (scan.declaredBytes < unpackedBytes && scan.bytesMax <= unpackedBytesMax) await this.#unpackBeside(page, packed)
  }

  /** Unpacks a page while the next ones are read; the first fault is told after the last of them. */
  async #unpackBeside(page: Page, packed?: Buffer): Promise<void> {
    if (page.packedBytes > packedBytesMax) return
    while (this.#unpacking.size >= unpackingMax) await Promise.race(this.#unpacking)
    const unpacking = this.#compare(page, packed)
      .catch((error: unknown) => {
        this.#failure ??= error instanceof Error ? error : new Error(String(error))
      })
      .finally(() => this.#unpacking.delete(unpacking))
    this.#unpacking.add(unpacking)
  }

  async #compare(page: Page, given?: Buffer): Promise<void> {
    const packed = given ?? (await this.#packedAt(page.start, page.packedBytes - page.plainBytes))
    const saidBytes = page.unpackedBytes ?? 0
    const unpackedBytes = await unpackedSize(page.codec, packed, saidBytes).catch((cause: unknown) => {
      if (cause instanceof ApiError) throw cause
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw pageFault(page.column, `a page cannot be unpacked (${reason})`, cause)
    })
    if (unpackedBytes < saidBytes) throw sizeFault(page, unpackedBytes)
  }
}

const unzipAll = promisify(unzip)
const unbrotliAll = promisify(brotliDecompress)

/** How many bytes `packed` unpacks to; those beyond `enoughBytes` need not be counted. */
async function unpackedSize(codec: number, packed: Buffer, enoughBytes: number): Promise<number> {
  if (codec === codecs.zstd) return (await unzstdNative(packed)).length
  const unpack = codec === codecs.gzip ? unzipAll : unbrotliAll
  try {
    return (await unpack(packed, { maxOutputLength: enoughBytes, chunkSize: 256 * 1024 })).length
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE') return enoughBytes
    throw cause
  }
}

function sizeFault({ column, unpackedBytes }: Page, foundBytes: number): Error {
  return pageFault(column, `a page unpacks to ${foundBytes} bytes at most, and its header says ${unpackedBytes}`)
}

function pageFault(column: string, reason: string, cause?: unknown): Error {
  return parquetFault(`in the column ${column} ${reason}`, cause)
}
