import { createServer } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import { createAdviser } from './http/advice.ts'
import { addAnalyze } from './http/analyze.ts'
import { addAuthorization } from './http/authorization.ts'
import { BodyBudget } from './http/body-budget.ts'
import { SharedChunks } from './http/chunk-budget.ts'
import { guardChunks } from './http/chunk-gate.ts'
import { addClosing } from './http/closing.ts'
import { createConnections, deferContinue } from './http/connections.ts'
import { addCrossOrigin } from './http/cross-origin.ts'
import { addDataSource } from './http/datasource.ts'
import { addDataSources } from './http/datasources.ts'
import { addEndpoints } from './http/endpoints.ts'
import { addErrorAnswers, answerFrameworkErrors } from './http/error-answers.ts'
import { addEvents } from './http/events.ts'
import { serveHalfClosed } from './http/half-closed.ts'
import { addHealth } from './http/health.ts'
import type { HttpOptions, HttpRooms } from './http/http.types.ts'
import { NewColumns } from './http/new-columns.ts'
import { addOpenApi } from './http/openapi.ts'
import { PendingReplaces } from './http/pending-replaces.ts'
import { addPipe } from './http/pipe.ts'
import { boundPipelining } from './http/pipelining.ts'
import { addPipes } from './http/pipes.ts'
import { addProject } from './http/project.ts'
import { addQuarantine } from './http/quarantine.ts'
import { addRequestHead } from './http/request-head.ts'
import { createRequestLog } from './http/request-log.ts'
import { addReaderWatch } from './http/slow-readers.ts'
import { addSql } from './http/sql.ts'
import { addUrlEscapes } from './http/url-escapes.ts'
import { addVariables } from './http/variables.ts'
import { errors } from './shared/errors.ts'
import { createRequestId } from './shared/ids.ts'

// Clients put whole queries into the URL.
const headerBytesMax = 64 * 1024

/** How long a connection without requests stays open. */
const keepAliveMs = 72_000

const diskRetrySeconds = 2

/** The HTTP service over open rooms. It does not listen, so that tests can inject requests. */
export function createApp(rooms: HttpRooms, options: HttpOptions): FastifyInstance {
  const { logger, now } = rooms
  const requestLog = createRequestLog(logger)
  const connections = createConnections({ connectionIdleMsMax: options.connectionIdleMsMax, now })
  const chunks = new SharedChunks(() => performance.now())
  const app = Fastify({
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: headerBytesMax },
    serverFactory: (listener) => {
      const { listener: bounded, answerOf } = boundPipelining(listener, { logger, now })
      const rules = {
        maxHeaderSize: headerBytesMax,
        requestTimeout: options.requestTimeoutMs,
        keepAliveTimeout: keepAliveMs,
        // Refused in our words.
        requireHostHeader: false,
      }
      const server = createServer(rules, guardChunks(bounded, chunks))
      serveHalfClosed(server, answerOf)
      return server
    },
    exposeHeadRoutes: false,
    return503OnClosing: false,
    genReqId: () => createRequestId(now()),
    clientErrorHandler: connections.onClientError,
    frameworkErrors: answerFrameworkErrors(requestLog),
  })
  deferContinue(app)
  requestLog.addTo(app)
  addCrossOrigin(app)
  connections.addTo(app)
  addRequestHead(app)
  addReaderWatch(app, options.connectionIdleMsMax, logger)
  addErrorAnswers(app, rooms.disk, createAdviser(rooms))
  const { isClosing, onClosing, onCutting } = addClosing(app, options.closeTimeoutMs)
  addAuthorization(app, rooms.access)
  addUrlEscapes(app)
  addHealth(app, () => {
    if (isClosing()) return errors.SHUTTING_DOWN()
    const { reason } = rooms.disk
    if (reason !== null) return errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds: diskRetrySeconds })
    const fault = rooms.engineFault()
    return fault === null ? null : errors.ENGINE_UNAVAILABLE({ reason: fault })
  })
  const desk = { ...rooms, newColumns: new NewColumns(now), pendingReplaces: new PendingReplaces() }
  const limits = { ...options, bodies: new BodyBudget(options.bodiesBytesMax) }
  app.register((api, _options, done) => {
    // A connection that is kept alive can bring requests after the close began; their work would find closed rooms.
    api.addHook('onRequest', (_request, _reply, done) => {
      if (isClosing()) throw errors.SHUTTING_DOWN()
      const { lostReason: reason } = rooms.disk
      if (reason !== null) throw errors.DISK_UNAVAILABLE({ reason, retryAfterSeconds: diskRetrySeconds })
      done()
    })
    addEvents(api, desk, limits)
    addDataSources(api, desk, { ...limits, onClosing })
    // Behind the imports, which say what is stored of theirs.
    onClosing(connections.endBodies)
    onCutting(() => {
      const count = connections.cut()
      if (count > 0) logger.warn({ count }, 'Connections were cut, as the service closes.')
    })
    addDataSource(api, desk, limits)
    addQuarantine(api, rooms, limits)
    addAnalyze(api, rooms, limits)
    addPipes(api, rooms, limits)
    addPipe(api, rooms, limits)
    addOpenApi(api, rooms)
    addProject(api, rooms)
    addSql(api, rooms, limits)
    addEndpoints(api, rooms, limits)
    addVariables(api, rooms, limits)
    done()
  })
  return app
}
