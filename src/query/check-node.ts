// What is asked before a node is saved: is it a query, of what does it read, and which columns does it give?
//
// The node is rendered with placeholders for the values that a caller would send, resolved like any query, and handed to
// the engine, which analyses it as a restricted reader and runs nothing. Where only a placeholder is wrong, the node may
// still be right: then its columns stay unknown, and the first request with real values tells.

import type { NodeId } from '../catalog/pipe.types.ts'
import { findResourceId } from '../catalog/resource-id.ts'
import { assert } from '../shared/assert.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import { quoteName } from '../shared/text-escapes.ts'
import { type CompiledQuery, compileQuery } from '../sql/compile-query.ts'
import { checkAgreement } from '../sql/engine-agreement.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { NameScope, Source } from '../sql/source.types.ts'
import { UndescribedOutput } from '../sql/undescribed-output.ts'
import { type QueryLimits, toQueryError } from '../store/caller-errors.ts'
import { valueCodes } from '../store/engine-codes.ts'
import type { Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import type { Template, TemplateParameter } from '../template/template.types.ts'
import { authorScope, checkBranchRights, isUnrestricted } from './author-rights.ts'
import { adviceFor } from './column-advice.ts'
import { checkColumns } from './column-check.ts'
import { columnsBy, describings, type ResultColumn } from './describe-query.ts'
import { withPlace } from './error-place.ts'
import { inUsersWords } from './message-names.ts'
import { Rendering } from './rendering.ts'
import { type AloneDeps, describingAlone, faultAlone, type OwnText } from './stand-ins.ts'
import type { TemplateCache } from './template-cache.ts'
import type { FindServiceSource, ReadNode, ReadPipe, WorkspaceReader } from './workspace.types.ts'

export interface CheckedNode {
  /** Names of what it reads itself: data sources, pipes, nodes of its pipe, and what any branch names by `table()`. */
  readonly dependencies: readonly string[]
  /** Null when they cannot be known without a caller's values. */
  readonly columns: readonly ResultColumn[] | null
  readonly parameters: readonly TemplateParameter[]
}

/**
 * Checks a node that is about to stand at `position` of the pipe, counted from 0; it sees the nodes before it.
 *
 * `pipe` is as it was, or as it will be: a node that has this position is taken for the one that is checked. `readScope` is that
 * of whoever wants it saved or described: the engine may compute constants of the query, and its errors tell of them.
 *
 * @throws SQL_EMPTY, SQL_TOO_LONG, SQL_INVALID, TEMPLATE_INVALID (400), READ_DENIED (403), QUERY_TIMEOUT (408), ENGINE_FAILED (500),
 *   QUERIES_TOO_MANY, SHUTTING_DOWN (503).
 */
export type CheckNode = (
  pipe: ReadPipe,
  node: Pick<ReadNode, 'name' | 'sql'>,
  position: number,
  readScope: ReadScope,
) => Promise<CheckedNode>

export interface CheckOptions extends QueryLimits {
  readonly database: string
  /** Longest SQL of a node, in bytes of UTF-8. */
  readonly sqlBytesMax: number
}

interface Deps {
  readonly store: Pick<Store, 'select' | 'queryTree'>
  readonly workspace: WorkspaceReader
  readonly findServiceSource: FindServiceSource
  readonly templates: TemplateCache
}

/** Makes the check over open modules. */
export function createNodeCheck(options: CheckOptions, deps: Deps & { readonly alone: AloneDeps }): CheckNode {
  return async (pipe, node, position, readScope) => {
    const { compiled, text, scope, check } = compileNode({ pipe, node, position }, { options, deps, readScope })
    const template = deps.templates.compile(node.sql)
    const dependencies = namesIn(template, { compiled, scope })
    const columns = check.hasPlaceholder
      ? null
      : await describe(compiled, { options, deps, own: { text, scope }, mayDiffer: check.rendering.hasPlaceholders })
    return { dependencies, columns, parameters: template.parameters }
  }
}

/**
 * What the node at `position` of a pipe reads by what names stand for now, as `checkNode` tells it, and judges its author again. The
 * engine is not asked.
 *
 * @throws what `checkNode` does of the text alone.
 */
export type NamesRead = (pipe: ReadPipe, position: number, author: ReadScope) => readonly string[]

/** Makes it over open modules. */
export function createNamesRead(options: CheckOptions, deps: Deps): NamesRead {
  return (pipe, position, readScope) => {
    const node = pipe.nodes[position]
    assert(node !== undefined, 'the pipe has the node')
    const found = compileNode({ pipe, node, position }, { options, deps, readScope })
    return namesIn(deps.templates.compile(node.sql), found)
  }
}

interface CompiledNames {
  readonly compiled: CompiledQuery
  readonly scope: NameScope
}

function namesIn({ tables }: Pick<Template, 'tables'>, { compiled, scope }: CompiledNames): readonly string[] {
  const inBranches = tables.flatMap((name) => namesOf(scope.find(name.split('.'))))
  return [...new Set([...compiled.dependencies, ...inBranches])].filter((name) => name !== placeholder)
}

/**
 * Judges the node at `position` of a pipe when it comes to answer for the pipe: whoever brings that about must be able to read
 * all that it reads. The engine is not asked.
 *
 * @throws READ_DENIED (403).
 */
export type CheckAuthor = (pipe: ReadPipe, position: number, author: ReadScope) => void

/** The SQL of a node that reads what has this name, to be judged by. */
export function sqlReading(name: string): string {
  return `SELECT * FROM ${quoteName(name)}`
}

/** Makes it over open modules. */
export function createAuthorCheck(options: CheckOptions, deps: Deps): CheckAuthor {
  return (pipe, position, readScope) => {
    const node = pipe.nodes[position]
    if (node === undefined || isUnrestricted(readScope)) return
    try {
      compileNode({ pipe, node, position }, { options, deps, readScope })
    } catch (thrown) {
      // A node that is broken gives nothing.
      if (!(thrown instanceof ApiError) || thrown.code === 'READ_DENIED') throw thrown
    }
  }
}

/**
 * Why a node that is stored would be refused if it came now, as far as its text tells; null for one that would not. The
 * engine is not asked.
 */
export type NodeFault = (pipe: ReadPipe, node: Pick<ReadNode, 'name' | 'sql'>, position: number) => string | null

/** Makes it over open modules. `serviceScope` is what the service reads for itself: stored nodes are judged for nobody. */
export function createNodeFault(
  options: CheckOptions,
  { serviceScope, ...deps }: Deps & { readonly serviceScope: ReadScope },
): NodeFault {
  return (pipe, node, position) => {
    try {
      compileNode({ pipe, node, position }, { options, deps, readScope: serviceScope })
      return null
    } catch (thrown) {
      if (thrown instanceof ApiError) return thrown.message
      throw thrown
    }
  }
}

interface PlacedNode {
  readonly pipe: ReadPipe
  readonly node: Pick<ReadNode, 'name' | 'sql'>
  readonly position: number
}

interface Compiling {
  readonly options: CheckOptions
  readonly deps: Deps
  readonly readScope: ReadScope
}

function compileNode({ pipe, node, position }: PlacedNode, { options, deps, readScope }: Compiling) {
  const { templates, workspace, findServiceSource } = deps
  if (node.sql.trim() === '') throw errors.SQL_EMPTY()
  if (Buffer.byteLength(node.sql) > options.sqlBytesMax) throw errors.SQL_TOO_LONG({ bytesMax: options.sqlBytesMax })
  const rendering = new Rendering({ templates, parameters: new Map(), mode: 'check', secretOf: () => undefined })
  const changed = withNode(pipe, node, position)
  const reading = {
    workspace: withPipe(workspace, changed),
    database: options.database,
    readScope,
    findServiceSource,
    nodeText: (read: ReadNode) => rendering.nodeText(read),
    ownPipeId: pipe.id,
  }
  const check: Check = { rendering, hasPlaceholder: false }
  checkBranchRights(reading, changed, position)
  const { text } = rendering.render(node.sql, { maySecrets: true })
  const scope = new CheckScope(authorScope(reading, changed, position), check)
  return { compiled: compiledUnfiltered(text, { scope, nodeName: node.name }), text, scope, check }
}

interface OwnNames {
  readonly scope: NameScope
  readonly nodeName: string
}

/** What its author sees in part, through pipes that others' nodes read, is none of what a node of his is made of. */
function compiledUnfiltered(text: string, { scope, nodeName }: OwnNames): CompiledQuery {
  try {
    return compileQuery(text, { scope })
  } catch (thrown) {
    if (!(thrown instanceof UndescribedOutput)) throw thrown
    const hint = 'A Pipe that it reads is made of one of which the token sees filtered rows alone'
    throw errors.READ_DENIED({ name: nodeName, hint, cause: thrown })
  }
}

/** The pipe with the node in its place, so that one that reads itself shows. */
function withNode(pipe: ReadPipe, { name, sql }: Pick<ReadNode, 'name' | 'sql'>, position: number): ReadPipe {
  // A node that is new has no id yet; none that has one is called so.
  const id = pipe.nodes[position]?.id ?? ('new' as NodeId)
  return { ...pipe, nodes: [...pipe.nodes.slice(0, position), { id, name, sql }, ...pipe.nodes.slice(position + 1)] }
}

/** The workspace with the pipe as it is to be. */
export function withPipe(workspace: WorkspaceReader, pipe: ReadPipe): WorkspaceReader {
  return {
    catalogVersion: workspace.catalogVersion,
    list: () => workspace.list(),
    listPipes: () => workspace.listPipes(),
    find: (nameOrId) => workspace.find(nameOrId),
    findPipe: (nameOrId) => {
      if (nameOrId === pipe.name || findResourceId(nameOrId) === pipe.id) return pipe
      const found = workspace.findPipe(nameOrId)
      return found?.id === pipe.id ? pipe : found
    },
  }
}

/** As `table()` prints the name of a table that only a caller's value tells. */
const placeholder = 'placeholder'

/** What the scopes of one check have in common. */
interface Check {
  readonly rendering: Rendering
  /** Whether a placeholder stands for a table. */
  hasPlaceholder: boolean
}

/** Takes the placeholder of a table for some table, also in the nodes and pipes that are read. */
class CheckScope implements NameScope {
  readonly #scope: NameScope
  readonly #check: Check

  constructor(scope: NameScope, check: Check) {
    this.#scope = scope
    this.#check = check
  }

  get isDiscreet(): boolean {
    return this.#scope.isDiscreet === true
  }

  get isForeign(): boolean {
    return this.#scope.isForeign === true
  }

  find(parts: readonly string[]): Source | 'denied' | undefined {
    const found = this.#scope.find(parts)
    if (found !== undefined) {
      const isQuery = found !== 'denied' && found.kind === 'query'
      return isQuery ? { ...found, scope: new CheckScope(found.scope, this.#check) } : found
    }
    const isPlaceholder = parts.length === 1 && parts[0] === placeholder
    if (!isPlaceholder || !this.#check.rendering.hasPlaceholders) return undefined
    this.#check.hasPlaceholder = true
    return { kind: 'query', id: placeholder, name: placeholder, sql: () => 'SELECT 1', scope: this }
  }

  advise(parts: readonly string[]): string | undefined {
    return this.#scope.advise?.(parts)
  }
}

function namesOf(source: Source | 'denied' | undefined): readonly string[] {
  return source === undefined || source === 'denied' ? [] : [source.name]
}

interface Description {
  readonly options: CheckOptions
  readonly deps: Pick<Deps, 'store' | 'workspace'> & { readonly alone: AloneDeps }
  readonly own: Pick<OwnText, 'text' | 'scope'>
  /** Whether the text holds placeholders for values. */
  readonly mayDiffer: boolean
}

async function describe(plan: CompiledQuery, description: Description) {
  const { options, deps, mayDiffer } = description
  // Nobody waits for it who could leave: it ends by the time limit of queries.
  const { signal } = new AbortController()
  let refusal: unknown
  for (const describing of describings) {
    try {
      checkAgreement(plan.reading, await deps.store.queryTree(plan.sql, signal))
      await checkColumns(plan, { store: deps.store, signal })
      return await columnsBy(describing, plan, { store: deps.store, signal })
    } catch (thrown) {
      if (mayDiffer && isAboutPlaceholder(thrown)) return null
      const told = inAuthorsWords(thrown, plan, { workspace: deps.workspace, describing })
      const hint = thrown instanceof StoreError ? adviceFor(thrown.message, plan) : undefined
      refusal = toQueryError(told, { ...options, sql: plan.sql, hint })
      if (!(thrown instanceof StoreError) || thrown.kind !== 'engine') break
    }
  }
  throw plan.isOpaque ? await opaqueRefusal(refusal, description, signal) : refusal
}

/** What the author is told who may not know all that the node reads through pipes. */
async function opaqueRefusal(
  refusal: unknown,
  { options, deps, own }: Description,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(refusal instanceof ApiError && refusal.code === 'SQL_INVALID')) return refusal
  const { catalogVersion } = deps.workspace
  const alone = await faultAlone({ ...own, catalogVersion, isRun: false }, deps.alone, signal)
  if (alone === null) return errors.PIPE_FAILED({ reason: null, cause: refusal })
  const { thrown, plan } = alone
  const hint = thrown instanceof StoreError ? adviceFor(thrown.message, plan) : undefined
  const told = inAuthorsWords(thrown, plan, { workspace: deps.workspace, describing: describingAlone })
  return toQueryError(told, { ...options, sql: plan.sql, hint })
}

interface Wording {
  readonly workspace: WorkspaceReader
  /** What stood in front of the query. */
  readonly describing: string
}

function inAuthorsWords(thrown: unknown, plan: CompiledQuery, { workspace, describing }: Wording): unknown {
  if (!(thrown instanceof StoreError)) return thrown
  const { kind, clickhouseCode } = thrown
  const message = withPlace(inUsersWords(thrown.message, workspace), plan, { prefix: describing, isOfAuthor: true })
  return new StoreError({ kind, message, clickhouseCode, cause: thrown })
}

function isAboutPlaceholder(thrown: unknown): boolean {
  if (!(thrown instanceof StoreError) || thrown.clickhouseCode === undefined) return false
  return valueCodes.has(thrown.clickhouseCode) || /__no_value__|`placeholder`/.test(thrown.message)
}
