import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Permissions } from '../../access/permissions.ts'
import type { PlannedRowDelete } from '../../datasources/row-delete/row-delete.types.ts'
import { toRowDeleteJob } from '../../datasources/row-delete/row-delete-job.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { jobAnswer } from '../json/job-answer.ts'
import { withViewNames } from '../json/view-names.ts'
import { warnOfUnknown } from '../json/warnings.ts'
import { readChangeParameters } from '../request/change-parameters.ts'
import { isDryRun } from '../request/dry-run.ts'
import type { Parameters } from '../request/parameters.ts'
import { abortSignal } from '../server/abort-signal.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, inPath } from '../server/authorization.ts'
import { baseUrlOf } from '../server/proxies.ts'
import { onPath } from '../server/route-need.ts'

type Deps = Pick<HttpDeps, 'dataSources' | 'jobs' | 'pipes'>

const knownParameters = ['delete_condition', 'dry_run', 'token'] as const

/** `POST /v0/datasources/<name>/delete`: deletes rows by a condition, as a job; `dry_run` counts them. */
export function addRowDelete(app: FastifyInstance, { dataSources, jobs, pipes }: Deps, limits: FormLimits): void {
  const remove = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const parameters = await readChangeParameters(request, limits)
    const isDry = isDryRun(parameters)
    warnOfUnknown(reply, 'Parameter', parameters.names(), knownParameters)
    // To delete needs no right to read: but how many rows a condition chooses tells of their values.
    const refusal = request.server.access.refusalOf(callerOf(request), 'quarantine:read', inPath(request, 'name'))
    if (isDry && refusal !== null) throw refusal
    const asked = { condition: conditionOf(parameters), isCounted: isDry }
    const planned = await dataSources.planRowDelete(inPath(request, 'name'), asked, abortSignal(reply))
    const caller = callerOf(request)
    const names = {
      ofTarget: (id: string) => dataSources.find(id)?.name,
      ofView: (name: string) => withViewNames(name, () => pipes.list(), caller.permissions),
    }
    const views = viewFields(planned, caller.permissions, names)
    if (isDry) {
      const { dataSource, order, rowCount } = planned
      const { id, name } = dataSource
      const delete_condition = order.condition
      return sendJson(reply, 200, {
        rows_to_be_deleted: rowCount,
        delete_condition,
        datasource: { id, name },
        ...views,
      })
    }
    const owner = { tokenId: caller.makerId, tokenName: caller.tokenName }
    const order = toRowDeleteJob(planned)
    const job = await jobs.add({ ...order, owner, logFields: { ...order.logFields, requestId: request.id } })
    const answer = jobAnswer(job, { caller, baseUrl: baseUrlOf(request) })
    return sendJson(reply, 200, { ...answer, delete_id: job.id, ...views })
  }
  addPath(
    app,
    '/v0/datasources/:name/delete',
    { POST: remove },
    {
      needs: { POST: onPath('datasource:delete-rows', 'name') },
      mayTakeTokenFromBody: true,
    },
  )
}

/** One of two conditions would delete what the other one keeps. @throws PARAMETER_INVALID (400) */
function conditionOf(parameters: Parameters): string | undefined {
  const conditions = parameters.every('delete_condition')
  const [first] = conditions
  const other = conditions.find((one) => one !== first)
  if (other === undefined) return first
  throw errors.PARAMETER_INVALID({ parameter: 'delete_condition', value: other, expected: 'sent once' })
}

interface ViewNames {
  readonly ofTarget: (id: string) => string | undefined
  readonly ofView: (name: string) => string
}

/** The views whose targets keep what they have made of the rows, as far as the caller may know of them. */
function viewFields(
  { views }: PlannedRowDelete,
  permissions: Permissions,
  names: ViewNames,
): Readonly<Record<string, unknown>> {
  const seen = views.filter(({ target }) => permissions.sees('datasource', target))
  if (seen.length === 0) return {}
  return {
    views_not_updated: seen.map(({ name, target }) => {
      return { name: names.ofView(name), datasource: { id: target, name: names.ofTarget(target) ?? target } }
    }),
    warning:
      'A delete does not go on to Materialized Views: what they have made of the rows stays in the Data Sources that they fill',
  }
}
