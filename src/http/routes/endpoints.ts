import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ClusterControl, ControlledPipe } from '../../cluster/cluster-control.types.ts'
import { type EndpointFormat, endpointFormats, formatOfName } from '../../query/answer-formats.ts'
import type { PipeRequest } from '../../query/query.types.ts'
import { ApiError } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { warnOfUnknown } from '../json/warnings.ts'
import { awaitedBy } from '../request/awaited-receipts.ts'
import { readQuestion } from '../request/question.ts'
import { hasSmallBody } from '../request/request-hold.ts'
import { abortSignal } from '../server/abort-signal.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, readScopeOf, requireSameReads } from '../server/authorization.ts'
import { countRequest } from '../server/count-request.ts'
import { inTurn } from '../server/pipelining.ts'
import { noteAsked } from '../server/request-records.ts'
import { onPath } from '../server/route-need.ts'
import { sendAnswer } from '../server/send-answer.ts'

type Deps = Pick<HttpDeps, 'query' | 'clusterControl' | 'logger' | 'pipes' | 'rates' | 'receipts'>

/**
 * The data of pipes, `/v0/pipes/<name>.<format>` and the older `/v0/pipe/<name>/data.<format>`, and what the engine does
 * for it, `/v0/pipes/<name>/explain` and `/v0/pipes/<name>/nodes/<node>/explain`.
 */
export function addEndpoints(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const { query, clusterControl, logger, pipes, rates, receipts } = deps
  const answerAs =
    (format: EndpointFormat) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const pipe = parameterOf(request, 'pipe')
      noteAsked(request, pipes.find(pipe))
      countRequest(reply, rates.queries)
      const signal = abortSignal(reply)
      const question = await readQuestion(request, limits)
      // To be asked for when its turn has come: what the caller may read may be something else by then.
      const asked = (): PipeRequest => {
        const readScope = readScopeOf(request)
        const waiter = { ownerId: callerOf(request).makerId, signal }
        const onWaited = (): void => requireSameReads(request, readScope)
        return {
          pipe,
          sql: question.sql ?? null,
          format: formatOfName(format),
          parameters: question.parameters,
          settings: question.settings,
          readScope,
          admit: (pipe: ControlledPipe) => takeIn(clusterControl, pipe, reply),
          untilFresh: awaitedBy(request, question, { receipts, onWaited, ...waiter }),
          signal,
        }
      }
      const answered = await inTurn(request.raw.socket, async () => await query.readPipe(asked())).catch(
        async (failure: unknown) => {
          // A large body would take room from others meanwhile.
          if (hasSmallBody(request.headers)) await clusterControl.untilTold(failure, signal)
          throw failure
        },
      )
      const { unusedParameters: unused = [], parameterNames: known = [] } = answered
      const unknown = unused.filter((name) => !ownParameters.test(name))
      if (unknown.length > 0) warnOfUnknown(reply, 'Parameter', unknown, known)
      return sendAnswer({ request, reply, logger }, answered)
    }
  for (const format of endpointFormats) {
    const answer = answerAs(format)
    const need = onPath('pipe:read', 'pipe')
    const config = { needs: { GET: need, POST: need }, mayTakeTokenFromBody: true, isFrequent: true, isEndpoint: true }
    // Ids may carry a label, so a dot may stand in them; the last one is that of the format.
    addPath(app, `/v0/pipes/:pipe(^.+(?=[.]${format}$)).${format}`, { GET: answer, POST: answer }, config)
    addPath(app, `/v0/pipe/:pipe/data.${format}`, { GET: answer, POST: answer }, config)
  }
  addExplain(app, deps, limits)
}

/** @throws ENDPOINT_LIMITED (429). */
function takeIn(control: Pick<ClusterControl, 'take'>, pipe: ControlledPipe, reply: FastifyReply) {
  const taken = control.take(pipe)
  if (taken === null) return undefined
  if (taken instanceof ApiError) throw taken
  const { raw } = reply
  // Its client may have left before its turn came, and nothing would tell so again.
  if (raw.destroyed) taken.leave(null)
  else raw.once('close', () => taken.leave(raw.writableEnded ? raw.statusCode : null))
  return taken
}

function addExplain(app: FastifyInstance, { query }: Deps, limits: FormLimits): void {
  const explain = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const signal = abortSignal(reply)
    const question = await readQuestion(request, { ...limits, formBytesMax: 0 })
    const asked = {
      pipe: parameterOf(request, 'pipe'),
      node: parameterOf(request, 'node') || (question.text('node_name') ?? null),
      parameters: question.parameters,
      readScope: readScopeOf(request),
      signal,
    }
    const { debugQuery, queryExplain } = await inTurn(request.raw.socket, () => query.explain(asked))
    return sendJson(reply, 200, { debug_query: debugQuery, query_explain: queryExplain })
  }
  const config = { needs: { GET: onPath('pipe:explain', 'pipe') } }
  addPath(app, '/v0/pipes/:pipe/explain', { GET: explain }, config)
  addPath(app, '/v0/pipes/:pipe/nodes/:node/explain', { GET: explain }, config)
}

/** What is no parameter of a template: those of the service, of older ones, and by which clients name themselves. */
const ownParameters =
  /^(?:from|cli_version|explain|debug|playground|pipeline|query_id|tag|format|finalize_aggregations|release_replacements|output_format_\w+|template_parameters|debug_source_tables)$/

/** A part of the path; empty where the route has none of this name. */
function parameterOf(request: FastifyRequest, name: string): string {
  // Fastify's router gives a text for each parameter of the route.
  return (request.params as Readonly<Record<string, string>>)[name] ?? ''
}
