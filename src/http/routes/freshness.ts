import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { DataSourceId } from '../../catalog/data-source.types.ts'
import type { EventsFreshness } from '../../ingest/events/events.types.ts'
import type { BehindView } from '../../materialize/behind/behind.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { timeText } from '../json/time-text.ts'
import { withViewNames } from '../json/view-names.ts'
import { behindShape } from '../json/views-behind.ts'
import { receiptHeader, receiptTexts } from '../request/awaited-receipts.ts'
import { Parameters } from '../request/parameters.ts'
import { abortSignal } from '../server/abort-signal.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, inPath } from '../server/authorization.ts'
import { onPath } from '../server/route-need.ts'

type Deps = Pick<HttpDeps, 'behind' | 'dataSources' | 'imports' | 'ingest' | 'jobs' | 'now' | 'pipes' | 'receipts'>

/** `GET /v0/datasources/<name>/freshness`: how far queries see what was acknowledged; with a receipt, once they see all rows of it. */
export function addFreshness(app: FastifyInstance, deps: Deps): void {
  const { behind, dataSources, ingest, now, pipes } = deps
  const show = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { id, name } = dataSources.get(inPath(request, 'name'))
    await untilReached(request, reply, { id, deps })
    const { permissions } = callerOf(request)
    const named = (text: string): string => withViewNames(text, () => pipes.list(), permissions)
    const shapes = (views: readonly BehindView[]) => views.map((one) => behindShape(one, permissions, named))
    const { waitingRows = 0, waitingBytes = 0 } = ingest.eventsStatus(id) ?? {}
    const { acknowledgedAtMs, queryableAtMs, waitingSinceMs, importCount } = freshnessOf(id, deps)
    return sendJson(reply, 200, {
      datasource: { id, name },
      newest_acknowledged_at: textOrNull(acknowledgedAtMs),
      newest_queryable_at: textOrNull(queryableAtMs),
      lag_ms: waitingSinceMs === null ? 0 : Math.max(0, now() - waitingSinceMs),
      backlog: {
        ...{ rows: waitingRows, bytes: waitingBytes, imports: importCount },
        oldest_acknowledged_at: textOrNull(waitingSinceMs),
      },
      views_behind: shapes(behind.of(id)),
      lacks_rows_of: shapes(behind.into(id)),
    })
  }
  addPath(
    app,
    '/v0/datasources/:name/freshness',
    { GET: show },
    { needs: { GET: onPath('datasource:freshness', 'name') } },
  )
}

const noEvents: EventsFreshness = { acknowledgedAtMs: null, queryableAtMs: null, waitingSinceMs: null }

interface Freshness extends EventsFreshness {
  /** Imports by URL that were taken and have not ended. */
  readonly importCount: number
}

/** Of events and imports together. An import in one request is acknowledged at its end; one by URL when its job is taken. */
function freshnessOf(
  id: DataSourceId,
  { imports, ingest, jobs }: Pick<Deps, 'imports' | 'ingest' | 'jobs'>,
): Freshness {
  const events = ingest.eventsFreshness(id) ?? noEvents
  const endedAtMs = imports.lastEndedAtMs(id)
  const taken = jobs.list({ kinds: ['import'], statuses: ['waiting', 'working', 'cancelling'], subjectId: id })
  const takenAtMs = taken.map(({ createdAtMs }) => createdAtMs)
  return {
    acknowledgedAtMs: latestOf([events.acknowledgedAtMs, endedAtMs, ...takenAtMs]),
    queryableAtMs: latestOf([events.queryableAtMs, endedAtMs]),
    waitingSinceMs: earliestOf([events.waitingSinceMs, ...takenAtMs]),
    importCount: taken.length,
  }
}

function latestOf(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? null : Math.max(...known)
}

function earliestOf(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? null : Math.min(...known)
}

function textOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : timeText(timeMs)
}

interface Awaited {
  readonly id: string
  readonly deps: Pick<Deps, 'receipts'>
}

/** @throws RECEIPT_INVALID (400), RECEIPT_NOT_REACHED (408), RECEIPT_WAITS_TOO_MANY (503). */
async function untilReached(request: FastifyRequest, reply: FastifyReply, { id, deps: { receipts } }: Awaited) {
  const texts = receiptTexts(request.headers[receiptHeader], new Parameters(request.query).every('wait_until'))
  if (texts.length === 0) return
  const read = receipts.read(texts)
  if (read.some(({ dataSourceId }) => dataSourceId !== id)) {
    throw errors.RECEIPT_INVALID({ reason: 'it is of another Data Source' })
  }
  await receipts.untilQueryable(read, [id], { ownerId: callerOf(request).makerId, signal: abortSignal(reply) })
}
