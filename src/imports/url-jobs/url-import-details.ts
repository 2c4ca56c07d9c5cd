/** What a job tells of an import by URL while it works, and at its end. */
import type { LedgerCounts } from '../../ingest/insert/import-ledger.ts'
import type { RemoteFile } from '../url/remote-file.types.ts'
import { noRows } from './url-import-record.ts'

const warningsMax = 20

export class UrlImportDetails {
  readonly #urls: readonly string[]
  readonly #warnings = new Set<string>()
  readonly #startedAtMs: number
  #file: Pick<RemoteFile, 'identity' | 'receivedBytes'> | null = null
  #urlIndex = 0
  #nowMs: number
  #bytesBefore = 0
  #isEnded = false
  counts: LedgerCounts = noRows

  /** `nowMs` is of a clock that is never set. */
  constructor(urls: readonly string[], nowMs: number) {
    this.#urls = urls.map(shownUrl)
    this.#startedAtMs = nowMs
    this.#nowMs = nowMs
  }

  get bytesRead(): number {
    return this.#bytesBefore + (this.#file?.receivedBytes ?? 0)
  }

  begin(file: Pick<RemoteFile, 'identity' | 'receivedBytes'>, urlIndex: number): void {
    this.#file = file
    this.#urlIndex = urlIndex
  }

  count(counts: LedgerCounts): void {
    this.counts = counts
  }

  read(bytesBefore: number, nowMs: number): void {
    this.#bytesBefore = bytesBefore
    this.#nowMs = nowMs
  }

  warn(sentences: readonly string[]): void {
    for (const sentence of sentences) if (this.#warnings.size < warningsMax) this.#warnings.add(sentence)
  }

  end(): void {
    this.#isEnded = true
  }

  /** A plain JSON object. */
  fields(): Readonly<Record<string, unknown>> {
    const { storedRows, quarantinedRows, invalidLines, records } = this.counts
    const elapsedSeconds = Math.max(0.001, (this.#nowMs - this.#startedAtMs) / 1000)
    const share = this.#share()
    return {
      urls: this.#urls,
      bytesRead: this.bytesRead,
      bytesTotal: this.#urls.length === 1 ? (this.#file?.identity.byteCount ?? null) : null,
      rowsRead: records,
      storedRows,
      quarantinedRows,
      invalidLines,
      progressPercentage: share === null ? null : Math.floor(share * 1000) / 10,
      rowsPerSecond: Math.round(records / elapsedSeconds),
      bytesPerSecond: Math.round(this.bytesRead / elapsedSeconds),
      remainingSeconds: this.#remainingSeconds(share, elapsedSeconds),
      warnings: [...this.#warnings],
    }
  }

  /** How much is read of all files; null where nobody knows. */
  #share(): number | null {
    if (this.#isEnded) return 1
    const byteCount = this.#file?.identity.byteCount ?? null
    if (byteCount === null || byteCount === 0) return null
    // That all was received is not yet that all is stored.
    const ofFile = Math.min(0.999, (this.#file?.receivedBytes ?? 0) / byteCount)
    return (this.#urlIndex + ofFile) / this.#urls.length
  }

  #remainingSeconds(share: number | null, elapsedSeconds: number): number | null {
    if (this.#isEnded) return 0
    return share === null || share === 0 ? null : Math.ceil((elapsedSeconds * (1 - share)) / share)
  }
}

/** Without what may be a secret: user, password and query. */
function shownUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}
