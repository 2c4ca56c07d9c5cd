/**
 * Appends to tables: INSERTs of parts, each within limits of time and memory, and repeated where the engine ended.
 *
 * The engine looks at its time limit between the steps of a statement, not within the expression of one block. So an INSERT
 * may outlast its limit: it keeps its session and its slow place until it ends by itself, and whoever cannot wait for that is
 * told that it is late. What such INSERTs leave free is enough for all others; when they hold all slow places, the engine is
 * started again.
 */

import type { Part } from '../../codec/arrow/part.types.ts'
import type { PartExpression } from '../../codec/arrow/part-expression.ts'
import type { AppendGate } from '../append-gate.ts'
import { type InsertOrigin, InsertPlaces } from '../insert-places.ts'
import { appendStatement } from '../sql/append-statement.ts'
import { repeatedAppend } from '../sql/fill-append.ts'
import type { InsertLimits } from '../sql/statement-settings.ts'
import type { AppendKeeper, AppendRequest, RowPartition } from '../store.types.ts'
import { isStopped, lateInsertError, toFillError } from '../store-error.ts'
import { appendForViews, noKeeper, type PassingRequest } from './append-for-views.ts'
import { appendSlices, rowPartitions } from './append-slices.ts'
import type { EngineDoors } from './engine-doors.ts'
import type { EngineSession } from './engine-session.types.ts'
import type { OrphanRepairs } from './orphan-repairs.ts'
import type { PartFiles, WrittenParts } from './part-files.ts'

export interface AppendsOptions {
  readonly insertsInFlightMax: number
  readonly waitingMax: number
  readonly insertTimeMaxMs: number
  readonly insertMemoryBytesMax: number
  /** See `InsertPlaces`; 5 s when absent. */
  readonly insertSlowAfterMs?: number
}

interface AppendsDeps {
  readonly engine: Pick<EngineDoors, 'admit' | 'lateReads' | 'restartStuckInserts' | 'suspects' | 'writers'>
  readonly gate: Pick<AppendGate, 'enter'>
  readonly partFiles: Pick<PartFiles, 'write'>
  readonly repairs: Pick<OrphanRepairs, 'dropBehind' | 'mayBeNeeded'>
}

/** Places of INSERTs that are slow, beside those of the others. */
export const slowInsertsMax = 4
const insertSlowAfterMs = 5_000
/** What a statement gets beyond its time limit until it counts as late. */
const lateGraceMs = 1_000
/** What an INSERT gets to end after its caller was told to leave it. */
const leaveGraceMs = 1_000
/** How often an INSERT is repeated that ran when the engine ended; the last time it runs alone. */
const repeatsMax = 2
/** A table of a data source or of what belongs to it begins with the id of that. */
const idLength = 't_'.length + 32

/** One append, until it has ended. */
interface Running {
  isLate: boolean
  /** Whether its caller waits for it no more. */
  isLeft: boolean
  /** Whether it reads a file of the caller's, which may be what it is late for. */
  readonly readsFile: boolean
  readonly onLate: () => void
}

interface Watch {
  readonly running: Running
  readonly limits: InsertLimits
}

export class Appends {
  readonly #options: AppendsOptions
  readonly #deps: AppendsDeps
  readonly #places: InsertPlaces
  /** By table, those whose callers were told that they are late. */
  readonly #late = new Map<string, Set<Promise<unknown>>>()
  #lateCount = 0
  #keeper = noKeeper

  constructor(options: AppendsOptions, deps: AppendsDeps) {
    const { insertsInFlightMax: placesMax, waitingMax, insertSlowAfterMs: slowAfterMs = insertSlowAfterMs } = options
    this.#options = options
    this.#deps = deps
    this.#places = new InsertPlaces({ placesMax, slowPlacesMax: slowInsertsMax, slowAfterMs, waitingMax })
  }

  /** See `SupervisedStore.keepBy`. */
  keepBy(keeper: AppendKeeper): void {
    this.#keeper = keeper
  }

  /** See `Store.append`. */
  append(request: AppendRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      const tellLate = (): void => {
        if (request.isToldLate !== true) return
        this.#noteLate(request.table, ended)
        reject(lateInsertError(this.#options.insertTimeMaxMs))
      }
      const readsFile = request.parquet !== undefined
      const running: Running = { isLate: false, isLeft: false, readsFile, onLate: tellLate }
      const ended = this.#append(request, running)
      const leave = (): void => {
        running.isLeft = true
        this.#noteLate(request.table, ended)
        reject(request.leftBy?.reason)
      }
      const stopWaiting = soonAfter(request.leftBy, leave)
      // Who was told that it is late, or has left it, hears nothing of its end.
      ended.then(resolve, reject).finally(stopWaiting)
    })
  }

  /** See `Store.untilAppended`. */
  async untilAppended(tables: readonly string[]): Promise<void> {
    await Promise.allSettled(tables.flatMap((table) => [...(this.#late.get(table) ?? [])]))
  }

  /** See `Store.partitionsByRow`. */
  async partitionsByRow(request: AppendRequest, tag?: PartExpression): Promise<readonly RowPartition[]> {
    const written = await this.#write(request)
    try {
      const { path } = written
      const read = (session: EngineSession) =>
        rowPartitions(session, request, { path, tag, limits: this.#limitsOf(request) })
      return await this.#places.use(originOf(request), () => this.#deps.engine.writers.use(read))
    } finally {
      await written.remove()
    }
  }

  /** Why no INSERT can run, as a clause; null when one can. */
  get unreadyReason(): string | null {
    const isFull = this.#lateCount >= this.#options.insertsInFlightMax + slowInsertsMax
    return isFull ? 'INSERTs that cannot be stopped hold all of its sessions for INSERTs' : null
  }

  #limitsOf({ timeTimes = 1 }: Pick<AppendRequest, 'timeTimes'>): InsertLimits {
    const { insertTimeMaxMs, insertMemoryBytesMax: memoryBytesMax } = this.#options
    return { timeMaxMs: timeTimes * insertTimeMaxMs, memoryBytesMax }
  }

  async #append(request: AppendRequest, running: Running): Promise<void> {
    const written = await this.#write(request)
    const insert = (again: PassingRequest): Promise<void> => this.#appendFile(again, written.path, running)
    let isKept = false
    try {
      // Whoever keeps the rows has passed the gate by himself.
      if (request.isKept === true) await this.#appendFile(request, written.path, running)
      else
        await appendForViews({ request, paths: written.paths }, { gate: this.#deps.gate, keeper: this.#keeper }, insert)
    } catch (thrown) {
      isKept =
        !running.isLate && !running.isLeft && pathsOf(request.parts).length > 0 && request.keepsParts?.(thrown) === true
      throw thrown
    } finally {
      if (!isKept) await written.remove()
    }
  }

  async #write({ parts, from, query }: AppendRequest): Promise<WrittenParts> {
    return from === undefined && query === undefined ? await this.#deps.partFiles.write(parts) : noParts
  }

  /** An INSERT that ran when the engine ended is repeated under its token, which the engine knows if it is in doubt. */
  async #appendFile(request: PassingRequest, path: string, running: Running): Promise<void> {
    const { repairs } = this.#deps
    for (let repeats = 0; ; repeats += 1) {
      try {
        if (repeats === 0) await this.#appendOnce(request, path, running)
        else await this.#appendOnce({ ...repeatedAppend(request), leftBy: undefined }, path, running)
        return
      } catch (error) {
        if (isStopped(error)) {
          // It was what the engine could not stop, and would be that again.
          if (running.isLate) throw lateInsertError(this.#options.insertTimeMaxMs)
          if (repeats < repeatsMax) continue
        }
        // Before the error is told, as whoever hears of it may repeat the block at once.
        if (request.isTrial !== true && repairs.mayBeNeeded(error)) await repairs.dropBehind(request.table)
        if (request.queryBounds === undefined) throw error
        throw toFillError(error, repeats === 0 && request.isRepeat !== true)
      }
    }
  }

  async #appendOnce(request: PassingRequest, path: string, running: Running): Promise<void> {
    const { engine } = this.#deps
    const { passesViews = false, blockId } = request
    const name = `block ${blockId}`
    const limits = this.#limitsOf(request)
    const insert = async (session: EngineSession): Promise<void> => {
      // It may have waited for its session.
      request.leftBy?.throwIfAborted()
      const watched = { run: (sql: string) => this.#runWatched(session, sql, { running, limits }) }
      const slices = await appendSlices(watched, request, { path, limits })
      request.onBegun?.()
      for (const slice of slices) {
        await watched.run(appendStatement(request, path, { ...slice, passesViews, limits }))
      }
    }
    await this.#places.use(originOf(request), () =>
      engine.admit(name, (passesPause) =>
        engine.writers.use(
          (session) => engine.suspects.during(session, { name, isAlone: passesPause }, () => insert(session)),
          { passesPause },
        ),
      ),
    )
  }

  async #runWatched(session: EngineSession, sql: string, { running, limits }: Watch): Promise<string> {
    let isLate = false
    let endRead = (): void => undefined
    const timer = setTimeout(() => {
      isLate = true
      running.isLate = true
      this.#lateCount += 1
      if (running.readsFile) endRead = this.#deps.engine.lateReads.begin()
      if (this.#lateCount >= slowInsertsMax) {
        this.#deps.engine.restartStuckInserts(() => this.#lateCount >= slowInsertsMax)
      }
      running.onLate()
    }, limits.timeMaxMs + lateGraceMs)
    timer.unref()
    try {
      return await session.run(sql)
    } finally {
      clearTimeout(timer)
      endRead()
      if (isLate) this.#lateCount -= 1
    }
  }

  #noteLate(table: string, ended: Promise<unknown>): void {
    const late = this.#late.get(table) ?? new Set()
    this.#late.set(table, late)
    late.add(ended)
    const forget = (): void => {
      late.delete(ended)
      if (late.size === 0) this.#late.delete(table)
    }
    ended.then(forget, forget)
  }
}

const noParts: WrittenParts = { path: '', paths: [], remove: async () => undefined }

/** Calls `act` a grace after the signal is aborted; gives what ends the waiting for that. */
function soonAfter(signal: AbortSignal | undefined, act: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const begin = (): void => {
    timer = setTimeout(act, leaveGraceMs)
  }
  if (signal?.aborted === true) begin()
  else signal?.addEventListener('abort', begin, { once: true })
  return () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', begin)
  }
}

/** The data source that an append is for, as far as its table tells; what is plain does not vouch for what is not. */
function originOf({ table, isPlain = false }: AppendRequest): InsertOrigin {
  const id = table.slice(0, idLength)
  return { key: isPlain ? `${id} plain` : id, isPlain }
}

/** The files of parts that nobody appends. */
export function pathsOf(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => (part instanceof Uint8Array ? [] : [part.path]))
}
