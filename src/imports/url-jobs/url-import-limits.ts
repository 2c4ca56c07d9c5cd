/**
 * What ends an import that takes too long: its longest time, and a rate below which a server that holds one of the few places may
 * not fall while others wait for it. Only the time counts in which the service waited for the server.
 */
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import type { RemoteFile } from '../url/remote-file.types.ts'

export interface UrlImportLimitOptions {
  /** Of one import, counted anew when it goes on after a restart. */
  readonly urlTimeMaxMs: number
  /** Bytes a second. */
  readonly urlRateMin: number
  /** The time over which the rate is measured. */
  readonly urlIdleTimeoutMs: number
}

interface Measured extends Pick<RemoteFile, 'receivedBytes' | 'waitedMs'> {
  readonly file: RemoteFile
}

/** Rows that an import has stored; null for a replace, of which nothing is to be seen. */
type StoredRows = number | null

export class UrlImportLimits {
  readonly #options: UrlImportLimitOptions
  readonly #hasWaiting: () => boolean
  readonly #startedAtMs: number
  readonly #ending = new AbortController()
  /** Where the measuring of the rate began; null while it does not count. */
  #from: Measured | null = null
  #toError: ((storedRows: StoredRows) => ApiError) | null = null

  /**
   * @param hasWaiting whether others wait for the place.
   * @param nowMs of a clock that is never set.
   */
  constructor(options: UrlImportLimitOptions, hasWaiting: () => boolean, nowMs: number) {
    this.#options = options
    this.#hasWaiting = hasWaiting
    this.#startedAtMs = nowMs
  }

  /** Aborted at a limit. */
  get signal(): AbortSignal {
    return this.#ending.signal
  }

  /** What the import failed with; null as long as no limit has ended it. */
  errorOf(storedRows: StoredRows): ApiError | null {
    return this.#toError?.(storedRows) ?? null
  }

  /** To be called now and then; `place` names the file, as errors do. */
  check(file: RemoteFile | null, place: string, nowMs: number): void {
    const { urlTimeMaxMs } = this.#options
    if (nowMs - this.#startedAtMs > urlTimeMaxMs) {
      this.#end((storedRows) => errors.IMPORT_TOO_LONG({ timeMaxMs: urlTimeMaxMs, storedRows }))
    }
    if (file === null || !this.#hasWaiting()) this.#from = null
    else this.#checkRate(file, place)
  }

  #checkRate(file: RemoteFile, place: string): void {
    const { urlRateMin: rateMin, urlIdleTimeoutMs } = this.#options
    const from = this.#from
    // One that begins to read elsewhere is measured anew.
    if (from?.file !== file || file.waitedMs < from.waitedMs) {
      this.#from = measured(file)
      return
    }
    const waitedMs = file.waitedMs - from.waitedMs
    if (waitedMs < urlIdleTimeoutMs) return
    const rate = ((file.receivedBytes - from.receivedBytes) * 1000) / waitedMs
    if (rate < rateMin) this.#end((storedRows) => errors.REMOTE_TOO_SLOW({ place, rate, rateMin, storedRows }))
    this.#from = measured(file)
  }

  #end(toError: (storedRows: StoredRows) => ApiError): void {
    this.#toError ??= toError
    this.#ending.abort(this.#toError(null))
  }
}

function measured(file: RemoteFile): Measured {
  return { file, receivedBytes: file.receivedBytes, waitedMs: file.waitedMs }
}
