// The pipes of the catalog. Names and changes are shared with the data sources, so that a name is given once, and one
// change comes after the other.

import { errors } from '../shared/errors/errors.ts'
import type { CatalogChanges, PlannedChange } from './catalog-changes.ts'
import type { CatalogNames } from './catalog-names.ts'
import type { Pipe, PipeId, PipeReader } from './pipe.types.ts'
import { checkPipeName } from './pipe-name.ts'
import { decodePipe, encodePipe, type PipeEntry } from './pipe-record.ts'
import { findResourceId } from './resource-id.ts'

interface SharedCatalog {
  readonly changes: CatalogChanges
  readonly names: CatalogNames
  /** What is to be written with a pipe, as it is made for its views. */
  readonly filledBy: (pipe: Pipe) => Beside
}

type Beside = Pick<PlannedChange<void>, 'show' | 'writes'>

/** Judged when the change's turn has come, against what the changes before it left; may refuse it by throwing. */
export type ChangeGuard = () => void

export class PipeCatalog implements PipeReader {
  readonly #pipesMax: number
  readonly #changes: CatalogChanges
  readonly #names: CatalogNames
  readonly #filledBy: SharedCatalog['filledBy']
  /** By id, in order of creation: a Map keeps the place of a key whose value changes. */
  readonly #entries = new Map<string, PipeEntry>()
  #sequence = 0

  /** @throws CatalogRecordError when a record on disk cannot be read. */
  constructor(pipesMax: number, { changes, names, filledBy }: SharedCatalog, records: ReadonlyMap<string, unknown>) {
    this.#pipesMax = pipesMax
    this.#changes = changes
    this.#names = names
    this.#filledBy = filledBy
    const entries = [...records].map(([id, record]) => decodePipe(id, record))
    for (const entry of entries.sort((a, b) => a.sequence - b.sequence)) this.#show(entry)
  }

  findPipe(nameOrId: string): Pipe | undefined {
    const id = this.#names.idOf(nameOrId) ?? findResourceId(nameOrId) ?? this.#names.idOfVersion(nameOrId)
    return id === undefined ? undefined : this.#entries.get(id)?.pipe
  }

  listPipes(): readonly Pipe[] {
    return [...this.#entries.values()].map(({ pipe }) => pipe)
  }

  /** @throws NAME_INVALID (400), DATASOURCE_EXISTS, PIPE_EXISTS (409) */
  checkFree(name: string): void {
    checkPipeName(name)
    this.#names.checkFree(name)
  }

  async create(pipe: Pipe, guard: ChangeGuard): Promise<void> {
    await this.#changes.make(() => {
      guard()
      this.checkFree(pipe.name)
      const pipesMax = this.#pipesMax
      if (this.#entries.size >= pipesMax) throw errors.PIPES_TOO_MANY({ pipesMax })
      return together(this.#written({ pipe, sequence: this.#sequence + 1 }), this.#filledBy(pipe))
    })
  }

  async replace(pipe: Pipe, guard: ChangeGuard, along: readonly Pipe[]): Promise<void> {
    await this.#changes.make(() => {
      const before = this.#expect(pipe.id)
      guard()
      if (pipe.name !== before.pipe.name) this.checkFree(pipe.name)
      return together(this.#written({ ...before, pipe }), this.along(along), this.#filledBy(pipe))
    })
  }

  /** Puts pipes in the places of those with their ids, in the turn of another change. */
  along(pipes: readonly Pipe[]): Beside {
    return together(...pipes.map((pipe) => this.#written({ ...this.#expect(pipe.id), pipe })))
  }

  async remove(id: PipeId, guard: ChangeGuard): Promise<void> {
    await this.#changes.make(() => {
      const { pipe } = this.#expect(id)
      guard()
      const show = (): void => {
        this.#names.free(pipe.name, id)
        this.#entries.delete(id)
      }
      return { writes: [{ kind: 'pipes', key: id, value: null }], show, result: undefined }
    })
  }

  #written(entry: PipeEntry) {
    const write = { kind: 'pipes', key: entry.pipe.id, value: encodePipe(entry) } as const
    return { writes: [write], show: () => this.#show(entry), result: undefined }
  }

  /** Makes readers see the pipe as it is from now on. */
  #show(entry: PipeEntry): void {
    const { id, name } = entry.pipe
    const before = this.#entries.get(id)
    if (before !== undefined) this.#names.free(before.pipe.name, id)
    this.#entries.set(id, entry)
    this.#names.take(name, { kind: 'pipe', id })
    this.#sequence = Math.max(this.#sequence, entry.sequence)
  }

  #expect(id: PipeId): PipeEntry {
    const entry = this.#entries.get(id)
    if (entry === undefined) throw errors.PIPE_NOT_FOUND({ name: this.#names.lastNameOf(id) })
    return entry
  }
}

/** One commit of all. */
function together(...changes: readonly Beside[]): PlannedChange<undefined> {
  const show = (): void => {
    for (const change of changes) change.show()
  }
  return { writes: changes.flatMap(({ writes }) => writes), show, result: undefined }
}
