import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import { NewColumns } from './datasources/new-columns.ts'
import type { FormLimits, HttpDeps, HttpOptions } from './http/http.types.ts'
import { BodyBudget } from './http/request/body-budget.ts'
import { addAnalyze } from './http/routes/analyze.ts'
import { addDataSource } from './http/routes/datasource.ts'
import { addDataSources } from './http/routes/datasources.ts'
import { addEndpoints } from './http/routes/endpoints.ts'
import { addEvents } from './http/routes/events.ts'
import { addFreshness } from './http/routes/freshness.ts'
import { addGraph } from './http/routes/graph.ts'
import { addHealth } from './http/routes/health.ts'
import { JobProgress } from './http/routes/job-progress.ts'
import { addJobs } from './http/routes/jobs.ts'
import { addLimits } from './http/routes/limits.ts'
import { addMaterialization } from './http/routes/materialization.ts'
import { addMetrics, namedAddresses } from './http/routes/metrics.ts'
import { addOpenApi } from './http/routes/openapi.ts'
import { addPipe } from './http/routes/pipe.ts'
import { addPipes } from './http/routes/pipes.ts'
import { addProject } from './http/routes/project.ts'
import { addQuarantine } from './http/routes/quarantine.ts'
import { addSql } from './http/routes/sql.ts'
import { addTokens } from './http/routes/tokens.ts'
import { addVariables } from './http/routes/variables.ts'
import { addWorkspace } from './http/routes/workspace.ts'
import { createAdviser } from './http/server/advice.ts'
import { AnswerHeaders } from './http/server/answer-headers.ts'
import { addAuthorization } from './http/server/authorization.ts'
import { addClosing } from './http/server/closing.ts'
import { createConnections, deferContinue } from './http/server/connections.ts'
import { addCrossOrigin } from './http/server/cross-origin.ts'
import { addErrorAnswers, answerFrameworkErrors } from './http/server/error-answers.ts'
import { createHttpServer, headerBytesMax } from './http/server/http-server.ts'
import { addProxies, clientKeyOf, Proxies } from './http/server/proxies.ts'
import { RawAnswers } from './http/server/raw-answer.ts'
import { addRequestCounts } from './http/server/request-counts.ts'
import { addRequestHead } from './http/server/request-head.ts'
import { createRequestLog } from './http/server/request-log.ts'
import { addRequestRecords } from './http/server/request-records.ts'
import { addRequestTraces } from './http/server/request-traces.ts'
import { addReaderWatch } from './http/server/slow-readers.ts'
import { addLimitHits } from './http/server/tell-limit-hits.ts'
import { addUrlEscapes } from './http/server/url-escapes.ts'
import { type ApiError, errors } from './shared/errors/errors.ts'
import { createRequestId } from './shared/ids.ts'

const diskRetrySeconds = 2

/** Told of each route as it is registered, those of all modules among them. */
export type WatchRoute = (route: RouteOptions) => void

/** The HTTP service over open modules. It does not listen, so that tests can inject requests. */
export function createApp(deps: HttpDeps, options: HttpOptions, onRoute?: WatchRoute): FastifyInstance {
  const { logger, now } = deps
  const requestLog = createRequestLog(logger)
  const headers = new AnswerHeaders(options)
  const proxies = new Proxies(options)
  const answers = new RawAnswers(headers, now)
  const connections = createConnections({ ...options, answers })
  const app = Fastify({
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: headerBytesMax },
    serverFactory: (listener) => createHttpServer(listener, { ...deps, proxies, answers }, options),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    genReqId: () => createRequestId(now()),
    clientErrorHandler: connections.onClientError,
    frameworkErrors: answerFrameworkErrors(requestLog, headers),
  })
  if (onRoute !== undefined) app.addHook('onRoute', onRoute)
  const { recorder } = deps
  if (recorder !== undefined) addRequestCounts(app, { recorder, findPipe: (name) => deps.pipes.find(name) })
  deferContinue(app)
  requestLog.addTo(app)
  addRequestTraces(app, options, deps)
  headers.addTo(app)
  addProxies(app, proxies)
  addCrossOrigin(app, headers.origins)
  connections.addTo(app)
  addRequestHead(app)
  addReaderWatch(app, options.connectionIdleMsMax, logger)
  addLimitHits(app, deps)
  addErrorAnswers(app, deps.disk, createAdviser(deps), () => deps.pipes.list())
  const { isClosing, onClosing, onCutting } = addClosing(app, options.closeTimeoutMs)
  addAuthorization(app, deps.access)
  addUrlEscapes(app)
  const isNamed = namedAddresses(options)
  addMetrics(app, deps, isNamed)
  addRequestRecords(app, deps)
  const refusalOf = (): ApiError | null => (isClosing() ? errors.SHUTTING_DOWN() : faultOf(deps))
  const dataSourceName = (id: string): string | undefined => deps.dataSources.find(id)?.name
  addHealth(app, { refusalOf, state: deps.state, dataSourceName, isNamed, now })
  const jobProgress = new JobProgress(deps.jobs)
  const limits = { ...options, bodies: new BodyBudget(options.bodiesBytesMax, clientKeyOf) }
  app.register((api, _options, done) => {
    // A connection that is kept alive can bring requests after the close began; their work would find closed modules.
    api.addHook('onRequest', (_request, _reply, done) => {
      if (isClosing()) throw errors.SHUTTING_DOWN()
      const { lostReason: reason } = deps.disk
      if (reason !== null) throw errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds: diskRetrySeconds })
      done()
    })
    addRoutes(api, { ...deps, newColumns: new NewColumns(now), jobProgress }, limits)
    done()
  })
  onClosing(() => jobProgress.end())
  onClosing(() => deps.imports.close())
  // Behind the imports, which say what is stored of theirs.
  onClosing(connections.endBodies)
  onClosing(connections.endAnswered)
  onCutting(() => {
    const count = connections.cut()
    if (count > 0) logger.warn({ count }, 'Connections were cut, as the service closes.')
  })
  return app
}

interface RouteDeps extends HttpDeps {
  readonly newColumns: NewColumns
  readonly jobProgress: JobProgress
}

function addRoutes(api: FastifyInstance, deps: RouteDeps, limits: HttpOptions & FormLimits): void {
  addEvents(api, deps, limits)
  addDataSources(api, deps, limits)
  addJobs(api, deps, limits)
  addDataSource(api, deps, limits)
  addFreshness(api, deps)
  addQuarantine(api, deps, limits)
  addAnalyze(api, deps, limits)
  addPipes(api, deps, limits)
  addPipe(api, deps, limits)
  addMaterialization(api, deps, limits)
  addGraph(api, deps)
  addOpenApi(api, deps)
  addProject(api, deps)
  addSql(api, deps, limits)
  addEndpoints(api, deps, limits)
  addVariables(api, deps, limits)
  addTokens(api, deps, limits)
  addWorkspace(api, deps)
  addLimits(api, deps)
}

/** Why requests cannot be answered now; null where they can. */
function faultOf({
  disk: { reason },
  engineFault,
  ingest,
}: Pick<HttpDeps, 'disk' | 'engineFault' | 'ingest'>): ApiError | null {
  if (reason !== null) return errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds: diskRetrySeconds })
  const fault = engineFault()
  if (fault !== null) return errors.ENGINE_UNAVAILABLE({ reason: fault })
  return ingest.logState().isFull ? errors.LOG_FULL({ retryAfterSeconds: diskRetrySeconds }) : null
}
