/**
 * Which parts each table has, noted in a file of the data directory: a start that finds a part or a table gone says so.
 *
 * 1. Parts are noted once they are synced, every minute when they have changed, and at the close. The note is no part of what
 *    is kept: without it nothing is compared.
 * 2. Merges and mutations put one part into the place of others, so a noted part is there when one covers its blocks.
 * 3. Before rows are removed on purpose (truncate, drop, replace, the end of a replay) the note goes, and is written anew
 *    later. TTL and engines that let rows go in merges may remove a part too: there it is a warning.
 */
import { open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Catalog } from '../catalog/catalog.ts'
import type { DataSource } from '../catalog/data-source.types.ts'
import type { Logger } from '../observe/logger.ts'
import { quoteString } from '../shared/text-escapes.ts'
import type { Store } from '../store/store.types.ts'
import { workspaceDatabase } from '../store/workspace-database.ts'
import { ownerOf } from './tables.ts'

const noteName = 'table-parts'
const noteIntervalMs = 60_000
/** Beyond, the tables with the most parts are left out. */
const notedPartsMax = 200_000
/** Parts that a line of the log names. */
const namedPartsMax = 20
const version = 1

interface PartNoteDeps {
  readonly catalog: Pick<Catalog, 'find'>
  readonly store: Pick<Store, 'rows' | 'sync'>
  readonly logger: Logger
}

interface NotedPart {
  readonly name: string
  readonly partition: string
  readonly minBlock: number
  readonly maxBlock: number
  readonly rowCount: number
}

interface NotedTable {
  readonly uuid: string
  readonly parts: readonly NotedPart[]
}

type NotedTables = Readonly<Record<string, NotedTable>>

interface Note {
  readonly version: number
  readonly notedAt: string
  readonly tables: NotedTables
}

export class PartNote {
  readonly #path: string
  readonly #deps: PartNoteDeps
  #written = ''
  /** Changes under way that remove rows: nothing is noted meanwhile. */
  #removalCount = 0
  #timer: NodeJS.Timeout | undefined
  #working: Promise<void> = Promise.resolve()

  constructor(dataDirectory: string, deps: PartNoteDeps) {
    this.#path = join(dataDirectory, noteName)
    this.#deps = deps
  }

  /** Tells what is gone since the note was written. Precondition: no table was made or changed since the start. */
  async compare(): Promise<void> {
    const note = await this.#read()
    if (note === null) return
    const found = await this.#tables()
    for (const [table, noted] of Object.entries(note.tables)) {
      const dataSource = this.#deps.catalog.find(ownerOf(table))
      // Dropped, or half made: whoever mends that knows.
      if (dataSource !== undefined) this.#tell({ dataSource, table, notedAt: note.notedAt }, noted, found[table])
    }
  }

  /** Notes from time to time what there is. */
  start(): void {
    this.#timer = setTimeout(() => {
      this.#working = this.#noteNow().finally(() => this.start())
    }, noteIntervalMs).unref()
  }

  /** Runs a change that removes rows on purpose. Throws what it throws, and the system's error when the note cannot go. */
  async whileRemoving<Result>(change: () => Promise<Result>): Promise<Result> {
    this.#removalCount += 1
    try {
      await this.#working
      await rm(this.#path, { force: true })
      this.#written = ''
      return await change()
    } finally {
      this.#removalCount -= 1
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#working
    clearTimeout(this.#timer)
    await this.#noteNow()
  }

  #tell(place: LossPlace, noted: NotedTable, found: NotedTable | undefined): void {
    const { dataSource, table, notedAt } = place
    const fields = { dataSource: dataSource.name, table, notedAt }
    const { logger } = this.#deps
    if (found === undefined) {
      const rowCount = rowsOf(noted.parts)
      logger.error(
        { ...fields, rowCount },
        'A table that was there is gone with its rows (docs/recovery.md#lost-parts).',
      )
      return
    }
    // Another table under the name: it was exchanged, and the note is of before.
    if (found.uuid !== noted.uuid) return
    const gone = noted.parts.filter((part) => !found.parts.some((other) => covers(other, part)))
    if (gone.length === 0) return
    const parts = gone.slice(0, namedPartsMax).map(({ name }) => name)
    const loss = { ...fields, rowCount: rowsOf(gone), partCount: gone.length, parts }
    if (mayLetRowsGo(dataSource) && table === dataSource.id) {
      logger.warn(loss, 'Parts of a table that were there are gone; its TTL or its engine may have removed them.')
      return
    }
    logger.error(loss, 'Parts of a table that were there are gone with their rows (docs/recovery.md#lost-parts).')
  }

  /** Never rejects: a note that cannot be written is one that compares nothing. */
  async #noteNow(): Promise<void> {
    if (this.#removalCount > 0) return
    try {
      const tables = bounded(await this.#tables())
      const text = JSON.stringify(tables)
      if (text === this.#written) return
      await this.#deps.store.sync()
      const note: Note = { version, notedAt: new Date().toISOString(), tables }
      const draft = `${this.#path}.new`
      await writeSynced(draft, JSON.stringify(note))
      if (this.#removalCount > 0) return
      await rename(draft, this.#path)
      this.#written = text
    } catch (err) {
      this.#deps.logger.debug({ err }, 'The parts of the tables could not be noted.')
    }
  }

  async #tables(): Promise<NotedTables> {
    const { store } = this.#deps
    const isOurs = `database = ${quoteString(workspaceDatabase)} AND match(name, '^t_[0-9a-f]{32}(_quarantine)?$')`
    const tables = await store.rows<{ readonly name: string; readonly uuid: string }>(
      `SELECT name, toString(uuid) AS uuid FROM system.tables WHERE ${isOurs} ORDER BY name`,
    )
    const partsOf = new Map<string, NotedPart[]>(tables.map(({ name }) => [name, []]))
    const parts = await store.rows<NotedPart & { readonly owner: string }>(
      `SELECT table AS owner, name, partition_id AS partition, toInt32(min_block_number) AS minBlock,
         toInt32(max_block_number) AS maxBlock, toFloat64(rows) AS rowCount
       FROM system.parts WHERE database = ${quoteString(workspaceDatabase)} AND active AND rows > 0 ORDER BY table, name`,
    )
    for (const { owner, ...part } of parts) partsOf.get(owner)?.push(part)
    return Object.fromEntries(tables.map(({ name, uuid }) => [name, { uuid, parts: partsOf.get(name) ?? [] }]))
  }

  /** Null when there is none, or one that cannot be read: then nothing is compared. */
  async #read(): Promise<Note | null> {
    try {
      // Nobody but this class writes the file; another version of it is passed over.
      const note = JSON.parse(await readFile(this.#path, 'utf8')) as Note
      return note.version === version ? note : null
    } catch {
      return null
    }
  }
}

interface LossPlace {
  readonly dataSource: DataSource
  readonly table: string
  readonly notedAt: string
}

function covers(part: NotedPart, { partition, minBlock, maxBlock }: NotedPart): boolean {
  return part.partition === partition && part.minBlock <= minBlock && part.maxBlock >= maxBlock
}

function rowsOf(parts: readonly NotedPart[]): number {
  return parts.reduce((sum, { rowCount }) => sum + rowCount, 0)
}

const keepingEngines: readonly string[] = ['MergeTree', 'ReplacingMergeTree', 'AggregatingMergeTree']

/** Whether a merge may leave nothing of a part's rows. */
function mayLetRowsGo({ engine }: DataSource): boolean {
  return engine.options['ttl'] !== undefined || !keepingEngines.includes(engine.name)
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

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}
