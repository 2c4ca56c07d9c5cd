/**
 * Which parts each table has, noted in a file of the data directory: parts and tables that go without being removed are told
 * with their rows.
 *
 * 1. Parts are noted once they are synced: every minute when they have changed, behind each change that removes rows, and at
 *    the close. The note is no part of what is kept: without it nothing is compared.
 * 2. What was noted is compared at the start, when the engine was started again, and before each new note. What is lost
 *    stays in the note, and is told at each start, until it is back or its table is emptied, replaced or dropped.
 * 3. Before rows are removed on purpose (truncate, drop, replace, the end of a replay) their tables are taken out of the note.
 *    TTL and engines that let rows go in merges may remove a part too: there it is a warning, once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Logger } from '../../observe/logger.ts'
import { quarantineTable } from '../../store/sql/quarantine-table.ts'
import type { Store } from '../../store/store.types.ts'
import { listTables } from '../tables.ts'
import { type Occasion, PartComparison } from './part-comparison.ts'
import type { NotedTables } from './part-losses.ts'
import { type Note, PartNoteFile, withoutTables } from './part-note-file.ts'

const noteIntervalMs = 60_000
/** Between notes behind changes: each asks for the parts of all tables. */
const changeIntervalMs = 1_000
/** An engine that does not answer must not hold up the close. */
const closeTimeMaxMs = 5_000
/** Beyond, the tables with the most parts are left out. */
const notedPartsMax = 200_000

interface PartNoteDeps {
  readonly catalog: Pick<Catalog, 'find'>
  readonly store: Pick<Store, 'parts' | 'sync' | 'tables'>
  readonly logger: Logger
}

export class PartNote {
  readonly #file: PartNoteFile
  readonly #deps: PartNoteDeps
  #note: Note = { notedAt: '', tables: {}, lost: {} }
  /** What the file has of it; empty when it has something else. */
  #written = ''
  /** Tables of changes under way that remove rows, and how many of these: they are not noted meanwhile. */
  readonly #removing = new Map<string, number>()
  readonly #comparison: PartComparison
  #timer: NodeJS.Timeout | undefined
  #changeTimer: NodeJS.Timeout | undefined
  #lastNoteMs = Number.NEGATIVE_INFINITY
  #isClosing = false
  #working: Promise<void> = Promise.resolve()

  constructor(dataDirectory: string, deps: PartNoteDeps) {
    this.#file = new PartNoteFile(dataDirectory)
    this.#deps = deps
    this.#comparison = new PartComparison(deps)
  }

  /** Tells what is gone since the note was written. Precondition: no table was made or changed since the start. */
  async compareAtStart(): Promise<void> {
    const { note, isDamaged } = await this.#file.read()
    if (isDamaged) {
      this.#deps.logger.warn(
        {},
        'The note of the parts of the tables cannot be read: nobody knows whether some are gone.',
      )
    }
    if (note === null) return
    this.#note = note
    await this.#inTurn(() => this.#compare('start'))
  }

  /** The same for an engine that was started again. Never rejects: what failed is compared by the next note. */
  async compareAfterRestart(): Promise<void> {
    try {
      await this.#inTurn(() => this.#compare('restart'))
    } catch (err) {
      this.#deps.logger.warn({ err }, 'The parts of the tables could not be compared yet.')
    }
  }

  /** Notes from time to time what there is. */
  start(): void {
    if (this.#isClosing) return
    this.#timer = setTimeout(() => {
      void this.#noteInTurn().then(() => this.start())
    }, noteIntervalMs).unref()
  }

  /**
   * Runs a change that removes rows of data sources on purpose. Throws what it throws, and the system's error when they
   * cannot be taken out of the note.
   */
  async whileRemoving<Result>(ids: readonly string[], change: () => Promise<Result>): Promise<Result> {
    const tables = ids.flatMap((id) => [id, quarantineTable(id)])
    for (const table of tables) this.#removing.set(table, (this.#removing.get(table) ?? 0) + 1)
    try {
      await this.#inTurn(async () => {
        this.#note = withoutTables(this.#note, tables)
        this.#written = ''
        await this.#file.remove(tables)
      })
      return await change()
    } finally {
      for (const table of tables) this.#release(table)
      this.#noteSoon()
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#timer)
    clearTimeout(this.#changeTimer)
    const timer = new AbortController()
    // Aborting the timer rejects it, and that is no failure.
    const late = delay(closeTimeMaxMs, undefined, { signal: timer.signal }).catch(() => undefined)
    await Promise.race([this.#noteInTurn(), late])
    timer.abort()
  }

  #release(table: string): void {
    const count = (this.#removing.get(table) ?? 0) - 1
    if (count > 0) this.#removing.set(table, count)
    else this.#removing.delete(table)
  }

  #noteSoon(): void {
    if (this.#isClosing || this.#changeTimer !== undefined) return
    const waitMs = Math.max(0, this.#lastNoteMs + changeIntervalMs - performance.now())
    this.#changeTimer = setTimeout(() => {
      this.#changeTimer = undefined
      void this.#noteInTurn()
    }, waitMs).unref()
  }

  /** One behind the other. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const running = this.#working.then(work)
    this.#working = running.catch(() => undefined)
    return running
  }

  /** Never rejects: a note that cannot be written is one that compares nothing. */
  async #noteInTurn(): Promise<void> {
    try {
      await this.#inTurn(async () => {
        this.#lastNoteMs = performance.now()
        await this.#noteNow()
      })
    } catch (err) {
      this.#deps.logger.debug({ err }, 'The parts of the tables could not be noted.')
    }
  }

  async #noteNow(): Promise<void> {
    await this.#compare('run')
    const text = JSON.stringify([this.#note.tables, this.#note.lost])
    if (text === this.#written) return
    await this.#deps.store.sync()
    await this.#file.write(this.#note)
    this.#written = text
  }

  /** Takes over what is there, and tells and keeps what is not. */
  async #compare(occasion: Occasion): Promise<void> {
    // Of changes that end meanwhile the next note knows.
    const removing = new Set(this.#removing.keys())
    const find = async (): Promise<NotedTables> => {
      const tables = Object.entries(await this.#tables()).filter(([name]) => !removing.has(name))
      return Object.fromEntries(tables)
    }
    const compare = async () => await this.#comparison.findings({ occasion, note: this.#note, found: await find() })
    let findings = await compare()
    // Tables and parts are asked one behind the other, and a table may be away between them to be mended.
    if (occasion === 'run' && findings.news.length > 0) findings = await compare()
    for (const tell of findings.news) tell()
    this.#note = { notedAt: new Date().toISOString(), tables: bounded(findings.kept), lost: findings.lost }
    // What is lost must not be forgotten with a process that ends within the minute.
    if (occasion === 'run' || findings.news.length === 0) return
    await this.#file.write(this.#note)
  }

  async #tables(): Promise<NotedTables> {
    const { store } = this.#deps
    const tables = await listTables(store.tables)
    const parts = await store.parts.list()
    const noted = [...tables].map(([name, { uuid }]) => [name, { uuid, parts: parts.get(name) ?? [] }] as const)
    return Object.fromEntries(noted.sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

function bounded(tables: NotedTables): NotedTables {
  const byPartCount = Object.entries(tables).sort(([, a], [, b]) => a.parts.length - b.parts.length)
  let partCount = 0
  const kept = byPartCount.filter(([, { parts }]) => {
    partCount += parts.length
    return partCount <= notedPartsMax
  })
  return Object.fromEntries(kept)
}
