/** What is gone of all that was noted, in words for the operator. */
import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Logger } from '../../observe/logger.ts'
import type { Store } from '../../store/store.types.ts'
import { ownerOf } from '../tables.ts'
import {
  isBack,
  judgeTable,
  type LettingGo,
  type LostPart,
  type NotedPart,
  type NotedTable,
  type NotedTables,
  rowsOf,
} from './part-losses.ts'
import type { LostParts, Note } from './part-note-file.ts'

/** Beyond, parts of a table that are lost further are told once only. */
const lostPartsMax = 20_000
/** Parts that a line of the log names. */
const namedPartsMax = 20
const page = 'docs/recovery.md#lost-parts'

interface ComparisonDeps {
  readonly catalog: Pick<Catalog, 'find'>
  readonly store: Pick<Store, 'parts'>
  readonly logger: Logger
}

/** Behind a start of the service or of the engine no table may be missing; else one may be away to be mended. */
export type Occasion = 'start' | 'restart' | 'run'

export interface CompareRequest {
  readonly occasion: Occasion
  readonly note: Note
  readonly found: NotedTables
}

export interface Findings {
  /** Tell what is new, once they are called. */
  readonly news: readonly (() => void)[]
  /** What is to be noted from now on. */
  readonly kept: NotedTables
  readonly lost: LostParts
}

interface Place {
  readonly dataSource: DataSource
  readonly table: string
  readonly notedAt: string
  readonly occasion: Occasion
}

interface Judgement {
  readonly lost: readonly LostPart[]
  readonly miscounted: readonly NotedPart[]
  readonly news: readonly (() => void)[]
}

const nothingNew: Judgement = { lost: [], miscounted: [], news: [] }

export class PartComparison {
  readonly #deps: ComparisonDeps
  /** Parts whose counts were told. */
  readonly #miscounted = new Set<string>()

  constructor(deps: ComparisonDeps) {
    this.#deps = deps
  }

  async findings({ occasion, note, found }: CompareRequest): Promise<Findings> {
    const news: (() => void)[] = []
    const kept: Record<string, NotedTable> = { ...found }
    const lost: Record<string, readonly LostPart[]> = {}
    for (const table of new Set([...Object.keys(note.tables), ...Object.keys(note.lost)])) {
      const dataSource = this.#deps.catalog.find(ownerOf(table))
      // Dropped, or half made: whoever mends that knows.
      if (dataSource === undefined) continue
      const [before, now] = [note.tables[table], found[table]]
      const known = (note.lost[table] ?? []).filter((part) => !isBack(part, now))
      const isAway = now === undefined && occasion === 'run'
      const place = { dataSource, table, notedAt: note.notedAt, occasion }
      const judgement = isAway ? nothingNew : await this.#judge(place, before, now)
      news.push(...judgement.news)
      if (occasion === 'start' && known.length > 0) news.push(() => this.#tellGone(place, known))
      const all = [...known, ...judgement.lost].slice(0, lostPartsMax)
      if (all.length > 0) lost[table] = all
      if (isAway && before !== undefined) kept[table] = before
      // The right counts stay noted.
      if (now !== undefined) kept[table] = { ...now, parts: inPlaceOf(judgement.miscounted, now.parts) }
    }
    return { news, kept, lost }
  }

  async #judge(place: Place, before: NotedTable | undefined, now: NotedTable | undefined): Promise<Judgement> {
    if (before === undefined) return nothingNew
    const { dataSource, table, notedAt, occasion } = place
    const toLost = (part: NotedPart): LostPart => ({ ...part, uuid: before.uuid, notedAt })
    if (now === undefined) {
      return { ...nothingNew, lost: before.parts.map(toLost), news: [() => this.#tellTable(place, before)] }
    }
    // Another table under the name: it was exchanged, and the note is of before.
    if (now.uuid !== before.uuid) return nothingNew
    const lettingGo = table === dataSource.id ? lettingGoOf(dataSource) : 'nothing'
    const { gone, short, miscounted } = judgeTable(before, now, lettingGo)
    const mayGo = lettingGo === 'parts' && gone.length > 0
    const broken = mayGo ? await this.#deps.store.parts.broken(table) : null
    const lost = [...gone.filter(({ name }) => broken?.has(name) ?? true), ...short].map(toLost)
    const letGo = mayGo ? gone.filter(({ name }) => broken?.has(name) === false) : []
    const untold = miscounted.filter(({ name }) => !this.#miscounted.has(`${now.uuid} ${name}`))
    const news: (() => void)[] = []
    if (lost.length > 0) news.push(() => this.#tellGone(place, lost))
    if (letGo.length > 0 && occasion !== 'run') news.push(() => this.#tellLetGo(place, letGo))
    if (untold.length > 0) news.push(() => this.#tellMiscounted(place, untold, now))
    return { lost, miscounted, news }
  }

  #tellTable(place: Place, noted: NotedTable): void {
    const fields = { ...fieldsOf(place, noted.parts), notedAt: place.notedAt }
    this.#deps.logger.error(fields, `A table that was there is gone with its rows (${page}).`)
  }

  #tellGone(place: Place, lost: readonly LostPart[]): void {
    const notedAt = lost[0]?.notedAt
    const fields = { ...fieldsOf(place, lost), notedAt, parts: namesOf(lost) }
    this.#deps.logger.error(fields, `Parts of a table that were there are gone with their rows (${page}).`)
  }

  #tellLetGo(place: Place, gone: readonly NotedPart[]): void {
    const fields = { ...fieldsOf(place, gone), notedAt: place.notedAt, parts: namesOf(gone) }
    this.#deps.logger.warn(
      fields,
      'Parts of a table that were there are gone; its TTL or its engine may have removed them.',
    )
  }

  #tellMiscounted(place: Place, noted: readonly NotedPart[], now: NotedTable): void {
    for (const { name } of noted) this.#miscounted.add(`${now.uuid} ${name}`)
    const names = new Set(noted.map(({ name }) => name))
    const foundRowCount = rowsOf(now.parts.filter(({ name }) => names.has(name)))
    const fields = { ...fieldsOf(place, noted), foundRowCount, notedAt: place.notedAt, parts: namesOf(noted) }
    this.#deps.logger.error(fields, `Parts of a table have another number of rows than they had (${page}).`)
  }
}

function fieldsOf({ dataSource, table }: Place, parts: readonly NotedPart[]) {
  return { dataSource: dataSource.name, table, rowCount: rowsOf(parts), partCount: parts.length }
}

function namesOf(parts: readonly NotedPart[]): readonly string[] {
  return parts.slice(0, namedPartsMax).map(({ name }) => name)
}

function inPlaceOf(noted: readonly NotedPart[], found: readonly NotedPart[]): readonly NotedPart[] {
  const byName = new Map(noted.map((part) => [part.name, part]))
  return found.map((part) => byName.get(part.name) ?? part)
}

function lettingGoOf({ engine }: DataSource): LettingGo {
  if (engine.options['ttl'] !== undefined) return 'parts'
  if (engine.name === 'MergeTree') return 'nothing'
  return engine.name === 'ReplacingMergeTree' || engine.name === 'AggregatingMergeTree' ? 'repeated-keys' : 'parts'
}
