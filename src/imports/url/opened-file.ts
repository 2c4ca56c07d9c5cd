// One file from its first answer to its end. Each further answer is compared with the first one before a byte of it is taken:
// bytes of two states of a file are never mixed.

import type { Readable } from 'node:stream'
import { assert } from '../../shared/assert.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FileBytes, FileSource } from './file-bytes.types.ts'
import { compareIdentities, isProvable, isStrong } from './file-identity.ts'
import { fileNameOf } from './file-name.ts'
import { readInOrder } from './one-stream.ts'
import { readInPieces } from './piece-window.ts'
import { readableOf } from './readable-of.ts'
import { Reading } from './reading.ts'
import { brokenFault, changedFault, RemoteFault, toRemoteFault } from './remote-fault.ts'
import type { FileIdentity, ReadRequest, RemoteFile, RemoteFileOptions } from './remote-file.types.ts'
import type { ByteRange, RemoteRequests, RemoteResponse } from './remote-requests.ts'
import { type ResponseHead, readHead, readHints } from './response-head.ts'
import type { Retries } from './retries.ts'
import { urlPlace } from './url-place.ts'

export interface OpenedFileDeps {
  readonly requests: RemoteRequests
  readonly options: RemoteFileOptions
  readonly now: () => number
  readonly newRetries: () => Retries
  /** Ends everything, with its reason. */
  readonly signal: AbortSignal
  readonly onClose: () => void
}

export class OpenedFile implements RemoteFile {
  readonly place: string
  readonly options: RemoteFileOptions
  readonly now: () => number
  readonly newRetries: () => Retries
  readonly #url: URL
  readonly #deps: OpenedFileDeps
  #opening: Opening | null = null
  #reading = new Reading(0, () => 0)
  #closing: Promise<void> | null = null

  constructor(url: URL, deps: OpenedFileDeps) {
    this.#url = url
    this.#deps = deps
    this.place = urlPlace(url)
    this.options = deps.options
    this.now = deps.now
    this.newRetries = deps.newRetries
  }

  get identity(): FileIdentity {
    return this.#opened.head.identity
  }

  get fileName(): string {
    return fileNameOf({ given: this.#opened.hints.name, last: this.#opened.url, first: this.#url })
  }

  get mediaType(): string | undefined {
    return this.#opened.hints.mediaType
  }

  get contentEncoding(): RemoteFile['contentEncoding'] {
    return this.#opened.head.contentEncoding
  }

  get acceptsRanges(): boolean {
    return this.#opened.acceptsRanges
  }

  get receivedBytes(): number {
    return this.#reading.reachedBytes
  }

  get skippedBytes(): number {
    return this.#reading.offset
  }

  get waitedMs(): number {
    return this.#reading.waitedMs
  }

  /** Gets the first answer. @throws what `RemoteFiles.open` does. */
  async open(expected: FileIdentity | undefined, firstBytes = this.options.pieceBytes): Promise<void> {
    const { signal } = this.#deps
    const retries = this.newRetries()
    while (this.#opening === null) {
      try {
        this.#opening = await this.#firstAnswer(Math.min(firstBytes, this.options.pieceBytes))
      } catch (error) {
        signal.throwIfAborted()
        await retries.wait(toRemoteFault(error, { place: this.place, isInBody: false }), signal)
      }
    }
    this.#checkOpening(this.#opening, expected)
  }

  read({ offset, isParallel, firstBytes }: ReadRequest): Readable {
    const { byteCount } = this.identity
    const stop = new AbortController()
    const signal = AbortSignal.any([this.#deps.signal, stop.signal])
    const isLong = byteCount !== null && byteCount - offset > this.options.pieceBytes
    const reading = new Reading(offset, this.now)
    this.#reading = reading
    const source = this.#sourceFor(reading)
    const isInPieces = isParallel && isLong && this.acceptsRanges
    const chunks = isInPieces
      ? readInPieces(source, offset, signal)
      : readInOrder(source, { offset, firstBytes: this.acceptsRanges ? firstBytes : undefined }, signal)
    return readableOf(reading.timed(chunks), stop)
  }

  /** What a read that was given up still receives does not count for the one behind it. */
  #sourceFor(reading: Reading): FileSource {
    const { place, options, now, newRetries, identity, acceptsRanges } = this
    return {
      ...{ place, options, now, newRetries, identity, acceptsRanges },
      request: (range, signal) => this.#request(range, signal),
      checkEnd: () => this.#checkEnd(),
      received: (byteCount) => reading.received(byteCount),
    }
  }

  async #request(range: ByteRange, signal: AbortSignal): Promise<FileBytes> {
    const kept = this.#takeOpening(range)
    if (kept !== null) return kept
    const asked = this.acceptsRanges ? range : null
    const response = await this.#deps.requests.get(asked, signal)
    return orDestroy(response, () => {
      const head = readHead(response, asked, Date.now())
      this.#compare(head, { isBeginning: range.start === 0 })
      return bytesOf(response, head)
    })
  }

  async #checkEnd(): Promise<void> {
    if (!(await this.#deps.requests.hasSpareBytes())) return
    throw brokenFault(this.place, 'the server sends more bytes than its Content-Length says', { isRetryable: false })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#deps.onClose()
    this.#opening?.response?.body.destroy()
    await this.#deps.requests.close()
  }

  get #opened(): Opening {
    const opening = this.#opening
    assert(opening !== null, 'a file is open when it is used')
    return opening
  }

  /** Asks for the first piece: a server that has ranges says so best by giving one. */
  async #firstAnswer(firstBytes: number): Promise<Opening> {
    const { requests, signal } = this.#deps
    const asked = { start: 0, end: firstBytes - 1 }
    const first = await requests.get(asked, signal)
    if (first.status === 206) {
      const head = usableHead(first, asked)
      if (head !== null) return this.#openingOf(first, { head, acceptsRanges: true })
    }
    if (first.status !== 206 && first.status !== 416) {
      return orDestroy(first, () =>
        this.#openingOf(first, { head: readHead(first, null, Date.now()), acceptsRanges: false }),
      )
    }
    // The range is no use: the file is empty, or the server cannot do ranges as they are defined.
    first.body.destroy()
    const whole = await requests.get(null, signal)
    return orDestroy(whole, () =>
      this.#openingOf(whole, { head: readHead(whole, null, Date.now()), acceptsRanges: false }),
    )
  }

  #openingOf(response: RemoteResponse, { head, acceptsRanges }: Pick<Opening, 'acceptsRanges' | 'head'>): Opening {
    if (!head.isFramed && head.bodyBytes === null) {
      const reason = 'the server sends neither its length nor chunks, so that a part could not be told from the whole'
      throw brokenFault(this.place, reason, { isRetryable: false })
    }
    return { response, head, acceptsRanges, hints: readHints(response), url: response.url }
  }

  #checkOpening({ head: { identity } }: Opening, expected: FileIdentity | undefined): void {
    const { bytesMax } = this.options
    if (identity.byteCount !== null && identity.byteCount > bytesMax) {
      throw errors.REMOTE_TOO_LARGE({ place: this.place, bytesMax })
    }
    const verdict = expected === undefined ? 'same' : compareIdentities(expected, identity)
    if (verdict !== 'same') throw changedFault(this.place, changeReasons[verdict]).answer
  }

  /** The answer that opened the file brings the first bytes of the first read that begins with them. */
  #takeOpening({ start, end }: ByteRange): FileBytes | null {
    const opening = this.#opened
    const { response, head } = opening
    if (response === null) return null
    // It is of no use to any other read, and holds a connection.
    this.#opening = { ...opening, response: null }
    const isAsked = end === undefined || (head.bodyBytes !== null && head.bodyBytes - 1 <= end)
    if (!response.body.destroyed && ((start === 0 && isAsked) || !opening.acceptsRanges)) {
      return bytesOf(response, head)
    }
    response.body.destroy()
    return null
  }

  #compare(head: ResponseHead, { isBeginning }: { readonly isBeginning: boolean }): void {
    const { head: first } = this.#opened
    const verdict = compareIdentities(first.identity, head.identity)
    if (verdict === 'other') throw changedFault(this.place, changeReasons.other)
    if (head.contentEncoding !== first.contentEncoding)
      throw changedFault(this.place, 'its Content-Encoding is another one')
    // Of a server that tells states of a file apart by nothing, a file can be begun again, but not continued.
    if (verdict === 'unclear' && !isBeginning) throw changedFault(this.place, changeReasons.unclear)
    if (!head.isFramed && head.bodyBytes === null)
      throw brokenFault(this.place, 'the server does not say its length again', { isRetryable: true })
  }
}

interface Opening {
  /** Null once it is read. */
  readonly response: RemoteResponse | null
  readonly head: ResponseHead
  readonly hints: ReturnType<typeof readHints>
  readonly acceptsRanges: boolean
  /** Where the answer came from. */
  readonly url: URL
}

const changeReasons = {
  other: 'its ETag, Last-Modified or length is another one',
  unclear: 'the server sends neither a strong ETag nor Last-Modified with a length, so that it cannot be continued',
}

/** Null for a range that files cannot be put together from. */
function usableHead(response: RemoteResponse, asked: ByteRange): ResponseHead | null {
  try {
    const head = readHead(response, asked, Date.now())
    const isSafe = head.contentEncoding === undefined || isStrong(head.identity.etag)
    return isSafe && isProvable(head.identity) ? head : null
  } catch (error) {
    const isEncoding = error instanceof RemoteFault && error.answer.code === 'ENCODING_UNSUPPORTED'
    if (isEncoding) response.body.destroy()
    if (!(error instanceof RemoteFault) || isEncoding) throw error
    return null
  }
}

function bytesOf({ body }: RemoteResponse, { bodyBytes, isFramed, offset }: ResponseHead): FileBytes {
  return { body, bodyBytes, isFramed, offset }
}

function orDestroy<Result>({ body }: RemoteResponse, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    body.destroy()
    throw error
  }
}
