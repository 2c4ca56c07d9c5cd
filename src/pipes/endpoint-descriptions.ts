import type { Pipe, PipeId, PipeNode } from '../catalog/pipe.types.ts'
import { withoutQuarantine } from '../catalog/quarantine-name.ts'
import type { CheckedNode } from '../query/check-node.ts'
import type { Query } from '../query/query.types.ts'
import { ApiError } from '../shared/errors/errors.ts'
import { giveWay } from '../shared/time-slices.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { TemplateParameter } from '../template/template.types.ts'
import { mergeParameters, nodesOfEndpoint, type PlacedNode } from './endpoint-parameters.ts'
import type { ReadCatalog } from './read-catalog.types.ts'

/**
 * What a caller of an endpoint wants to know of it; the same object as long as nothing of it changes, for all whose token fixes
 * none of its parameters.
 */
export interface EndpointDescription {
  readonly name: string
  /** Of the pipe, or of the published node where the pipe has none. */
  readonly description: string
  /** Those that a request can change, each name once. */
  readonly parameters: readonly TemplateParameter[]
  /** Null when they cannot be known without a caller's values, or the endpoint is broken. */
  readonly columns: CheckedNode['columns']
}

export interface EndpointList {
  /** By name. */
  readonly endpoints: readonly EndpointDescription[]
  /** How many of them are without columns because the engine has not told them yet. */
  readonly pendingCount: number
}

interface Deps {
  readonly catalog: ReadCatalog
  readonly query: Pick<Query, 'checkNode'>
  readonly parametersOf: (node: PipeNode) => readonly TemplateParameter[]
  /** What is described once is told to all callers, so the engine is asked as the service. */
  readonly serviceScope: ReadScope
}

export interface DescribeAllOptions {
  /** After it, endpoints are listed without the columns that are not known yet. */
  readonly timeMaxMs: number
  /** Which of them are listed; the others are not even counted. */
  readonly isShown: (pipe: Pick<Pipe, 'id'>) => boolean
  /** Of whoever asks: a parameter that it fixes is none that could be sent. */
  readonly readScope: ReadScope
  /** Aborted when nobody waits any more: then the engine is asked for no more of them. */
  readonly signal: AbortSignal
}

/** Questions to the engine at once, of those who describe all endpoints: readers need its sessions too. */
const laneCount = 2
/** An endpoint by one definition of it and of all that it reads. */
interface KeptEndpoint {
  readonly definition: string
  readonly pipe: Pipe
  readonly node: PipeNode
  /** The pipe's, and those of the pipes that it reads. */
  readonly pipeIds: ReadonlySet<PipeId>
  /** Without the columns. */
  readonly outline: EndpointDescription
  /** The version of the catalog that the definition was last found in. */
  catalogVersion: number
  /** Null until the engine is asked. */
  described: Promise<EndpointDescription> | null
  /** What `described` has come to. */
  result: EndpointDescription | null
}

/** Describes endpoints. The engine is asked for the columns of each once, until it or something that it reads is changed. */
export class EndpointDescriptions {
  readonly #deps: Deps
  /** As many as there are pipes at most. */
  readonly #kept = new Map<PipeId, KeptEndpoint>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /**
   * Null for a pipe that is not published.
   *
   * @throws QUERY_TIMEOUT (408), ENGINE_FAILED (500), QUERIES_TOO_MANY (503).
   */
  async describe({ id }: Pick<Pipe, 'id'>, readScope: ReadScope): Promise<EndpointDescription | null> {
    const kept = this.#keep(id)
    return kept === null ? null : this.#asSeenBy(readScope, kept, await this.#described(kept))
  }

  /**
   * All endpoints, within a time: what the engine has not told by then it goes on telling behind the answer, for the next
   * one. Gives way to others between them.
   */
  async describeAll({ timeMaxMs, isShown, readScope, signal }: DescribeAllOptions): Promise<EndpointList> {
    const { catalog } = this.#deps
    const all = catalog.listPipes()
    this.#forgetGone(all.length)
    const ids = all.filter(isShown).toSorted(byName)
    const next = ids.values()
    const lanes = Promise.all(Array.from({ length: laneCount }, () => this.#describeEach(next, signal)))
    await within(lanes, timeMaxMs)
    const endpoints: EndpointDescription[] = []
    let pendingCount = 0
    for (const { id } of ids) {
      const kept = this.#keep(id)
      if (kept === null) continue
      if (kept.result === null) pendingCount += 1
      endpoints.push(this.#asSeenBy(readScope, kept, kept.result ?? kept.outline))
      await giveWay()
    }
    return { endpoints, pendingCount }
  }

  async #describeEach(pipes: Iterator<Pipe>, signal: AbortSignal): Promise<void> {
    for (let next = pipes.next(); next.done !== true && !signal.aborted; next = pipes.next()) {
      const kept = this.#keep(next.value.id)
      // What fails here is asked for again by the next list, and told by the description of the endpoint alone.
      if (kept?.result === null) await this.#described(kept).catch(() => null)
      await giveWay()
    }
  }

  /** What is known of an endpoint by its definition now; null where there is none. */
  #keep(id: PipeId): KeptEndpoint | null {
    const { catalog, parametersOf } = this.#deps
    const { catalogVersion } = catalog
    const kept = this.#kept.get(id)
    if (kept?.catalogVersion === catalogVersion) return kept
    const pipe = catalog.findPipe(id)
    const node = pipe?.nodes.find((one) => one.id === pipe.endpointId)
    if (pipe === undefined || node === undefined) {
      this.#kept.delete(id)
      return null
    }
    const placed = nodesOfEndpoint(pipe, catalog)
    const nodes = placed.map((one) => one.node)
    const definition = this.#definitionOf(pipe, nodes)
    if (kept?.definition === definition) {
      kept.catalogVersion = catalogVersion
      return kept
    }
    const outline = {
      name: pipe.name,
      description: pipe.description === '' ? node.description : pipe.description,
      parameters: mergeParameters(nodes.flatMap((read) => parametersOf(read))),
      columns: null,
    }
    const pipeIds = new Set(placed.map((one) => one.pipe.id))
    const found = { definition, pipe, node, pipeIds, outline, catalogVersion, described: null, result: null }
    this.#kept.set(id, found)
    return found
  }

  /** The description without the parameters that no request of the reader changes, wherever they stand. */
  #asSeenBy(readScope: ReadScope, { pipe, pipeIds }: KeptEndpoint, told: EndpointDescription): EndpointDescription {
    if (![...pipeIds].some((id) => readScope.fixedParametersOf(id) !== null)) return told
    const { catalog, parametersOf } = this.#deps
    const free = ({ node, fixed }: PlacedNode) => parametersOf(node).filter(({ name }) => !fixed.values.has(name))
    return { ...told, parameters: mergeParameters(nodesOfEndpoint(pipe, catalog, readScope).flatMap(free)) }
  }

  /** With its columns; the engine is asked once. */
  #described(kept: KeptEndpoint): Promise<EndpointDescription> {
    if (kept.described !== null) return kept.described
    const described = this.#ask(kept).then((columns) => ({ ...kept.outline, columns }))
    kept.described = described
    described.then(
      (result) => {
        kept.result = result
      },
      // What failed is asked for again; whoever waits for it is told.
      () => {
        kept.described = null
      },
    )
    return described
  }

  async #ask({ pipe, node }: KeptEndpoint): Promise<CheckedNode['columns']> {
    try {
      const { query, serviceScope } = this.#deps
      const { columns } = await query.checkNode(pipe, node, pipe.nodes.indexOf(node), serviceScope)
      return columns
    } catch (error) {
      // What it reads may be gone since it was saved: the others must be described all the same.
      if (error instanceof ApiError && error.status === 400) return null
      throw error
    }
  }

  /** A text that is another one as soon as the endpoint's description or columns may be. */
  #definitionOf({ name, description }: Pipe, nodes: readonly PipeNode[]): string {
    const { catalog } = this.#deps
    const read = nodes.map((node) => {
      const sources = node.dependencies.map((dependency) => {
        const source = catalog.find(dependency) ?? catalog.find(withoutQuarantine(dependency))
        return [dependency, source?.id, source?.version]
      })
      return [node.id, node.version, node.name, node.description, sources]
    })
    return JSON.stringify([name, description, read])
  }

  #forgetGone(pipeCount: number): void {
    if (this.#kept.size <= pipeCount) return
    for (const id of this.#kept.keys()) if (this.#deps.catalog.findPipe(id) === undefined) this.#kept.delete(id)
  }
}

function byName(a: Pipe, b: Pipe): number {
  return a.name < b.name ? -1 : 1
}

/** Resolves when the work is done, or after the time. */
async function within(work: Promise<unknown>, timeMaxMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const isOver = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeMaxMs)
  })
  await Promise.race([work, isOver])
  clearTimeout(timer)
}
