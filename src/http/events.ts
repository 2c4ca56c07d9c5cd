import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { EventsOutcome } from '../ingest/ingest.types.ts'
import { parseContentEncoding, unpackBody } from './content-encoding.ts'
import type { HttpOptions, HttpRooms } from './http.types.ts'
import { Parameters } from './parameters.ts'
import { announcesBody, bodyOf, readWhole } from './request-body.ts'
import { addPath } from './routes.ts'

type Neighbours = Pick<HttpRooms, 'dataSources' | 'ingest'>
type Limits = Pick<HttpOptions, 'eventsBodyBytesMax'>

const nothing: EventsOutcome = { successfulRows: 0, quarantinedRows: 0 }

/** `POST /v0/events`: JSON events of any content type, plain or packed, stored as a whole or not at all. */
export function addEvents(app: FastifyInstance, { dataSources, ingest }: Neighbours, limits: Limits): void {
  addPath(app, '/v0/events', {
    POST: async (request, reply) => {
      const parameters = new Parameters(request.query)
      const name = parameters.requiredName()
      const isWaiting = parameters.flag('wait')
      const framing = parameters.choice('format', ['json', 'ndjson']) === 'json' ? 'document' : 'lines'
      // Some clients send an empty body to learn whether the service is there.
      if (!announcesBody(request.headers)) return answer(reply, 200, nothing)
      const dataSource = dataSources.get(name)
      const body = await readEvents(request, limits.eventsBodyBytesMax)
      if (body.length === 0) return answer(reply, 200, nothing)
      const outcome = await ingest.appendEvents({ dataSource, body, framing })
      // Both answers come after the rows are stored; a client that did not ask to wait expects exactly 202.
      return answer(reply, isWaiting ? 200 : 202, outcome)
    },
  })
}

async function readEvents(request: FastifyRequest, bytesMax: number): Promise<Uint8Array> {
  const encoding = parseContentEncoding(request.headers['content-encoding'])
  const body = await readWhole(bodyOf(request), { headers: request.headers, bytesMax })
  return await unpackBody(body, encoding, bytesMax)
}

function answer(reply: FastifyReply, status: number, { successfulRows, quarantinedRows }: EventsOutcome) {
  const counts = JSON.stringify({ successful_rows: successfulRows, quarantined_rows: quarantinedRows })
  // One client parses the text itself, and only when the type does not have the spelling of all other answers. Fastify
  // adds a charset to the JSON type of a text, but not to that of bytes.
  return reply.code(status).header('content-type', 'application/json').send(Buffer.from(counts))
}
