/** A `POST /v0/datasources`: reads the request, has the import run, and writes its result. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { NewColumns } from '../../datasources/new-columns.ts'
import type { ImportResult, ImportSource, OpenImport } from '../../imports/imports.types.ts'
import type { RateLimit } from '../../limits/rate-limit.ts'
import { engineParameters } from '../../schema/engines/engine-options.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { listText } from '../../shared/list-text.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson, toApiError } from '../json/answers.ts'
import { singleShape } from '../json/datasource-shape.ts'
import { dryRunShape } from '../json/dry-run.ts'
import { type ImportAnswer, importAnswerOf, sendImport } from '../json/import-answer.ts'
import { type ProgressLines, progressDetails, progressLines } from '../json/import-progress.ts'
import { seenFields } from '../json/seen-fields.ts'
import { behindFields } from '../json/views-behind.ts'
import { warn, warnOfUnknown, warnOfVersion } from '../json/warnings.ts'
import { receiptHeader } from '../request/awaited-receipts.ts'
import { formatFields, importParameters, readImportInput } from '../request/import-input.ts'
import { readImportOrder, type SentOrder } from '../request/import-order.ts'
import type { Parameters } from '../request/parameters.ts'
import { announcesBody, bodyOf } from '../request/request-body.ts'
import { boundUpload, type UploadLimits } from '../request/upload-bounds.ts'
import { leftSignal } from '../server/abort-signal.ts'
import { callerOf, requireAccess, requireFound } from '../server/authorization.ts'
import { countRequest } from '../server/count-request.ts'
import { mayBeQuiet } from '../server/half-closed.ts'
import { clientKeyOf } from '../server/proxies.ts'
import { toldMessage } from '../server/told-message.ts'
import { importByUrl } from './import-by-url.ts'

export type ImportDeps = Pick<
  HttpDeps,
  'behind' | 'dataSources' | 'imports' | 'logger' | 'pipes' | 'rates' | 'receipts' | 'storageLimit' | 'urlImports'
> & {
  readonly newColumns: NewColumns
}

/** Creates a data source, brings rows to one, or both. */
export async function createOrImport(
  request: FastifyRequest,
  reply: FastifyReply,
  { deps, limits }: { readonly deps: ImportDeps; readonly limits: FormLimits & UploadLimits },
): Promise<FastifyReply> {
  const exchange = new ImportExchange(request, reply, deps)
  try {
    exchange.enter()
    const { parameters, rows } = await readImportInput(request, limits)
    const order = readImportOrder(parameters)
    warnOfUnknown(reply, 'Parameter', parameters.names(), [...knownParameters, ...order.connectorSettings])
    requireAccess(request, order.isDry ? 'datasource:analyze' : `datasource:${order.mode}`, order.name ?? null)
    if (!order.isDry) countRequest(reply, rateOf(order, rows, deps))
    if (!order.isDry && bringsRows(order, rows)) await refuseWhenFull(deps)
    await boundUpload(rows, request.headers, limits)
    if (order.urls.length > 0) return await importByUrl({ request, reply, order, rows }, deps)
    if (order.isDry) return await exchange.answerDry(order, rows)
    return await exchange.answer(order, rows, parameters)
  } finally {
    await exchange.close()
  }
}

/** What a schema alone creates is counted by itself; all else that brings rows shares one quota. */
function rateOf(order: SentOrder, rows: ImportSource | null, { rates }: ImportDeps): RateLimit | null {
  return order.mode === 'create' && !bringsRows(order, rows) ? rates.createsFromSchema : rates.imports
}

function bringsRows({ urls }: SentOrder, rows: ImportSource | null): boolean {
  return rows !== null || urls.length > 0
}

/** @throws STORAGE_EXCEEDED (400). */
async function refuseWhenFull({ storageLimit }: ImportDeps): Promise<void> {
  const refusal = (await storageLimit?.refusal()) ?? null
  if (refusal !== null) throw refusal
}

const knownParameters: readonly string[] = [
  ...importParameters,
  ...engineParameters,
  ...['dialect_delimiter', 'dialect_escapechar', 'dialect_new_line', 'dialect_has_header', ...formatFields],
]

class ImportExchange {
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  readonly #deps: ImportDeps
  readonly #stopping = new AbortController()
  readonly #left: AbortSignal
  #leave: () => void = () => {}
  #import: OpenImport | null = null
  /** Ends what an answer that is on its way already still has to do. */
  #streamed: Promise<void> | null = null

  constructor(request: FastifyRequest, reply: FastifyReply, deps: ImportDeps) {
    this.#request = request
    this.#reply = reply
    this.#deps = deps
    this.#left = leftSignal(reply)
  }

  /** From here on the import ends when the service closes. @throws as `Imports.enter` does. */
  enter(): void {
    if (!announcesBody(this.#request.headers)) return
    const stop = (reason: ApiError): void => {
      this.#stopping.abort(reason)
      // One that waits for bytes hears of it by them.
      this.#request.exchange?.body?.fail(reason)
    }
    this.#leave = this.#deps.imports.enter(stop, clientKeyOf(this.#request))
  }

  async answerDry(order: SentOrder, source: ImportSource | null): Promise<FastifyReply> {
    if (source === null) throw errors.BODY_MISSING()
    // What is only looked at is of no use to a client that has left.
    const signal = AbortSignal.any([this.#stopping.signal, this.#left])
    const analysis = await this.#deps.imports.analyze({ ...order, source, unknownFormat: 'as imported', signal })
    return sendJson(this.#reply, 200, dryRunShape(analysis))
  }

  async answer(order: SentOrder, source: ImportSource | null, parameters: Parameters): Promise<FastifyReply> {
    const reply = this.#reply
    const opened = await this.#deps.imports.open({
      order,
      source,
      signal: this.#stopping.signal,
      abandoned: this.#left,
      caller: {
        logFields: { requestId: this.#request.id },
        // Its name may have stood for another when the head of the request was judged.
        requireTarget: (id) => requireFound(this.#request, `datasource:${order.mode}`, id),
        requireCreation: () => requireAccess(this.#request, 'datasource:create', order.name ?? null),
      },
      watched: watchedBy(order),
    })
    this.#import = opened
    if (opened.isCreated) {
      warnOfVersion(reply, opened.dataSource.name, opened.shadowed)
      if (order.mode === 'append') reply.header('x-datasource-created', opened.dataSource.name)
      if (parameters.text('tags') !== undefined) warn(reply, ["Parameter 'tags' is ignored: there are no tags yet"])
    }
    const details = () => progressDetails(opened.progress, order.debug)
    if (!order.hasProgress) {
      const result = await opened.load()
      reply.header(receiptHeader, this.#deps.receipts.textOfImport(opened.dataSource.id, opened.importId))
      return sendImport(reply, await this.#answerOf(order, opened, result), details())
    }
    const lines = progressLines(opened.progress)
    mayBeQuiet(reply.raw)
    this.#streamed = this.#streamResult(lines, async () => {
      const answer = await this.#answerOf(order, opened, await opened.load())
      return importAnswerOf(answer, details())
    })
    return reply.code(200).header('content-type', 'application/x-ndjson; charset=UTF-8').send(lines.lines)
  }

  /** Gives back what the import held, when it has ended. */
  async close(): Promise<void> {
    const close = async (): Promise<void> => {
      await this.#import?.close()
      // What nobody reads any more must not hold the connection; what was read to its end is not touched.
      bodyOf(this.#request)?.destroy()
      this.#leave()
    }
    if (this.#streamed === null) await close()
    else void this.#streamed.finally(close)
  }

  async #streamResult(lines: ProgressLines, load: () => Promise<ReturnType<typeof importAnswerOf>>): Promise<void> {
    try {
      const { status, body, failure } = await load()
      if (failure?.limit !== undefined) this.#reply.server.tellLimitHit(this.#request, failure)
      lines.end({ ...body, status })
    } catch (error) {
      const apiError = toApiError(error)
      if (apiError.limit !== undefined) this.#reply.server.tellLimitHit(this.#request, apiError)
      if (apiError.status >= 500) {
        this.#deps.logger.error({ requestId: this.#request.id, err: error }, 'An import failed.')
      }
      lines.end({ ...apiError.body(), error: this.#told(apiError), status: apiError.status })
    }
  }

  async #answerOf(order: SentOrder, opened: OpenImport, result: ImportResult): Promise<ImportAnswer> {
    const { dataSources, newColumns } = this.#deps
    const { importId, dataSource } = opened
    const warnings = [...connectorWarnings(order), ...result.warnings]
    const statistics = await dataSources.statisticsOf(dataSource.id)
    const usedBy = dataSources.usedBy(dataSource.id)
    const derived = { statistics, usedBy, newColumns: newColumns.of(dataSource) }
    const shape = singleShape(dataSource, seenFields(callerOf(this.#request).permissions, dataSource, derived))
    const behind = behindFields(this.#deps.behind.of(dataSource.id), callerOf(this.#request).permissions)
    const toldFailure = (error: ApiError) => this.#told(error)
    return { importId, dataSource: shape, warnings, outcome: result.outcome, behind, toldFailure }
  }

  #told(error: ApiError): string {
    return toldMessage(error, this.#request, () => this.#deps.pipes.list())
  }
}

function watchedBy({ debug, hasProgress }: SentOrder): 'nothing' | 'statuses' | 'reports' {
  if (debug.has('blocks')) return 'reports'
  return debug.size > 0 || hasProgress ? 'statuses' : 'nothing'
}

function connectorWarnings({ connectorSettings }: SentOrder): readonly string[] {
  if (connectorSettings.length === 0) return []
  const names = listText(connectorSettings.map((name) => `"${name}"`))
  const advice = 'send rows by POST /v0/events or /v0/datasources'
  return [`The settings of a connector (${names}) are ignored: connectors are not run here, ${advice}.`]
}
