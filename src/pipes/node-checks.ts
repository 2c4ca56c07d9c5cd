// What was found of a pipe's nodes when they were judged. That takes the engine's time, so it is looked at once more in the turn of
// the change that writes them: a name may stand for something else by then.

import type { Catalog } from '../catalog/catalog.ts'
import type { NodeId, NodeView, Pipe } from '../catalog/pipe.types.ts'
import { readNames } from '../query/branch-reads.ts'
import type { Query } from '../query/query.types.ts'
import { ApiError } from '../shared/errors/errors.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import { ofNode } from './changed-node.ts'
import { checkLength } from './pipe-limits.ts'
import { StalePipeError } from './repeated-changes.ts'
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
  readonly query: Pick<Query, 'checkNode' | 'namesRead'>
}

interface Judgement extends Required<NodesToCheck> {
  /** The version of the catalog by which the nodes were judged. */
  readonly catalogVersion: number
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
    this.#judgements.set(judged, { author, start, end, catalogVersion })
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

  /**
   * Whether what was found still holds. To be called in the turn of the change.
   *
   * @param judged as `checked` or `filling` gave it, or a pipe of which no node was checked.
   * @param written the pipe as it is to be.
   * @throws StalePipeError where it does not: to judge the pipe again tells why.
   */
  checkStill(judged: Pipe, written: Pipe): void {
    const judgement = this.#judgements.get(judged)
    if (judgement === undefined || judgement.catalogVersion === this.#catalog.catalogVersion) return
    const { author, start, end } = judgement
    for (let position = start; position < end; position += 1) {
      const known = written.nodes[position]?.dependencies ?? []
      const names = this.#namesNow(written, position, author)
      if (names.length !== known.length || names.some((name, index) => name !== known[index]))
        throw new StalePipeError()
    }
  }

  /** @throws StalePipeError where the node is none any more: to judge it as it is tells why. */
  #namesNow(pipe: Pipe, position: number, author: ReadScope): readonly string[] {
    try {
      return this.#query.namesRead(pipe, position, author)
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown
      throw new StalePipeError(undefined, { cause: thrown })
    }
  }
}
