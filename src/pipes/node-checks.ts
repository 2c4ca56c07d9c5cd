// What was found of a pipe's nodes when they were judged. That takes the engine's time, so it is looked at once more in the turn of
// the change that writes them: a name may stand for something else by then.

import type { Catalog } from '../catalog/catalog.ts'
import type { NodeId, NodeView, Pipe } from '../catalog/pipe.types.ts'
import { readNames } from '../query/branch-reads.ts'
import type { Query } from '../query/query.types.ts'
import { errors } from '../shared/errors/errors.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import { ofNode } from './changed-node.ts'
import { mayReadHidden, namesOutside } from './node-reads.ts'
import { checkLength } from './pipe-limits.ts'
import { StalePipeError } from './stale-pipe.ts'
import { mayReadVersion } from './version-reads.ts'
import { withViews } from './view-links.ts'

export interface NodesToCheck {
  readonly author: ReadScope
  readonly start: number
  /** Nodes from this position on are not checked; those to the last one where it is left out. */
  readonly end?: number
}

interface NodeChecksOptions {
  /** Most SQL of all nodes of a pipe together, in bytes of UTF-8. */
  readonly pipeBytesMax: number
}

interface Deps {
  readonly catalog: Catalog
  readonly query: Pick<Query, 'checkAuthor' | 'checkNode'>
}

interface Judgement extends Required<NodesToCheck> {
  /** The version of the catalog by which the nodes were judged. */
  readonly catalogVersion: number
  /** Whether the names of a node do not tell what it reads. */
  readonly isUnsure: boolean
}

interface Written {
  /** The pipe as it is to be. */
  readonly pipe: Pipe
  /** The pipe as it was; undefined for one that is made. */
  readonly before: Pipe | undefined
}

export class NodeChecks {
  readonly #options: NodeChecksOptions
  readonly #catalog: Catalog
  readonly #query: Deps['query']
  readonly #judgements = new WeakMap<Pipe, Judgement>()

  constructor(options: NodeChecksOptions, { catalog, query }: Deps) {
    this.#options = options
    this.#catalog = catalog
    this.#query = query
  }

  /** The pipe with what its nodes from `start` to before `end` read. Raises what `checkNode` does, PIPE_TOO_LONG and NODE_INVALID (400). */
  async checked(pipe: Pipe, { author, start, end = pipe.nodes.length }: NodesToCheck): Promise<Pipe> {
    checkLength(pipe, this.#options.pipeBytesMax)
    const { catalogVersion } = this.#catalog
    const nodes = [...pipe.nodes]
    for (let position = start; position < end; position += 1) {
      const node = nodes[position]
      if (node === undefined) break
      try {
        const { dependencies } = await this.#query.checkNode({ ...pipe, nodes }, node, position, author)
        nodes[position] = { ...node, dependencies }
      } catch (error) {
        throw end - start === 1 ? error : ofNode(node.name, error)
      }
    }
    const judged = { ...pipe, nodes }
    const isUnsure = nodes.some((node, index) => {
      return index >= start && index < end && (mayReadVersion(node) || mayReadHidden(judged, index))
    })
    this.#judgements.set(judged, { author, start, end, catalogVersion, isUnsure })
    await readNames([judged])
    return judged
  }

  /** The pipe with these views, judged as it was. */
  filling(judged: Pipe, views: ReadonlyMap<NodeId, NodeView>): Pipe {
    if (views.size === 0) return judged
    const filling = withViews(judged, views)
    const judgement = this.#judgements.get(judged)
    if (judgement !== undefined) this.#judgements.set(filling, judgement)
    return filling
  }

  /** Whether any change of the catalog may make another pipe of this one. */
  isUnsure(judged: Pipe): boolean {
    return this.#judgements.get(judged)?.isUnsure === true
  }

  /**
   * Whether what was found still holds. To be called in the turn of the change.
   *
   * @param judged as `checked` or `filling` gave it, or a pipe of which no node was checked.
   * @throws StalePipeError; READ_DENIED (403), SQL_INVALID (400).
   */
  checkStill(judged: Pipe, written: Written): void {
    const judgement = this.#judgements.get(judged)
    const isOld = judgement?.catalogVersion !== this.#catalog.catalogVersion
    if (judgement?.isUnsure === true && isOld) throw new StalePipeError()
    this.#checkSources(written, isOld)
    if (judgement !== undefined && isOld) this.#judgeAgain(written.pipe, judgement)
  }

  /** What the names stand for now is what the nodes will read. */
  #judgeAgain(pipe: Pipe, { author, start, end }: Judgement): void {
    for (let position = start; position < end; position += 1) this.#query.checkAuthor(pipe, position, author)
  }

  /** Whether what the nodes were found to read a moment ago is still there. */
  #checkSources({ pipe: { nodes }, before }: Written, isOld: boolean): void {
    // A node that was not checked has the very list that it had, and may have been broken all along.
    const unchecked = new Set(before?.nodes.map(({ dependencies }) => dependencies))
    const looked = nodes.map((node) => (unchecked.has(node.dependencies) ? { ...node, dependencies: [] } : node))
    for (const name of namesOutside(looked)) {
      // Names with a dot are those of the service's own tables.
      const isThere =
        name.includes('.') || [this.#catalog.find(name), this.#catalog.findPipe(name)].some((one) => one?.name === name)
      // What has another name by now was read by its id, perhaps.
      if (!isThere && isOld) throw new StalePipeError()
      if (!isThere) throw errors.SQL_INVALID({ reason: `Resource '${name}' not found` })
    }
  }
}
