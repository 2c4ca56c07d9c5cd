import { assertEntry, entryBytesOf } from './entry-format.ts'
import type { Group, SegmentChain } from './segment-chain.ts'
import { type Sequence, toSequence } from './sequence.ts'
import type { NewEntry, WalOptions, WalState } from './wal.types.ts'
import { WalClosedError, WalFailedError, WalRefusedError } from './wal-errors.ts'

/** One write has no more than this, or one batch: what a start after a crash may have to write again. */
const groupBytesMax = 16 * 1024 * 1024
const failedMessage = 'the write-ahead log has failed and takes no entries until it is reopened'

interface WaitingBatch {
  readonly entries: readonly NewEntry[]
  readonly byteCount: number
  readonly resolve: (sequences: readonly Sequence[]) => void
  readonly reject: (error: unknown) => void
}

type Limits = Pick<WalOptions, 'entryBytesMax' | 'onEvent' | 'onSynced' | 'pendingBytesMax' | 'totalBytesMax'>

/**
 * Writes all batches that wait with one write and one sync, in the order of their coming, and tells each its sequences.
 *
 * While one group is on its way to the disk the next one gathers, and is never written before the sync of the one before
 * has returned: so at any moment only the last group of the log can be in doubt.
 */
export class GroupCommit {
  state: WalState = 'open'
  pendingBytes = 0
  groupCount = 0
  entryCount = 0
  readonly #chain: SegmentChain
  readonly #limits: Limits
  /** A log may be opened with a lower limit than it was filled under. */
  readonly #openedBytes: number
  readonly #onCommitted: (entries: readonly NewEntry[], first: Sequence) => void
  #waiting: WaitingBatch[] = []
  #running: Promise<void> | null = null
  #failure: unknown = null
  #reopening: Promise<void> | null = null

  /** `onCommitted` is told each batch once it is on disk, before its sender is. */
  constructor(
    chain: SegmentChain,
    limits: Limits,
    onCommitted: (entries: readonly NewEntry[], first: Sequence) => void,
  ) {
    this.#chain = chain
    this.#limits = limits
    this.#openedBytes = chain.totalBytes
    this.#onCommitted = onCommitted
  }

  get pendingBatches(): number {
    return this.#waiting.length
  }

  /** See `Wal.appendBatch`. */
  append(entries: readonly NewEntry[]): Promise<readonly Sequence[]> {
    if (this.state === 'closed') return Promise.reject(new WalClosedError())
    if (this.state === 'failed') return Promise.reject(new WalFailedError(failedMessage, { cause: this.#failure }))
    let byteCount = 0
    for (const entry of entries) {
      assertEntry(entry)
      if (entry.payload.length > this.#limits.entryBytesMax) return refusal('entry-too-large')
      byteCount += entryBytesOf(entry)
    }
    // What is said about rows that are in the log must find room when rows no longer do, or the log could never shrink.
    const isBookkeeping = entries.every(({ kind }) => kind !== 'rows')
    const pendingMax = this.#limits.pendingBytesMax * (isBookkeeping ? 1.25 : 1)
    const totalMax = isBookkeeping
      ? Math.max(this.#limits.totalBytesMax, this.#openedBytes) * 1.0625
      : this.#limits.totalBytesMax
    if (this.pendingBytes + byteCount > pendingMax) return refusal('pending-full')
    if (this.#chain.totalBytes + this.pendingBytes + byteCount > totalMax) return refusal('log-full')
    this.pendingBytes += byteCount
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entries, byteCount, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Takes nothing more, and resolves when nothing waits: true when all that was taken is on disk. */
  async close(): Promise<boolean> {
    this.state = 'closed'
    await this.#running
    return this.#failure === null
  }

  /** See `Wal.reopen`. */
  reopen(): Promise<void> {
    this.#reopening ??= this.#reopenChain().finally(() => {
      this.#reopening = null
    })
    return this.#reopening
  }

  async #reopenChain(): Promise<void> {
    await this.#running
    if (this.state === 'closed') throw new WalClosedError()
    if (this.state === 'open') return
    try {
      await this.#chain.reopen()
    } catch (error) {
      this.#failure = error
      throw new WalFailedError(failedMessage, { cause: error })
    }
    this.#failure = null
    this.state = 'open'
    this.#limits.onEvent({ kind: 'reopened' })
  }

  async #run(): Promise<void> {
    // One turn of the event loop: what was read from many sockets together goes to the disk together.
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) await this.#commit(this.#takeGroup())
    this.#running = null
  }

  #takeGroup(): readonly WaitingBatch[] {
    const room = Math.min(groupBytesMax, this.#chain.roomFor(this.#waiting[0]?.byteCount ?? 0))
    let byteCount = 0
    let count = 0
    for (const batch of this.#waiting) {
      byteCount += batch.byteCount
      if (count > 0 && byteCount > room) break
      count += 1
    }
    return this.#waiting.splice(0, count)
  }

  /** Never rejects: each sender learns what became of his batch. */
  async #commit(batches: readonly WaitingBatch[]): Promise<void> {
    const group = groupOf(batches)
    const first = this.#chain.next
    const startMs = performance.now()
    try {
      await this.#chain.commit(group)
    } catch (error) {
      this.pendingBytes -= group.byteCount
      await this.#refuse(batches, error)
      return
    }
    this.pendingBytes -= group.byteCount
    this.#limits.onSynced?.(performance.now() - startMs)
    this.groupCount += 1
    this.entryCount += group.entryCount
    let next: number = first
    for (const { entries, resolve } of batches) {
      const start = next
      this.#onCommitted(entries, toSequence(start))
      resolve(entries.map((_, index) => toSequence(start + index)))
      next += entries.length
    }
  }

  async #refuse(batches: readonly WaitingBatch[], error: unknown): Promise<void> {
    if (error instanceof WalRefusedError) {
      this.#limits.onEvent({ kind: 'disk-full', error: error.cause })
      for (const { reject } of batches) reject(error)
      return
    }
    if (this.state === 'open') this.state = 'failed'
    this.#failure = error
    await this.#chain.fail()
    const refused = [...batches, ...this.#waiting]
    this.#waiting = []
    this.pendingBytes = 0
    this.#limits.onEvent({ kind: 'failed', error })
    for (const { reject } of refused) reject(new WalFailedError(failedMessage, { cause: error }))
  }
}

function groupOf(batches: readonly WaitingBatch[]): Group {
  return {
    batches: batches.map(({ entries }) => entries),
    byteCount: batches.reduce((total, { byteCount }) => total + byteCount, 0),
    entryCount: batches.reduce((total, { entries }) => total + entries.length, 0),
  }
}

function refusal(reason: 'entry-too-large' | 'log-full' | 'pending-full'): Promise<never> {
  return Promise.reject(new WalRefusedError(reason))
}
