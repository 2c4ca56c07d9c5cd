import type { Pipe, PipeId, PipeNode, PipeReader } from '../catalog/pipe.types.ts'
import type { CheckedNode } from '../query/check-node.ts'
import type { Query } from '../query/query.types.ts'
import { ApiError } from '../shared/errors.ts'
import type { TemplateParameter } from '../template/template.types.ts'
import { mergeParameters, nodesOfEndpoint } from './endpoint-parameters.ts'

/** What a caller of an endpoint wants to know of it. */
export interface EndpointDescription {
  readonly name: string
  /** Of the pipe, or of the published node where the pipe has none. */
  readonly description: string
  /** Each name once. */
  readonly parameters: readonly TemplateParameter[]
  /** Null when they cannot be known without a caller's values, or the endpoint is broken. */
  readonly columns: CheckedNode['columns']
}

interface Neighbours {
  readonly catalog: PipeReader & { readonly catalogVersion: number }
  readonly query: Pick<Query, 'checkNode'>
  readonly parametersOf: (node: PipeNode) => readonly TemplateParameter[]
}

/** Describes endpoints. The engine is asked for the columns of each once for a version of the catalog. */
export class EndpointDescriptions {
  readonly #neighbours: Neighbours
  /** As many as there are pipes at most. */
  #columns = new Map<PipeId, Promise<CheckedNode['columns']>>()
  /** The version of the catalog that the columns hold for. */
  #catalogVersion = -1

  constructor(neighbours: Neighbours) {
    this.#neighbours = neighbours
  }

  /**
   * Null for a pipe that is not published.
   *
   * @throws QUERY_TIMEOUT (408), ENGINE_FAILED (500), QUERIES_TOO_MANY (503).
   */
  async describe(pipe: Pipe): Promise<EndpointDescription | null> {
    const { catalog, parametersOf } = this.#neighbours
    const position = pipe.nodes.findIndex(({ id }) => id === pipe.endpointId)
    const node = pipe.nodes[position]
    if (node === undefined) return null
    const nodes = nodesOfEndpoint(pipe, (name) => catalog.findPipe(name))
    return {
      name: pipe.name,
      description: pipe.description === '' ? node.description : pipe.description,
      parameters: mergeParameters(nodes.flatMap((read) => parametersOf(read))),
      columns: await this.#columnsOf(pipe, node, position),
    }
  }

  #columnsOf(pipe: Pipe, node: PipeNode, position: number): Promise<CheckedNode['columns']> {
    const { catalogVersion } = this.#neighbours.catalog
    if (this.#catalogVersion !== catalogVersion) this.#columns = new Map()
    this.#catalogVersion = catalogVersion
    const kept = this.#columns.get(pipe.id)
    if (kept !== undefined) return kept
    const asked = this.#ask(pipe, node, position)
    const columns = this.#columns
    columns.set(pipe.id, asked)
    // What failed is asked for again.
    asked.catch(() => columns.delete(pipe.id))
    return asked
  }

  async #ask(pipe: Pipe, node: PipeNode, position: number): Promise<CheckedNode['columns']> {
    try {
      const { columns } = await this.#neighbours.query.checkNode(pipe, node, position)
      return columns
    } catch (error) {
      // What it reads may be gone since it was saved: the others must be described all the same.
      if (error instanceof ApiError && error.status === 400) return null
      throw error
    }
  }
}
