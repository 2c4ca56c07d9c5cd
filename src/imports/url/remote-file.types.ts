import type { Readable } from 'node:stream'
import type { Logger } from '../../observe/logger.ts'

/** Where files may be fetched from, and what bounds the fetching; all from options. */
export interface RemoteFileOptions {
  /** CIDRs and host names that may be private, separated by commas; empty for none. */
  readonly allow: string
  readonly allowHttp: boolean
  /** Whether a URL may have a user and a password. */
  readonly allowCredentials: boolean
  /** Ports of hosts that `allow` does not name, separated by commas. */
  readonly ports: string
  readonly connectTimeoutMs: number
  /** From the request to the end of the headers of its answer. */
  readonly headersTimeoutMs: number
  /** Time in which at least `progressBytesMin` bytes of a body arrive. */
  readonly idleTimeoutMs: number
  /** Of a file, as it is sent. */
  readonly bytesMax: number
  readonly headerBytesMax: number
  readonly redirectsMax: number
  /** Requests for the same bytes, the first one included. */
  readonly attemptsMax: number
  /** Longest pause between two of them, whatever the server asks for. */
  readonly retryDelayMaxMs: number
  /** Pieces of one file that are fetched at once. Together with `pieceBytes` it is the window: the memory of a file. */
  readonly connectionsMax: number
  readonly pieceBytes: number
}

export interface RemoteFileDeps {
  readonly logger: Logger
  /** All addresses of a host name; by default those of the operating system's resolver. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>
  /** Milliseconds of a clock that is never set. */
  readonly now?: () => number
  /** From 0 to below 1. */
  readonly random?: () => number
  /** Resolves after a time; rejects when the signal is aborted. */
  readonly delay?: (timeMs: number, signal: AbortSignal) => Promise<unknown>
  /** Certificates to trust instead of the well-known ones, as PEM. */
  readonly ca?: string
}

/** What tells one state of a remote file from another. Plain JSON: a job keeps it with its checkpoint. */
export interface FileIdentity {
  readonly etag: string | null
  readonly lastModified: string | null
  /** As the file is sent; null where the server does not say it. */
  readonly byteCount: number | null
}

/** A file whose server has answered. Whoever opens it closes it. */
export interface RemoteFile {
  readonly identity: FileIdentity
  /** What the server or the path of the URL calls it. A name to guess a format from, nothing to be trusted. */
  readonly fileName: string
  readonly mediaType: string | undefined
  /** How the bytes are packed, as the server says; undefined where it says nothing. */
  readonly contentEncoding: 'gzip' | 'zstd' | undefined
  readonly acceptsRanges: boolean
  /** How far the last `read` has come: its offset, and the bytes behind that have arrived, each counted once. */
  readonly receivedBytes: number
  /** The offset of the last `read`. */
  readonly skippedBytes: number
  /** How long the last `read` has waited for the server, while somebody waited for its bytes. */
  readonly waitedMs: number
  /**
   * The bytes from `offset` on, in order. Nothing is requested before somebody reads.
   *
   * What breaks is requested again from the byte that was reached. With `isParallel`, pieces are fetched at the same time
   * where the server has ranges. The stream fails with REMOTE_FILE_CHANGED (409), REMOTE_TOO_LARGE (413), REMOTE_STATUS,
   * REMOTE_UNREACHABLE, REMOTE_BROKEN (422), URL_REFUSED (400), or the reason of the signal that the file was opened with.
   */
  read(request: ReadRequest): Readable
  /** Ends all reads and connections; may be called again. */
  close(): Promise<void>
}

export interface ReadRequest {
  readonly offset: number
  readonly isParallel: boolean
  /**
   * Bytes of the first range, for a reader that may soon go on elsewhere: each further one has twice as many. Where it is
   * undefined, or the server has no ranges, all is requested at once. Not for a read in parallel.
   */
  readonly firstBytes?: number | undefined
}

export interface RemoteFiles {
  /**
   * Judges the text of a URL, without any network.
   *
   * @throws URL_INVALID, URL_REFUSED (400).
   */
  check(url: string): void
  /**
   * Connects, follows redirects, and reads the headers of the answer.
   *
   * @throws URL_INVALID, URL_REFUSED (400), REMOTE_TOO_LARGE (413), ENCODING_UNSUPPORTED (415), REMOTE_STATUS, REMOTE_UNREACHABLE,
   *   REMOTE_BROKEN (422); REMOTE_FILE_CHANGED (409) when it is not provably the `expected` file; the reason of the signal.
   */
  open(url: string, context: OpenContext): Promise<RemoteFile>
  /** Closes all files that are open; they fail with SHUTTING_DOWN (503). */
  close(): Promise<void>
}

export interface OpenContext {
  /** Ends everything that the file does, with its reason. */
  readonly signal: AbortSignal
  /** The file that an earlier attempt has read a part of. */
  readonly expected?: FileIdentity
  /** Bytes that the first request asks for; those of a piece where it is undefined. */
  readonly firstBytes?: number | undefined
}
