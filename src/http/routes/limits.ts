import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { rowDeleteJobKind } from '../../datasources/row-delete/row-delete-job.ts'
import { storageBytes } from '../../datasources/storage-bytes.ts'
import type { LimitName } from '../../shared/limit-names.ts'
import type { HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { clusterShape } from '../json/cluster-shape.ts'
import { limitsShape } from '../json/limits-shape.ts'
import { addPath } from '../server/add-path.ts'
import { onWorkspace } from '../server/route-need.ts'

type Counted = Pick<HttpDeps, 'dataSources' | 'jobs' | 'pipes' | 'tokens' | 'variables'>
type Deps = Counted & Pick<HttpDeps, 'clusterControl' | 'limitBook'>

/** `GET /v0/limits`: the plan, and how much of each limit is used. */
export function addLimits(app: FastifyInstance, deps: Deps): void {
  const { clusterControl, limitBook } = deps
  const show = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    sendJson(reply, 200, {
      ...limitsShape(limitBook, limitBook.uses(await limitCounts(deps))),
      cluster_control: clusterShape(clusterControl.state()),
    })
  addPath(app, '/v0/limits', { GET: show }, { needs: { GET: onWorkspace('limits:read') } })
}

/** What is there of that which the rates do not count. */
export async function limitCounts({
  dataSources,
  jobs,
  pipes,
  tokens,
  variables,
}: Counted): Promise<ReadonlyMap<LimitName, number>> {
  const active = jobs.list({ statuses: ['waiting', 'working', 'cancelling'] })
  const waitingByKind = new Map<string, number>()
  for (const { kind, status } of active) {
    if (status === 'waiting') waitingByKind.set(kind, (waitingByKind.get(kind) ?? 0) + 1)
  }
  const views = pipes.list().flatMap(({ nodes }) => nodes.filter(({ view }) => view !== undefined))
  return new Map<LimitName, number>([
    ['data_sources', dataSources.list().length],
    ['tokens', tokens.list().length],
    ['secrets', variables.list().length],
    ['materialized_views', views.length],
    ['storage', await storageBytes(dataSources)],
    ['creates_by_events', dataSources.createdByEvents()],
    ['delete_jobs', active.filter(({ kind }) => kind === rowDeleteJobKind).length],
    ['jobs_waiting', Math.max(0, ...waitingByKind.values())],
  ])
}
