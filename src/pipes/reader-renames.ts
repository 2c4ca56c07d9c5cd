// Renames of data sources and pipes with the pipes that read them.
//
// What is planned holds for one version of the catalog: it is written in one commit with the rename, and only while nothing of
// the catalog has changed since; else it is to be planned again.

import type { Pipe } from '../catalog/pipe.types.ts'
import { readNames } from '../query/branch-reads.ts'
import { newWayBudget, type WayBudget } from '../query/node-ways.ts'
import type { Query } from '../query/query.types.ts'
import { errors } from '../shared/errors/errors.ts'
import { giveWay } from '../shared/time-slices.ts'
import { isNamedByPipes } from './name-readers.ts'
import { dependenciesAfter, nodeReads } from './node-reads.ts'
import { PipeReaders } from './pipe-readers.ts'
import { possibleReaders } from './possible-readers.ts'
import type { ReadCatalog } from './read-catalog.types.ts'
import { type Rename, type RenamedNode, renamedNode, withRename, workspaceAfter } from './rename-nodes.ts'
import { StalePipeError } from './repeated-changes.ts'

/** What is written along with a rename. */
interface RenamePlan {
  /** The version of the catalog that it holds for. */
  readonly catalogVersion: number
  /** The pipes that read what is renamed, as they are to be. */
  readonly pipes: readonly Pipe[]
}

export interface PlannedRename extends Rename {
  readonly kind: 'data source' | 'pipe'
  /** Whether SQL that goes by the name is changed; else it refuses the rename. */
  readonly isForced: boolean
  /** Whether whoever asks may have others read what is renamed: pipes may name what is to be its name, and find it then. */
  readonly mayPassOn: () => boolean
}

interface Deps {
  readonly catalog: ReadCatalog
  readonly query: Pick<Query, 'compareNode'>
}

export interface ReaderRenamesOptions {
  /** Most SQL of all nodes of a pipe together, in bytes of UTF-8. */
  readonly pipeBytesMax: number
  /** Epoch milliseconds. */
  readonly now: () => number
}

interface Reader {
  readonly pipe: Pipe
  readonly nodes: readonly RenamedNode[]
}

/** Writes a rename with the pipes that change along, under a guard that is to be called in the turn of the change. */
export type WriteRename<Result> = (pipes: readonly Pipe[], guard: () => void) => Promise<Result>

export const unreadHint =
  'Pipes read the new name: who gives it to something must be able to read all of that, without a filter'

export class ReaderRenames {
  readonly #options: ReaderRenamesOptions
  readonly #catalog: ReadCatalog
  readonly #query: Deps['query']
  readonly #readers: PipeReaders

  constructor(options: ReaderRenamesOptions, { catalog, query }: Deps) {
    this.#options = options
    this.#catalog = catalog
    this.#query = query
    this.#readers = new PipeReaders(catalog)
  }

  /**
   * Plans a rename and has it written by `write`, with a guard for the moment of the change.
   *
   * @throws READ_DENIED (403) when pipes would read under the new name what whoever asks may not read; DATASOURCE_USED, PIPE_USED (409)
   *   when SQL goes by the name and is not to be changed, or cannot be with certainty;
   *   StalePipeError where others have changed the catalog by then; what `write` throws.
   */
  async run<Result>(rename: PlannedRename, write: WriteRename<Result>): Promise<Result> {
    const { catalogVersion, pipes } = await this.#plan(rename)
    return await write(pipes, () => {
      if (this.#catalog.catalogVersion !== catalogVersion) throw new StalePipeError()
    })
  }

  async #plan(rename: PlannedRename): Promise<RenamePlan> {
    const { catalogVersion } = this.#catalog
    await readNames(this.#catalog.listPipes())
    await this.#refuseUnread(rename)
    const certain = this.#readers.of(rename.id)
    const possible = possibleReaders({ id: rename.id, name: rename.oldName }, this.#catalog)
    const readers: Reader[] = []
    const budget = newWayBudget()
    for (const pipe of [...certain, ...possible]) {
      readers.push({ pipe, nodes: await this.#nodesOf(pipe, rename, budget) })
    }
    this.#refuse(rename, readers)
    return { catalogVersion, pipes: readers.map((reader) => this.#renamed(reader, rename)) }
  }

  /** Where nothing has the name, pipes that name it fail until something has. */
  async #refuseUnread({ oldName, newName, mayPassOn }: PlannedRename): Promise<void> {
    if (mayPassOn() || !(await isNamedByPipes(newName, this.#catalog.listPipes()))) return
    throw errors.READ_DENIED({ name: oldName, hint: unreadHint })
  }

  async #nodesOf(pipe: Pipe, rename: PlannedRename, budget: WayBudget): Promise<readonly RenamedNode[]> {
    const workspace = this.#catalog
    const before = { workspace, pipe }
    const after = { workspace: workspaceAfter(workspace, rename), pipe }
    const nodes: RenamedNode[] = []
    for (const position of pipe.nodes.keys()) {
      const { isForced } = rename
      nodes.push(await renamedNode(position, { rename, before, after, query: this.#query, isForced, budget }))
      await giveWay()
    }
    return nodes
  }

  #refuse({ kind, oldName, isForced }: PlannedRename, readers: readonly Reader[]): void {
    const byName = readers.filter(({ nodes }) => nodes.some((node) => node.kind !== 'same'))
    const usedError = kind === 'pipe' ? errors.PIPE_USED : errors.DATASOURCE_USED
    if (!isForced && byName.length > 0) {
      const advice = 'let them read something else first, or use force=true: the new name is put into their SQL'
      throw usedError({ name: oldName, users: byName.map(({ pipe }) => pipe.name), advice })
    }
    for (const { pipe, nodes } of byName) {
      for (const [position, node] of nodes.entries()) {
        if (node.kind !== 'fault') continue
        const place = `node '${pipe.nodes[position]?.name ?? ''}' of '${pipe.name}' ${node.reason}`
        const advice = `its SQL cannot be changed with certainty, as ${place}. Change that node first`
        throw usedError({ name: oldName, users: [pipe.name], advice })
      }
    }
  }

  #renamed({ pipe, nodes }: Reader, rename: Rename): Pipe {
    const { pipeBytesMax, now } = this.#options
    const renamed = pipe.nodes.map((node, position) => {
      const reads = nodeReads(pipe, position, this.#catalog)
      const dependencies = dependenciesAfter(node.dependencies, reads, rename)
      return withRename({ ...node, dependencies }, nodes[position], now())
    })
    const byteCount = renamed.reduce((sum, { sql }) => sum + Buffer.byteLength(sql), 0)
    if (byteCount > pipeBytesMax) throw errors.PIPE_TOO_LONG({ pipe: pipe.name, bytesMax: pipeBytesMax })
    const isChanged = nodes.some(({ kind }) => kind === 'changed')
    return { ...pipe, nodes: renamed, updatedAt: isChanged ? now() : pipe.updatedAt }
  }
}
