import Fastify, { type FastifyInstance } from 'fastify'
import { addAnalyze } from './http/analyze.ts'
import { addAuthentication } from './http/authentication.ts'
import { addClosing } from './http/closing.ts'
import { createConnections, deferContinue } from './http/connections.ts'
import { addCrossOrigin } from './http/cross-origin.ts'
import { addDataSource } from './http/datasource.ts'
import { addDataSources } from './http/datasources.ts'
import { addEndpoints } from './http/endpoints.ts'
import { addErrorAnswers, answerFrameworkError } from './http/error-answers.ts'
import { addEvents } from './http/events.ts'
import { addHealth } from './http/health.ts'
import type { HttpOptions, HttpRooms } from './http/http.types.ts'
import { addOpenApi } from './http/openapi.ts'
import { addPipe } from './http/pipe.ts'
import { addPipes } from './http/pipes.ts'
import { addQuarantine } from './http/quarantine.ts'
import { addRequestLog } from './http/request-log.ts'
import { addSql } from './http/sql.ts'
import { addVariables } from './http/variables.ts'
import { errors } from './shared/errors.ts'
import { createRequestId } from './shared/ids.ts'

// Clients put whole queries into the URL.
const headerBytesMax = 64 * 1024

/** The HTTP service over open rooms. It does not listen, so that tests can inject requests. */
export function createApp(rooms: HttpRooms, options: HttpOptions): FastifyInstance {
  const { logger, now } = rooms
  const connections = createConnections({ connectionIdleMsMax: options.connectionIdleMsMax, now })
  const app = Fastify({
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: headerBytesMax },
    http: { maxHeaderSize: headerBytesMax, requestTimeout: options.requestTimeoutMs },
    requestTimeout: options.requestTimeoutMs,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    genReqId: () => createRequestId(now()),
    clientErrorHandler: connections.onClientError,
    frameworkErrors: answerFrameworkError,
  })
  deferContinue(app)
  addRequestLog(app, logger)
  addCrossOrigin(app)
  connections.addTo(app)
  addErrorAnswers(app, logger)
  const isClosing = addClosing(app)
  addHealth(app, () => rooms.isReady() && !isClosing())
  app.register((api, _options, done) => {
    api.decorateRequest('caller', null)
    // A connection that is kept alive can bring requests after the close began; their work would find closed rooms.
    api.addHook('onRequest', (_request, _reply, done) => {
      if (isClosing()) throw errors.SHUTTING_DOWN()
      done()
    })
    addAuthentication(api, rooms.access)
    addEvents(api, rooms, options)
    addDataSources(api, rooms, options)
    addDataSource(api, rooms, options)
    addQuarantine(api, rooms, options)
    addAnalyze(api, rooms, options)
    addPipes(api, rooms, options)
    addPipe(api, rooms, options)
    addOpenApi(api, rooms)
    addSql(api, rooms, options)
    addEndpoints(api, rooms, options)
    addVariables(api, rooms, options)
    done()
  })
  return app
}
