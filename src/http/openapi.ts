import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pipe } from '../catalog/pipe.types.ts'
import type { EndpointDescription } from '../pipes/endpoint-descriptions.ts'
import { errors } from '../shared/errors.ts'
import { abortSignal } from './abort-signal.ts'
import { sendJson } from './answers.ts'
import { baseUrlOf } from './base-url.ts'
import type { HttpRooms } from './http.types.ts'
import { openApiDocument } from './openapi-document.ts'
import { addPath } from './routes.ts'

type Neighbours = Pick<HttpRooms, 'endpointDescriptions' | 'pipes'>

/** The description of endpoints as OpenAPI: of all at `/v0/pipes/openapi.json`, of one at `/v0/pipes/<name>/openapi.json`. */
export function addOpenApi(app: FastifyInstance, { endpointDescriptions, pipes }: Neighbours): void {
  const describeAll = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const signal = abortSignal(reply)
    const described: EndpointDescription[] = []
    for (const pipe of pipes.list().toSorted(byName)) {
      // Each may be a question to the engine: there are none for a client that has left.
      if (signal.aborted) break
      const endpoint = await endpointDescriptions.describe(pipe)
      if (endpoint !== null) described.push(endpoint)
    }
    const document = openApiDocument(described, {
      title: 'Endpoints',
      description: 'All published endpoints of the workspace.',
      baseUrl: baseUrlOf(request),
    })
    return sendJson(reply, 200, document)
  }
  const describeOne = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    // The route has this parameter, and Fastify gives texts.
    const pipe = pipes.get((request.params as { readonly pipe: string }).pipe)
    const endpoint = await endpointDescriptions.describe(pipe)
    if (endpoint === null) throw errors.PIPE_UNPUBLISHED({ name: pipe.name })
    const { name, description } = endpoint
    const document = openApiDocument([endpoint], { title: name, description, baseUrl: baseUrlOf(request) })
    return sendJson(reply, 200, document)
  }
  addPath(app, '/v0/pipes/openapi.json', { GET: describeAll })
  addPath(app, '/v0/pipes/:pipe/openapi.json', { GET: describeOne })
}

function byName(a: Pipe, b: Pipe): number {
  return a.name < b.name ? -1 : 1
}
