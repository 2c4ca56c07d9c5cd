import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readOutputSettings } from '../query/output-settings.ts'
import { errors } from '../shared/errors.ts'
import { abortSignal } from './abort-signal.ts'
import { admit } from './authentication.ts'
import type { HttpOptions, HttpRooms } from './http.types.ts'
import { Parameters } from './parameters.ts'
import { arrivingBodyOf, readWhole } from './request-body.ts'
import { addPath } from './routes.ts'

type Neighbours = Pick<HttpRooms, 'access' | 'query' | 'logger'>
type Limits = Pick<HttpOptions, 'formBytesMax'>

/** `GET` and `POST /v0/sql`: runs one query and streams its answer. */
export function addSql(app: FastifyInstance, { access, query, logger }: Neighbours, { formBytesMax }: Limits): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const parameters = await readQuery(request, formBytesMax)
    admit(request, access, parameters.text('token'))
    const sql = parameters.text('q')
    if (sql === undefined) throw errors.SQL_EMPTY()
    const settings = readOutputSettings((name) => parameters.text(name))
    const { contentType, body } = await query.run({ sql, settings, signal: abortSignal(reply) })
    const stream = Readable.from(body, { objectMode: false })
    // The status is sent already, so a broken connection is all that can tell the client.
    stream.on('error', (err) => logger.warn({ requestId: request.id, err }, 'An answer broke off in its middle.'))
    return reply.code(200).header('content-type', contentType).send(stream)
  }
  addPath(app, '/v0/sql', { GET: answer, POST: answer }, { mayTakeTokenFromBody: true })
}

/**
 * The parameters of a query, wherever they are: in the URL, in a form, in a JSON object, or with the body being the SQL.
 *
 * The body's first characters tell which, as clients send every kind of body under every Content-Type: no SELECT begins
 * with `{` or with a name before `=`.
 */
async function readQuery(request: FastifyRequest, bytesMax: number): Promise<Parameters> {
  const parameters = new Parameters(request.query)
  const body = await readWhole(arrivingBodyOf(request), { headers: request.headers, bytesMax })
  const text = body.toString().trim()
  if (text === '') return parameters
  if (text.startsWith('{')) addJson(parameters, text)
  else if (/^\w+=/.test(text)) for (const [name, value] of new URLSearchParams(text)) parameters.set(name, value)
  else if (parameters.text('q') === undefined) parameters.set('q', text)
  else throw errors.REQUEST_INVALID({ reason: 'there is a query in the parameter "q" and another one in the body' })
  return parameters
}

function addJson(parameters: Parameters, text: string): void {
  for (const [name, value] of Object.entries(parseObject(text))) {
    if (typeof value === 'string') parameters.set(name, value)
    else if (typeof value === 'number' || typeof value === 'boolean') parameters.set(name, String(Number(value)))
  }
}

function parseObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw errors.BODY_CORRUPT({ format: 'JSON', reason, cause })
  }
  throw errors.BODY_CORRUPT({ format: 'JSON', reason: 'it is no object' })
}
