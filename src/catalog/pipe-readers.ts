import type { Pipe, PipeReader } from './pipe.types.ts'

const quarantineSuffix = '_quarantine'

interface ReadCatalog extends Pick<PipeReader, 'listPipes'> {
  readonly catalogVersion: number
}

/** Which pipes read a data source or a pipe themselves, as their nodes said when they were saved. */
export class PipeReaders {
  readonly #catalog: ReadCatalog
  #readersByName: ReadonlyMap<string, ReadonlySet<Pipe>> = new Map()
  /** The version of the catalog that the map was made of. */
  #catalogVersion = -1

  constructor(catalog: ReadCatalog) {
    this.#catalog = catalog
  }

  /** In order of their creation. Who reads the quarantine of a data source reads the data source. */
  of(name: string): readonly Pipe[] {
    const { catalogVersion } = this.#catalog
    if (this.#catalogVersion !== catalogVersion) {
      this.#readersByName = readersByName(this.#catalog.listPipes())
      this.#catalogVersion = catalogVersion
    }
    return [...(this.#readersByName.get(name) ?? [])]
  }
}

function readersByName(pipes: readonly Pipe[]): ReadonlyMap<string, ReadonlySet<Pipe>> {
  const readers = new Map<string, Set<Pipe>>()
  for (const pipe of pipes) {
    for (const name of outsideDependencies(pipe)) {
      const known = readers.get(name) ?? new Set()
      readers.set(name, known.add(pipe))
    }
  }
  return readers
}

/** The names of data sources and pipes that a pipe reads: a name of an earlier node stands for that node. */
export function outsideDependencies({ nodes }: Pick<Pipe, 'nodes'>): ReadonlySet<string> {
  const names = new Set<string>()
  const earlier = new Set<string>()
  for (const node of nodes) {
    for (const name of node.dependencies) if (!earlier.has(name)) names.add(resourceOf(name))
    earlier.add(node.name)
  }
  return names
}

function resourceOf(name: string): string {
  return name.endsWith(quarantineSuffix) ? name.slice(0, -quarantineSuffix.length) : name
}
