import { findResourceId } from '../catalog/resource-id.ts'
import { isServiceName } from '../catalog/service-name.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import { type CompiledQuery, compileQuery } from '../sql/compile-query.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { NameScope } from '../sql/source.types.ts'
import { UndescribedOutput } from '../sql/undescribed-output.ts'
import type { Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import { Agreement } from './agreement.ts'
import { type AnswerFormat, answerFormat } from './answer-formats.ts'
import { type AnswerOptions, Answers, mayQuote } from './answers.ts'
import { sqlBelow } from './branch-reads.ts'
import { type CheckFilter, createFilterCheck } from './check-filter.ts'
import {
  type CheckAuthor,
  type CheckNode,
  createAuthorCheck,
  createNamesRead,
  createNodeCheck,
  createNodeFault,
  type NamesRead,
  type NodeFault,
} from './check-node.ts'
import { ColumnCheck } from './column-check.ts'
import { fixedForNamed, nothingFixed, outputConditionOf } from './fixed-parameters.ts'
import { createFlattening, type FlattenNode } from './flatten-node.ts'
import { nameable, withNames } from './message-names.ts'
import { answeringNode, callerScope, nodeScope, type Reading } from './name-scope.ts'
import { type CompareNode, createNodeComparison } from './node-ways.ts'
import { OutputColumns } from './output-columns.ts'
import { PlanCache } from './plan-cache.ts'
import type {
  ExplainRequest,
  Explanation,
  PipeRequest,
  Query,
  QueryAnswer,
  QueryRequest,
  ShowRequest,
} from './query.types.ts'
import { Rendering } from './rendering.ts'
import { ResponseCache } from './response-cache.ts'
import type { FaultAlone } from './run.types.ts'
import { hiddenSecret, standIns, standInsInTime } from './secret-use.ts'
import { type AloneDeps, describingAlone, faultAlone, faultOfPlan } from './stand-ins.ts'
import { TemplateCache } from './template-cache.ts'
import type { FindServiceSource, ReadNode, ReadPipe, WorkspaceReader } from './workspace.types.ts'

export interface QueryOptions extends AnswerOptions {
  /** The database of the workspace's tables. */
  readonly database: string
  /** Longest query, in bytes of UTF-8. */
  readonly sqlBytesMax: number
  /** Answers that are kept because their template asks for it, all together. */
  readonly responseCacheBytesMax: number
  /** Epoch milliseconds. */
  readonly now: () => number
}

export interface QueryDeps {
  readonly store: Pick<Store, 'select' | 'queryTree'>
  readonly workspace: WorkspaceReader
  readonly findServiceSource: FindServiceSource
  /** The value of a secret; undefined when there is none. */
  readonly secretOf: (name: string) => string | undefined
  /** For what is read for no caller: whether stored nodes still hold, and whether a rename changes one. */
  readonly serviceScope: ReadScope
}

/** The reading side of the service: one place through which every query of a user passes. */
export function createQuery(options: QueryOptions, deps: QueryDeps): Query {
  return new QueryService(options, deps)
}

/** A text with the names that it sees. */
interface Question {
  readonly rendering: Rendering
  readonly readScope: ReadScope
  readonly text: string
  /** Tells whose names the text sees, for the cache of plans. */
  readonly place: string
  readonly scope: (reading: Reading) => NameScope
}

class QueryService implements Query {
  readonly checkNode: CheckNode
  readonly checkAuthor: CheckAuthor
  readonly namesRead: NamesRead
  readonly checkFilter: CheckFilter
  readonly nodeFault: NodeFault
  readonly compareNode: CompareNode
  readonly flattenNode: FlattenNode
  readonly #options: QueryOptions
  readonly #deps: QueryDeps
  readonly #templates = new TemplateCache()
  readonly #plans = new PlanCache()
  readonly #answers: Answers
  readonly #outputs: OutputColumns
  readonly #alone: AloneDeps

  constructor(options: QueryOptions, deps: QueryDeps) {
    this.#options = options
    this.#deps = deps
    const responses = new ResponseCache({ bytesMax: options.responseCacheBytesMax, now: options.now })
    const agreement = new Agreement(deps.store)
    const columns = new ColumnCheck(deps.store, deps.workspace)
    this.#answers = new Answers(options, { ...deps, responses, agreement, columns })
    this.#outputs = new OutputColumns({ ...deps, agreement, columns })
    this.#alone = { store: deps.store, agreement, columns, outputs: this.#outputs }
    this.checkNode = createNodeCheck(options, { ...deps, templates: this.#templates, alone: this.#alone })
    this.checkAuthor = createAuthorCheck(options, { ...deps, templates: this.#templates })
    this.namesRead = createNamesRead(options, { ...deps, templates: this.#templates })
    this.checkFilter = createFilterCheck(options, { ...deps, checkNode: this.checkNode })
    this.nodeFault = createNodeFault(options, { ...deps, templates: this.#templates })
    this.compareNode = createNodeComparison({ ...options, ...deps, templates: this.#templates })
    this.flattenNode = createFlattening(options, { ...deps, templates: this.#templates, checkAuthor: this.checkAuthor })
  }

  async run(request: QueryRequest): Promise<QueryAnswer> {
    const startMs = performance.now()
    const { readScope, timeMaxMs, owner } = request
    const { question, rendering, cacheTtlSeconds, plan, format, contentType } = await this.#prepareFresh(request)
    const resolveMs = performance.now() - startMs
    const run = {
      plan,
      rendering,
      readScope,
      isOfAuthor: true,
      tryAlone: () => this.#faultAlone(question, request.signal),
      tryWithStandIns: (thrown: unknown) => this.#faultWithStandIns(thrown, question, request.signal),
      format,
      settings: request.settings,
      cacheTtlSeconds,
      timeMaxMs,
      owner,
      signal: request.signal,
    }
    const { body, engineMs } = await this.#answers.answer(run)
    return { format, contentType, body, isOfService: readsServiceAlone(plan), times: { resolveMs, engineMs } }
  }

  async prepare(request: QueryRequest): Promise<AnswerFormat> {
    const { format, contentType } = await this.#prepareFresh(request)
    return { format, contentType }
  }

  async readPipe(request: PipeRequest): Promise<QueryAnswer> {
    const startMs = performance.now()
    const { readScope, settings, signal } = request
    const pipe = this.#readablePipe(request.pipe, readScope)
    const node = pipe.nodes.find(({ id }) => id === pipe.endpointId)
    if (node === undefined) throw errors.PIPE_UNPUBLISHED({ name: pipe.name })
    // Who waits for rows takes no place meanwhile.
    const isWaiting = request.untilFresh !== undefined
    const early = isWaiting ? undefined : request.admit?.(pipe)
    const rendering = this.#rendering(request, pipe)
    const { format, contentType } = answerFormat(request.format)
    const { question, plan, cacheTtlSeconds } = await this.#freshly(request, async () => {
      const { question, cacheTtlSeconds } = this.#pipeQuestion(request, { pipe, node, rendering })
      return { question, cacheTtlSeconds, plan: await this.#plan(question, signal) }
    })
    const watch = isWaiting ? request.admit?.(pipe) : early
    const resolveMs = performance.now() - startMs
    const { body, engineMs } = await this.#answers.answer({
      plan,
      rendering,
      readScope,
      isOfAuthor: request.sql !== null,
      tryAlone: request.sql === null ? undefined : () => this.#faultAlone(question, signal),
      tryWithStandIns: (thrown: unknown) => this.#faultWithStandIns(thrown, question, signal),
      format,
      settings,
      cacheTtlSeconds,
      watch,
      owner: pipe.id,
      signal,
    })
    const unusedParameters = rendering.unusedParameters(() => sqlBelow(this.#deps.workspace, pipe))
    const told = unusedParameters.length === 0 ? {} : { unusedParameters, parameterNames: rendering.parameterNames }
    return { format, contentType, body, ...told, times: { resolveMs, engineMs } }
  }

  async explain(request: ExplainRequest): Promise<Explanation> {
    const { pipe: nameOrId, node: nodeNameOrId, readScope } = request
    const pipe = this.#readablePipe(nameOrId, readScope)
    const node = nodeNameOrId === null ? explainedNode(pipe) : findNode(pipe, nodeNameOrId)
    if (node === undefined) throw errors.EXPLAIN_EMPTY({ name: pipe.name })
    let failure: unknown
    // The plan does not depend on the values of secrets, so they are not used at all. What reads one as a number takes no text.
    for (const standIn of standIns) {
      const rendering = this.#rendering(request, pipe, () => standIn)
      try {
        return await this.#explainNode({ pipe, node, rendering }, request)
      } catch (thrown) {
        if (!isRefusal(thrown) || !rendering.hasSecrets) throw thrown
        failure ??= thrown
      }
    }
    throw failure
  }

  async #explainNode(
    { pipe, node, rendering }: { readonly pipe: ReadPipe; readonly node: ReadNode; readonly rendering: Rendering },
    { readScope, signal }: ExplainRequest,
  ): Promise<Explanation> {
    const text = rendering.nodeText(node)
    const plan = await this.#plan({ rendering, readScope, text, ...nodesNames(pipe, node) }, signal)
    if (plan.isOpaque && !plan.isFiltered) throw errors.PLAN_HIDDEN({ name: pipe.name })
    // It says what of the tables would be read, the hidden rows among it, and how the filter reads.
    if (plan.isFiltered || outputConditionOf(readScope, pipe.id) !== null) {
      throw errors.SQL_INVALID({ reason: `The plan of '${pipe.name}' can not be shown, as the token filters rows` })
    }
    const workspace = nameable(this.#deps.workspace, readScope)
    const lines: Uint8Array[] = []
    const prefix = 'EXPLAIN indexes = 1 '
    const run = { plan, prefix, rendering, readScope, format: 'TSVRaw', settings: {}, cacheTtlSeconds: null, signal }
    for await (const chunk of (await this.#answers.answer(run)).body) lines.push(chunk)
    return {
      debugQuery: withNames(plan.sql, workspace),
      queryExplain: withNames(Buffer.concat(lines).toString(), workspace),
    }
  }

  async show(request: ShowRequest): Promise<string | null> {
    const { sql, readScope, mayShowPipes, signal } = request
    const rendering = this.#rendering(request, null, () => hiddenSecret)
    const { text } = this.#callersText(sql, { rendering, readScope })
    const plan = await this.#plan({ rendering, readScope, text, ...callersNames(null) }, signal)
    // The SQL of its pipes stands in it.
    return plan.isOpaque && !mayShowPipes ? null : withNames(plan.sql, nameable(this.#deps.workspace, readScope))
  }

  #prepareFresh(request: QueryRequest) {
    return this.#freshly(request, () => this.#prepare(request))
  }

  /** Plans, and where rows must be waited for, plans once more behind that: what is read may have changed meanwhile. */
  async #freshly<Planned extends { readonly plan: CompiledQuery; readonly cacheTtlSeconds: number | null }>(
    { untilFresh }: Pick<QueryRequest, 'untilFresh'>,
    plan: () => Promise<Planned>,
  ): Promise<Planned> {
    const planned = await plan()
    if (untilFresh === undefined) return planned
    const database = `${this.#options.database}.`
    const own = planned.plan.tables.filter((table) => table.startsWith(database))
    await untilFresh(own.map((table) => table.slice(database.length)))
    return { ...(await plan()), cacheTtlSeconds: null }
  }

  async #prepare(request: QueryRequest) {
    const { readScope } = request
    const focus = request.pipeline === null ? null : this.#readablePipe(request.pipeline, readScope)
    const rendering = this.#rendering(request, focus)
    const { text, cacheTtlSeconds } = this.#callersText(request.sql, { rendering, readScope })
    const question = { rendering, readScope, text, ...callersNames(focus) }
    const plan = await this.#plan(question, request.signal)
    return { question, rendering, cacheTtlSeconds, plan, ...answerFormat(plan.format ?? request.format) }
  }

  #pipeQuestion(
    { sql, readScope }: PipeRequest,
    { pipe, node, rendering }: { readonly pipe: ReadPipe; readonly node: ReadNode; readonly rendering: Rendering },
  ): { readonly question: Question; readonly cacheTtlSeconds: number | null } {
    if (sql === null) {
      const { text, cacheTtlSeconds } = rendering.node(node)
      if (outputConditionOf(readScope, pipe.id) !== null) {
        const question = { rendering, readScope, text: wholePipe, ...callersNames(pipe) }
        return { question, cacheTtlSeconds }
      }
      return { question: { rendering, readScope, text, ...nodesNames(pipe, node) }, cacheTtlSeconds }
    }
    const { text, cacheTtlSeconds } = this.#callersText(sql, { rendering, readScope })
    return { question: { rendering, readScope, text, ...callersNames(pipe) }, cacheTtlSeconds }
  }

  #callersText(
    sql: string,
    { rendering, readScope }: Pick<Question, 'rendering' | 'readScope'>,
  ): { readonly text: string; readonly cacheTtlSeconds: number | null } {
    const bytesMax = this.#options.sqlBytesMax
    if (Buffer.byteLength(sql) > bytesMax) throw errors.SQL_TOO_LONG({ bytesMax })
    return rendering.render(sql, { maySecrets: readScope.mayUseSecrets })
  }

  async #plan(question: Question, signal: AbortSignal): Promise<CompiledQuery> {
    try {
      for (let count = 0; count < describedMax; count += 1) {
        const planned = this.#planNow(question)
        if (!(planned instanceof UndescribedOutput)) return planned
        await this.#describe(planned, question, signal)
      }
      // The catalog has changed all the while.
      throw errors.QUERIES_TOO_MANY({ retryAfterSeconds: 1 })
    } catch (thrown) {
      const told =
        question.rendering.hasSecrets && mayQuote(thrown) ? this.#refusalWithStandIns(thrown, question) : null
      const { readScope, rendering } = question
      throw told ?? this.#answers.failureOf(thrown, { readScope, hasSecrets: rendering.hasSecrets })
    }
  }

  /** The plan, or what the engine must be asked first. */
  #planNow({ rendering, readScope, text, place, scope }: Question): CompiledQuery | UndescribedOutput {
    const { catalogVersion } = this.#deps.workspace
    const fullPlace = JSON.stringify([catalogVersion, readScope.signature, rendering.fixed.key, place])
    const outputOf = this.#outputsOf(catalogVersion)
    return undescribedOr(() =>
      this.#plans.plan({ place: fullPlace, text, rendering }, (nodeText) => {
        return compileQuery(text, { scope: scope(this.#reading({ rendering, readScope, nodeText })), outputOf })
      }),
    )
  }

  #reading({ rendering, readScope, nodeText }: Pick<Question, 'rendering' | 'readScope'> & NodeTexts): Reading {
    const { workspace, findServiceSource } = this.#deps
    const { database } = this.#options
    return { workspace, database, readScope, findServiceSource, nodeText, fixed: rendering.fixed }
  }

  async #faultAlone(question: Question, signal: AbortSignal): Promise<FaultAlone | null> {
    const { catalogVersion } = this.#deps.workspace
    const own = refusedOr(() => this.#withStandIn(hiddenSecret, question))
    // Its template may take no such text.
    if (own instanceof ApiError) return null
    return await faultAlone({ ...own, catalogVersion, isRun: true }, this.#alone, signal)
  }

  /** The question's text, and the names that it sees, with a stand-in for each secret. */
  #withStandIn(standIn: string, { rendering, readScope, text, scope }: Question) {
    const again = rendering.hasSecrets ? rendering.withStandIn(standIn, text) : { rendering, text }
    const nodeText: Reading['nodeText'] = (node, fixed) => again.rendering.nodeText(node, fixed)
    return { text: again.text, scope: scope(this.#reading({ rendering: again.rendering, readScope, nodeText })) }
  }

  /** What becomes of the question with one stand-in after the other for its secrets: plans, and refusals. */
  *#triesWithStandIns(question: Question): Generator<CompiledQuery | ApiError> {
    const outputOf = this.#outputsOf(this.#deps.workspace.catalogVersion)
    for (const standIn of standInsInTime()) {
      const tried = refusedOr(() => {
        const { text, scope } = this.#withStandIn(standIn, question)
        return undescribedOr(() => compileQuery(text, { scope, outputOf }))
      })
      if (!(tried instanceof UndescribedOutput)) yield tried
    }
  }

  #refusalWithStandIns({ code }: ApiError, question: Question): ApiError | null {
    for (const tried of this.#triesWithStandIns(question)) {
      if (tried instanceof ApiError && tried.code === code) return tried
    }
    return null
  }

  async #faultWithStandIns(thrown: unknown, question: Question, signal: AbortSignal): Promise<FaultAlone | null> {
    for (const tried of this.#triesWithStandIns(question)) {
      if (tried instanceof ApiError) continue
      const fault = await faultOfPlan({ plan: tried, isRun: false }, this.#alone, signal)
      if (isAlike(fault, thrown)) return { thrown: fault, plan: tried, prefix: describingAlone }
    }
    return null
  }

  /** Asks for the columns of what a pipe gives; what that reads through filters of its own was asked for before. */
  async #describe(
    { source, sql }: UndescribedOutput,
    { rendering, readScope }: Question,
    signal: AbortSignal,
  ): Promise<void> {
    const { catalogVersion } = this.#deps.workspace
    const plan = undescribedOr(() => {
      return compileQuery(source.sql(), { scope: source.scope, outputOf: this.#outputsOf(catalogVersion) })
    })
    // The catalog has changed meanwhile: the query is planned once more.
    if (plan instanceof UndescribedOutput) return
    try {
      await this.#outputs.ask(plan, { catalogVersion, sql }, signal)
    } catch (thrown) {
      // The engine may have computed constants of what the filter is to hide.
      const hiding = { ...plan, isFiltered: true }
      throw this.#answers.opaqueFailureOf(thrown, { hasSecrets: rendering.hasSecrets, readScope, plan: hiding })
    }
  }

  #outputsOf(catalogVersion: number) {
    return (sql: string) => this.#outputs.find(catalogVersion, sql)
  }

  #rendering({ parameters, readScope }: Entering, pipe: ReadPipe | null, secretOf = this.#deps.secretOf): Rendering {
    const jobTimestamp = new Date(this.#options.now()).toISOString().slice(0, 19).replace('T', ' ')
    const fixed = pipe === null ? nothingFixed : fixedForNamed(readScope, pipe.id, nothingFixed)
    return new Rendering({ templates: this.#templates, parameters, fixed, mode: 'run', secretOf, jobTimestamp })
  }

  #readablePipe(nameOrId: string, { mayRead, seesAll }: ReadScope): ReadPipe {
    const pipe = this.#deps.workspace.findPipe(nameOrId)
    if (pipe !== undefined && mayRead(pipe.id)) return pipe
    throw seesAll ? errors.PIPE_UNKNOWN({ name: nameOrId }) : errors.READ_DENIED({ name: nameOrId })
  }
}

function isRefusal(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status === 400
}

function readsServiceAlone({ dependencies }: CompiledQuery): boolean {
  return dependencies.length > 0 && dependencies.every(isServiceName)
}

/** The published node, else one that fills a data source, else the last. */
function explainedNode(pipe: ReadPipe): ReadNode | undefined {
  const isPublished = pipe.nodes.some(({ id }) => id === pipe.endpointId)
  return (isPublished ? undefined : pipe.nodes.find(({ view }) => view !== undefined)) ?? answeringNode(pipe)
}

/** More than a query can read. */
const describedMax = 300

function undescribedOr<Result>(make: () => Result): Result | UndescribedOutput {
  try {
    return make()
  } catch (thrown) {
    if (thrown instanceof UndescribedOutput) return thrown
    throw thrown
  }
}

function refusedOr<Result>(make: () => Result): Result | ApiError {
  try {
    return make()
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown
    throw thrown
  }
}

function isAlike(one: unknown, other: unknown): boolean {
  if (one instanceof StoreError && other instanceof StoreError) return one.clickhouseCode === other.clickhouseCode
  return one instanceof ApiError && other instanceof ApiError && one.code === other.code
}

type NodeTexts = Pick<Reading, 'nodeText'>
type Entering = Pick<QueryRequest, 'parameters' | 'readScope'>

/** All that a pipe gives, through the filter of what it gives. */
const wholePipe = 'SELECT * FROM _'

function callersNames(focus: ReadPipe | null): Pick<Question, 'place' | 'scope'> {
  return { place: `caller ${focus?.id ?? ''}`, scope: (reading) => callerScope(reading, focus) }
}

function nodesNames(pipe: ReadPipe, node: ReadNode): Pick<Question, 'place' | 'scope'> {
  return { place: `node ${node.id}`, scope: (reading) => nodeScope(reading, pipe, pipe.nodes.indexOf(node)) }
}

/** @throws NODE_NOT_FOUND (404). */
function findNode(pipe: ReadPipe, nameOrId: string): ReadNode {
  const namedId = findResourceId(nameOrId)
  const node = pipe.nodes.find(({ name, id }) => name === nameOrId || id === namedId)
  if (node === undefined) throw errors.NODE_NOT_FOUND({ pipe: pipe.name, node: nameOrId })
  return node
}
