import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errors } from '../../shared/errors/errors.ts'
import type { HttpDeps } from '../http.types.ts'
import { jsonContentType, sendJson } from '../json/answers.ts'
import { openApiDocument } from '../json/openapi-document.ts'
import { OpenApiTexts } from '../json/openapi-texts.ts'
import { abortSignal } from '../server/abort-signal.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, inPath } from '../server/authorization.ts'
import { baseUrlOf } from '../server/proxies.ts'
import { onPath, onWorkspace } from '../server/route-need.ts'

type Deps = Pick<HttpDeps, 'endpointDescriptions' | 'pipes'>

/** Time in which the engine tells columns for the document of all endpoints; it goes on behind the answer. */
const timeMaxMs = 5_000

/** The description of endpoints as OpenAPI: of all at `/v0/pipes/openapi.json`, of one at `/v0/pipes/<name>/openapi.json`. */
export function addOpenApi(app: FastifyInstance, { endpointDescriptions, pipes }: Deps): void {
  const texts = new OpenApiTexts()
  const describeAll = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const signal = abortSignal(reply)
    const { permissions } = callerOf(request)
    const isShown = ({ id }: { readonly id: string }): boolean => permissions.sees('pipe', id)
    const { readScope } = permissions
    const { endpoints, pendingCount } = await endpointDescriptions.describeAll({
      timeMaxMs,
      isShown,
      readScope,
      signal,
    })
    const pending = pendingCount === 0 ? '' : ` The columns of ${pendingCount} are not known yet: ask again.`
    const text = await texts.documentText(endpoints, {
      title: 'Endpoints',
      description: `All published endpoints that the token may read.${pending}`,
      baseUrl: baseUrlOf(request),
    })
    return reply.code(200).header('content-type', jsonContentType).send(text)
  }
  const describeOne = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const pipe = pipes.get(inPath(request, 'pipe'))
    const endpoint = await endpointDescriptions.describe(pipe, callerOf(request).permissions.readScope)
    if (endpoint === null) throw errors.PIPE_UNPUBLISHED({ name: pipe.name })
    const { name, description } = endpoint
    const document = openApiDocument([endpoint], { title: name, description, baseUrl: baseUrlOf(request) })
    return sendJson(reply, 200, document)
  }
  addPath(app, '/v0/pipes/openapi.json', { GET: describeAll }, { needs: { GET: onWorkspace('pipe:list') } })
  const ofPipe = { needs: { GET: onPath('pipe:describe', 'pipe') } }
  addPath(app, '/v0/pipes/:pipe/openapi.json', { GET: describeOne }, ofPipe)
}
