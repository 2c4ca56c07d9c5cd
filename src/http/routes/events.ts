import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { EventsSample } from '../../datasources/datasources.types.ts'
import type { NewColumns } from '../../datasources/new-columns.ts'
import { refuseJoins } from '../../datasources/refuse-joins.ts'
import { rowMistake } from '../../guess/row-mistake.ts'
import type { EventsOutcome, EventsRequest } from '../../ingest/ingest.types.ts'
import { beginningOf } from '../../shared/beginning-of.ts'
import { errors } from '../../shared/errors/errors.ts'
import { nearestName } from '../../shared/nearest-name.ts'
import type { FormLimits, HttpDeps, HttpOptions } from '../http.types.ts'
import { behindFields } from '../json/views-behind.ts'
import { quarantineText, warn, warnOfUnknown } from '../json/warnings.ts'
import { receiptHeader } from '../request/awaited-receipts.ts'
import { parseContentEncoding, unpackAtOnce, unpackBody } from '../request/content-encoding.ts'
import { Parameters } from '../request/parameters.ts'
import { announcesBody, arrivingBodyOf, readWhole } from '../request/request-body.ts'
import { addPath } from '../server/add-path.ts'
import { judgeTokenAgain, requireAccess, requireFound } from '../server/authorization.ts'
import { countRequest } from '../server/count-request.ts'
import { onQuery } from '../server/route-need.ts'

type Deps = Pick<
  HttpDeps,
  'behind' | 'dataSources' | 'ingest' | 'logger' | 'pendingReplaces' | 'rates' | 'receipts' | 'storageLimit'
> & {
  readonly newColumns: NewColumns
}
type Limits = Pick<HttpOptions, 'eventsBodyBytesMax'> & Pick<FormLimits, 'bodies'>

const nothing: EventsOutcome = { successfulRows: 0, quarantinedRows: 0, isStored: true, place: 0 }

/**
 * `POST /v0/events`: JSON events of any content type, plain or packed, taken as a whole or not at all.
 *
 * 202 says that they are on disk, 200 that the database has them.
 */
export function addEvents(app: FastifyInstance, deps: Deps, limits: Limits): void {
  const { behind, dataSources, ingest, logger, newColumns, pendingReplaces, rates, receipts, storageLimit } = deps
  /** A misspelt name makes a new data source, as the specification has it; its sender is told. */
  const create = async (reply: FastifyReply, sample: EventsSample): Promise<DataSource> => {
    const { name } = sample
    requireAccess(reply.request, 'datasource:create', name)
    const others = dataSources.list().map((other) => other.name)
    const created = await dataSources.createFromEvents(sample)
    reply.header('x-datasource-created', created.name)
    const fields = { requestId: reply.request.id, dataSource: name, nearest: nearestName(name, others) }
    logger.warn(fields, 'Events created a data source that did not exist.')
    return created
  }
  const append = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const parameters = new Parameters(request.query)
    warnOfUnknown(reply, 'Parameter', parameters.names(), eventsParameters)
    const name = parameters.requiredName()
    const isWaiting = parameters.flag('wait')
    const framing = parameters.choice('format', ['json', 'ndjson']) === 'json' ? 'document' : 'lines'
    const idempotencyKey = readIdempotencyKey(request)
    // Some clients send an empty body to learn whether the service is there.
    if (!announcesBody(request.headers)) return answer(reply, 200, nothing)
    countRequest(reply, rates.events)
    const known = dataSources.findForEvents(name)
    const refusal = known === undefined ? undefined : refuseJoins(known, dataSources)
    // Most often there is nothing to wait for, and a turn of the event loop is dear here.
    if (refusal !== undefined) await refusal
    const judged = storageLimit?.refusal() ?? null
    const full = judged instanceof Promise ? await judged : judged
    // Those of a data source that is there may be a repeat of some that were taken.
    if (full !== null && known === undefined) throw full
    const { body, packed } = await readEvents(request, limits)
    if (body.length === 0) return answer(reply, 200, nothing)
    const isOther = judgeTokenAgain(request)
    if (isOther && known !== undefined) requireFound(request, 'datasource:append', known.id)
    const dataSource = known ?? (await create(reply, { name, body, framing }))
    const events = { dataSource, body, packed, framing, isWaiting, idempotencyKey, refusal: full } as const
    const { trace } = request
    const startMs = trace === null ? 0 : reply.elapsedTime
    const outcome = await ingest.appendEvents(events)
    trace?.inner.push({ name: 'events.append', startMs, durationMs: reply.elapsedTime - startMs })
    newColumns.look(events)
    reply.header(receiptHeader, receipts.textOf(dataSource.id, outcome.place))
    if (outcome.quarantinedRows > 0) warnOfQuarantine(reply, events, outcome)
    warn(reply, pendingReplaces.note(dataSource, outcome.successfulRows, 'events'))
    // Who did not ask to wait expects exactly 202. Who did gets it when the database takes too long: the events are safe.
    if (!isWaiting || !outcome.isStored) return answer(reply, 202, outcome)
    return answer(reply, 200, outcome, behindFields(behind.of(dataSource.id), request.caller?.permissions))
  }
  addPath(
    app,
    '/v0/events',
    { POST: append },
    {
      needs: { POST: onQuery('datasource:append', 'name', ['datasource:create']) },
      isFrequent: true,
      bodyLimit: 'events_request_size',
      isSentToAWorkspace: true,
    },
  )
}

/** `mode` and the rest are what clients send for the like of other paths. */
const eventsParameters = ['name', 'wait', 'format', 'token', 'mode', 'from', 'cli_version', 'tags']

const idempotencyKeyCharsMax = 255

function readIdempotencyKey({ headers }: FastifyRequest): string | null {
  const value = headers['idempotency-key']
  const key = Array.isArray(value) ? value.at(-1) : value
  if (key === undefined || key === '') return null
  if (key.length <= idempotencyKeyCharsMax) return key
  const expected = `at most ${idempotencyKeyCharsMax} characters`
  throw errors.PARAMETER_INVALID({ parameter: 'Idempotency-Key', value: beginningOf(key, 100), expected })
}

/** Answers count, and clients know their fields exactly: a header says where the reasons are, and what is plainly wrong. */
function warnOfQuarantine(
  reply: FastifyReply,
  { dataSource, body, framing }: Pick<EventsRequest, 'dataSource' | 'body' | 'framing'>,
  { successfulRows, quarantinedRows }: EventsOutcome,
): void {
  const mistake = successfulRows > 0 ? undefined : rowMistake(body, framing === 'document' ? framing : 'events')
  warn(reply, [quarantineText(quarantinedRows, dataSource.name, mistake)])
}

async function readEvents(request: FastifyRequest, { eventsBodyBytesMax: bytesMax, bodies }: Limits) {
  const { headers } = request
  const encoding = parseContentEncoding(headers['content-encoding'])
  const hold = bodies.holdUntilRead(request)
  const onBytes = (byteCount: number): void => hold.take(byteCount)
  hold.admit()
  let unpackedBytes = 0
  try {
    const bytes = await readWhole(arrivingBodyOf(request), { headers, bytesMax, onBytes })
    const packed = { bytes, encoding }
    if (encoding === 'identity') return { body: bytes, packed }
    const unpacked = unpackAtOnce(bytes, encoding, bytesMax)
    const body = unpacked ?? (await bodies.unpack(hold, () => unpackBody(bytes, encoding, bytesMax)))
    unpackedBytes = body.length
    return { body, packed }
  } finally {
    hold.handOver(unpackedBytes)
  }
}

function answer(
  reply: FastifyReply,
  status: number,
  { successfulRows, quarantinedRows }: EventsOutcome,
  more: ReturnType<typeof behindFields> = {},
) {
  const rest = more.views_behind === undefined ? '' : `,"views_behind":${JSON.stringify(more.views_behind)}`
  const counts = `{"successful_rows":${successfulRows},"quarantined_rows":${quarantinedRows}${rest}}`
  // One client parses the text itself, and only when the type does not have the spelling of all other answers. Fastify
  // adds a charset to the JSON type of a text, unless there is a serializer.
  return reply.code(status).header('content-type', 'application/json').serializer(asIs).send(counts)
}

const asIs = (text: string): string => text
