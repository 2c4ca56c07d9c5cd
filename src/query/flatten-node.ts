// A node as one query of its own, for a materialized view: all that it reads is put in its place, tables are qualified, and
// nothing of a request is left in it, as a view has none.

import type { NodeId } from '../catalog/pipe.types.ts'
import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import { assert } from '../shared/assert.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import { compileQuery } from '../sql/compile-query.ts'
import { checkAgreement } from '../sql/engine-agreement.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { NameScope, Source } from '../sql/source.types.ts'
import { type QueryLimits, toQueryError } from '../store/caller-errors.ts'
import type { Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import { type CheckAuthor, withPipe } from './check-node.ts'
import { describedColumns, type ResultColumn } from './describe-query.ts'
import { inUsersWords } from './message-names.ts'
import { nodeScope } from './name-scope.ts'
import { Rendering } from './rendering.ts'
import type { TemplateCache } from './template-cache.ts'
import type { FindServiceSource, ReadNode, ReadPipe, WorkspaceReader } from './workspace.types.ts'

export interface FlatNode {
  readonly sql: CheckedQuery
  /** The names in the SETTINGS of the query, which are no part of its text. */
  readonly writtenSettings: readonly string[]
  readonly columns: readonly ResultColumn[]
  /** The nodes whose SQL stands in it, its own first. */
  readonly nodeIds: readonly NodeId[]
}

/**
 * Makes one query of the node at `position` of a pipe, which is as it is to be, and so is `changed`, a pipe that it reads: where
 * that is left out, the author has made the node and must be able to read what it names. All that is read at any depth must be free
 * of filters of the author: rows that come through a view have no reader whose filter would hold for them.
 *
 * @throws VIEW_INVALID (400) for what only a request could tell, and for secrets; SQL_INVALID, TEMPLATE_INVALID (400),
 *   READ_DENIED, FILTER_BROKEN (403), …
 */
export type FlattenNode = (pipe: ReadPipe, position: number, author: ReadScope, changed?: ReadPipe) => Promise<FlatNode>

export interface FlatteningOptions extends QueryLimits {
  readonly database: string
}

interface Deps {
  readonly store: Pick<Store, 'select' | 'queryTree'>
  readonly workspace: WorkspaceReader
  readonly findServiceSource: FindServiceSource
  readonly templates: TemplateCache
  /** What the service reads for itself. */
  readonly serviceScope: ReadScope
  readonly checkAuthor: CheckAuthor
}

/** Makes it over open modules. */
export function createFlattening(options: FlatteningOptions, deps: Deps): FlattenNode {
  const { store, workspace } = deps
  return async (pipe, position, author, changed) => {
    // In the same moment as the names are resolved: they may stand for something else by the next.
    if (changed === undefined) deps.checkAuthor(pipe, position, author)
    const placed = { pipe, position, changed: changed ?? pipe }
    const { plan, nodeIds } = compileFlat(placed, author, { options, deps })
    // Nobody waits for it who could leave: it ends by the time limit of queries.
    const { signal } = new AbortController()
    try {
      checkAgreement(plan.reading, await store.queryTree(plan.sql, signal))
      const columns = await describedColumns(plan, { store, signal })
      return { sql: plan.sql, writtenSettings: plan.writtenSettings, columns, nodeIds }
    } catch (thrown) {
      throw toQueryError(inNames(thrown, workspace), { ...options, sql: plan.sql })
    }
  }
}

interface PlacedNode {
  readonly pipe: ReadPipe
  readonly position: number
  readonly changed: ReadPipe
}

interface Flattening {
  readonly options: FlatteningOptions
  readonly deps: Deps
}

function compileFlat({ pipe, position, changed }: PlacedNode, author: ReadScope, { options, deps }: Flattening) {
  const { templates, findServiceSource, serviceScope: readScope } = deps
  const node = pipe.nodes[position]
  assert(node !== undefined, 'the pipe has the node')
  const secrets = new Set<string>()
  const secretOf = (name: string): string => {
    secrets.add(name)
    return ''
  }
  const rendering = new Rendering({ templates, parameters: new Map(), mode: 'run', secretOf })
  const nodeIds = new Set<NodeId>()
  const nodeText = (read: ReadNode): string => {
    nodeIds.add(read.id)
    refuseParameters(read, { pipe, node, templates })
    const text = rendering.nodeText(read)
    const [secret] = secrets
    if (secret !== undefined)
      throw invalid(node, `${whose(read, pipe, node)} uses a secret, which would lie in the view`)
    return text
  }
  const reading = {
    workspace: withPipe(withPipe(deps.workspace, changed), pipe),
    database: options.database,
    readScope,
    findServiceSource,
    nodeText,
    ownPipeId: pipe.id,
  }
  const text = nodeText(node)
  if (author.isFiltered) {
    const scope = nodeScope({ ...reading, readScope: author }, pipe, position)
    compileQuery(text, { scope: new UnfilteredScope(scope, node.name) })
  }
  const plan = compileQuery(text, { scope: nodeScope(reading, pipe, position) })
  return { plan, nodeIds: [...nodeIds] }
}

/** Names of what has no filter of the author; all else is refused, however deep it is read. */
class UnfilteredScope implements NameScope {
  readonly #scope: NameScope
  readonly #nodeName: string

  constructor(scope: NameScope, nodeName: string) {
    this.#scope = scope
    this.#nodeName = nodeName
  }

  get isDiscreet(): boolean {
    return this.#scope.isDiscreet === true
  }

  get isForeign(): boolean {
    return this.#scope.isForeign === true
  }

  /** @throws READ_DENIED (403). */
  find(parts: readonly string[]): Source | undefined {
    const found = this.#scope.find(parts)
    if (found === undefined) return undefined
    const isWhole = found !== 'denied' && (found.filter ?? null) === null
    if (!isWhole) {
      const hint =
        'Of something that it reads the token sees filtered rows alone, and a view would store the others too'
      throw errors.READ_DENIED({ name: this.#nodeName, hint })
    }
    return found.kind === 'query' ? { ...found, scope: new UnfilteredScope(found.scope, this.#nodeName) } : found
  }
}

interface ReadFor {
  readonly pipe: ReadPipe
  /** The node that is made one query. */
  readonly node: ReadNode
  readonly templates: TemplateCache
}

function refuseParameters(read: ReadNode, { pipe, node, templates }: ReadFor): void {
  const { parameters } = templates.compile(read.sql)
  const parameter = parameters.find(({ name }) => tells(read, name, templates))
  if (parameter === undefined) return
  const which = pipe.nodes.includes(read) ? `the parameter '${parameter.name}'` : 'a parameter'
  const reason = `${whose(read, pipe, node)} takes ${which}, and a view has no request that could bring it; write a value in its place`
  throw invalid(node, reason)
}

/** Whether a value that is sent makes another text: what `{% set %}` names is no parameter, though it looks like one. */
function tells(read: ReadNode, name: string, templates: TemplateCache): boolean {
  const texts = [undefined, '1', '2'].map((value) => {
    const parameters = new Map(value === undefined ? [] : [[name, value]])
    try {
      return new Rendering({ templates, parameters, mode: 'run', secretOf: () => '' }).nodeText(read)
    } catch (thrown) {
      // A value that is refused is asked for; what is wrong without any is told when the node itself is rendered.
      if (thrown instanceof ApiError) return thrown.message
      throw thrown
    }
  })
  return new Set(texts).size > 1
}

/** Nodes of other pipes may be none of the author's business. */
function whose(read: ReadNode, pipe: ReadPipe, node: ReadNode): string {
  if (read.id === node.id) return 'it'
  return pipe.nodes.includes(read) ? `node '${read.name}', which it reads,` : 'a Pipe that it reads'
}

function invalid({ name }: ReadNode, reason: string): Error {
  return errors.VIEW_INVALID({ node: name, reason })
}

function inNames(thrown: unknown, workspace: WorkspaceReader): unknown {
  if (!(thrown instanceof StoreError)) return thrown
  const { kind, clickhouseCode } = thrown
  return new StoreError({ kind, message: inUsersWords(thrown.message, workspace), clickhouseCode, cause: thrown })
}
