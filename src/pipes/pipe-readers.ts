import type { Pipe } from '../catalog/pipe.types.ts'
import { readsOfPipe } from './node-reads.ts'
import type { ReadCatalog } from './read-catalog.types.ts'

/** Which pipes read a data source or a pipe themselves, as their nodes said when they were saved. */
export class PipeReaders {
  readonly #catalog: ReadCatalog
  #readersById: ReadonlyMap<string, ReadonlySet<Pipe>> = new Map()
  /** The version of the catalog that the map was made of. */
  #catalogVersion = -1

  constructor(catalog: ReadCatalog) {
    this.#catalog = catalog
  }

  /** In order of their creation. Who reads the quarantine of a data source reads the data source. */
  of(id: string): readonly Pipe[] {
    const { catalogVersion } = this.#catalog
    if (this.#catalogVersion !== catalogVersion) {
      this.#readersById = readersById(this.#catalog)
      this.#catalogVersion = catalogVersion
    }
    return [...(this.#readersById.get(id) ?? [])]
  }
}

function readersById(catalog: ReadCatalog): ReadonlyMap<string, ReadonlySet<Pipe>> {
  const readers = new Map<string, Set<Pipe>>()
  for (const pipe of catalog.listPipes()) {
    for (const id of readsOfPipe(pipe, catalog)) {
      const some = readers.get(id) ?? new Set()
      readers.set(id, some.add(pipe))
    }
  }
  return readers
}
