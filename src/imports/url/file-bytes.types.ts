import type { Readable } from 'node:stream'
import type { RemoteFile, RemoteFileOptions } from './remote-file.types.ts'
import type { ByteRange } from './remote-requests.ts'
import type { Retries } from './retries.ts'

/** A file as those see it who put its bytes in order. */
export interface FileSource extends Pick<RemoteFile, 'acceptsRanges' | 'identity'> {
  readonly place: string
  readonly options: RemoteFileOptions
  readonly now: () => number
  newRetries(): Retries
  /**
   * Requests bytes from `range.start` on; a server without ranges brings the whole file.
   *
   * @throws RemoteFault; the reason of the signal.
   */
  request(range: ByteRange, signal: AbortSignal): Promise<FileBytes>
  /**
   * Checks that a file that was brought whole did not go on behind the length that its server told.
   *
   * @throws RemoteFault.
   */
  checkEnd(): Promise<void>
  /** Counts bytes that have arrived. */
  received(byteCount: number): void
}

/** Bytes of a file on their way. Whoever gets them reads the body or destroys it. */
export interface FileBytes {
  readonly body: Readable
  /** Where in the file the body begins. */
  readonly offset: number
  /** Null where only its end tells. */
  readonly bodyBytes: number | null
  /** Whether the body itself says where it ends; else the end of the connection does. */
  readonly isFramed: boolean
}
