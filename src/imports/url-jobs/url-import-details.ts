/** What a job tells of an import by URL while it works, and at its end. */
import { doubtWarnings } from '../../ingest/insert/doubtful-rows.ts'
import type { LedgerCounts } from '../../ingest/insert/import-ledger.types.ts'
import type { RemoteFile } from '../url/remote-file.types.ts'
import type { UrlImportTask } from './url-import.types.ts'

const warningsMax = 20

export class UrlImportDetails {
  readonly #urls: readonly string[]
  /** What was asked for, as it is kept of an operation. */
  readonly #asked: Readonly<Record<string, string>>
  readonly #warnings = new Set<string>()
  readonly #startedAtMs: number
  /** Read before this process began. */
  readonly #recordsBefore: number
  #file: ReadFile | null = null
  #urlIndex = 0
  #nowMs: number
  #bytesBefore = 0
  #isEnded = false
  #doubtfulRows = 0
  #startBytes: number | null = null
  #startIndex: number | null = null
  /** Bytes of files that were passed over, as an earlier process has stored what they hold. */
  #skippedBytes = 0
  counts: LedgerCounts

  /** `nowMs` is of a clock that is never set, `counts` what an earlier process has left. */
  constructor({ urls, order }: Pick<UrlImportTask, 'order' | 'urls'>, nowMs: number, counts: LedgerCounts) {
    this.#urls = urls.map(shownUrl)
    const { mode, name = '', format } = order
    this.#asked = { mode, target: name, ...(format === null ? {} : { format }) }
    this.#startedAtMs = nowMs
    this.#nowMs = nowMs
    this.#recordsBefore = counts.records
    this.counts = counts
  }

  get bytesRead(): number {
    return this.#bytesBefore + (this.#file?.receivedBytes ?? 0)
  }

  /** `bytesBefore` are those of the files before it. */
  begin(file: ReadFile, urlIndex: number, bytesBefore: number): void {
    // Those of the files before it that an earlier process has read.
    this.#startBytes ??= bytesBefore
    this.#startIndex ??= urlIndex
    this.#file = file
    this.#urlIndex = urlIndex
    this.#bytesBefore = bytesBefore
  }

  /** All of the file was read: from now on it is one of those before. */
  leave(bytesBefore: number): void {
    this.#skippedBytes += this.#file?.skippedBytes ?? 0
    this.#bytesBefore = bytesBefore
    this.#urlIndex += 1
    this.#file = null
  }

  count(counts: LedgerCounts): void {
    this.counts = counts
  }

  tick(nowMs: number): void {
    this.#nowMs = nowMs
  }

  /** Rows that may be stored beside those that are counted. */
  doubt(rowCount: number): void {
    this.#doubtfulRows = rowCount
  }

  warn(sentences: readonly string[]): void {
    for (const sentence of sentences) if (this.#warnings.size < warningsMax) this.#warnings.add(sentence)
  }

  end(): void {
    this.#isEnded = true
  }

  /** What is told where the files are not read any more. */
  countFields(): Readonly<Record<string, unknown>> {
    const { storedRows, quarantinedRows, invalidLines, records } = this.counts
    const warnings = [...this.#warnings, ...doubtWarnings(this.#doubtfulRows)]
    return { ...this.#asked, rowsRead: records, storedRows, quarantinedRows, invalidLines, warnings }
  }

  /** A plain JSON object. */
  fields(): Readonly<Record<string, unknown>> {
    const { records } = this.counts
    const elapsedSeconds = Math.max(0.001, (this.#nowMs - this.#startedAtMs) / 1000)
    const share = this.#share()
    return {
      urls: this.#urls,
      bytesRead: this.bytesRead,
      bytesTotal: this.#urls.length === 1 ? (this.#file?.identity.byteCount ?? null) : null,
      ...this.countFields(),
      progressPercentage: share === null ? null : Math.floor(share * 1000) / 10,
      rowsPerSecond: Math.round(Math.max(0, records - this.#recordsBefore) / elapsedSeconds),
      bytesPerSecond: Math.round(this.#ownBytes / elapsedSeconds),
      remainingSeconds: this.#remainingSeconds(share, elapsedSeconds),
    }
  }

  /** Of those that are read, what this process has read. */
  get #ownBytes(): number {
    return this.bytesRead - (this.#startBytes ?? 0) - this.#skippedBytes - (this.#file?.skippedBytes ?? 0)
  }

  /** How much is read of all files; null where nobody knows. */
  #share(): number | null {
    if (this.#isEnded) return 1
    const byteCount = this.#file?.identity.byteCount ?? null
    // Of several files those before are known.
    if (byteCount === null || byteCount === 0) return this.#urlIndex === 0 ? null : this.#urlIndex / this.#urls.length
    // That all was received is not yet that all is stored.
    const ofFile = Math.min(0.999, (this.#file?.receivedBytes ?? 0) / byteCount)
    return (this.#urlIndex + ofFile) / this.#urls.length
  }

  #remainingSeconds(share: number | null, elapsedSeconds: number): number | null {
    if (this.#isEnded) return 0
    const ownShare = share === null ? 0 : share - this.#shareBefore()
    return share === null || ownShare <= 0 ? null : Math.ceil((elapsedSeconds * (1 - share)) / ownShare)
  }

  /** How much of all files an earlier process has read. */
  #shareBefore(): number {
    const byteCount = this.#file?.identity.byteCount ?? 0
    const skipped = byteCount === 0 ? 0 : (this.#file?.skippedBytes ?? 0) / byteCount
    return ((this.#startIndex ?? 0) + skipped) / this.#urls.length
  }
}

type ReadFile = Pick<RemoteFile, 'identity' | 'receivedBytes' | 'skippedBytes'>

/** Without what may be a secret: user, password and query. */
export function shownUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}
