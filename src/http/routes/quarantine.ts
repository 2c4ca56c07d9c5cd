import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ReplayRequest, TypeSuggestion } from '../../datasources/quarantine/quarantine.types.ts'
import { untoldReasons } from '../../shared/errors/definition.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { parseObject, readChangeParameters, scalarsOf } from '../request/change-parameters.ts'
import type { Parameters } from '../request/parameters.ts'
import { abortSignal } from '../server/abort-signal.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, inPath } from '../server/authorization.ts'
import { inTurn } from '../server/pipelining.ts'
import { onPath } from '../server/route-need.ts'

type Deps = Pick<HttpDeps, 'dataSources'>

/** `/v0/datasources/<name>/quarantine`: what stands in it, and its rows on their way in once more. */
export function addQuarantine(app: FastifyInstance, { dataSources }: Deps, limits: FormLimits): void {
  const summarize = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { id, name } = dataSources.get(inPath(request, 'name'))
    const signal = abortSignal(reply)
    const summary = await inTurn(request.raw.socket, () => dataSources.summarizeQuarantine(id, signal))
    const { rowCount, groups, hasMoreGroups, schema } = summary
    return sendJson(reply, 200, {
      datasource: { id, name },
      quarantine_rows: rowCount,
      groups: groups.map(({ rowCount: rows, suggestion, ...group }) => ({
        ...group,
        rows,
        suggestion: suggestion && suggestionShape(suggestion),
      })),
      more_groups: hasMoreGroups,
      suggested_schema: schema,
    })
  }
  const replay = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const parameters = await readChangeParameters(request, limits)
    const { id, name } = dataSources.get(inPath(request, 'name'))
    const asked = readReplayRequest(parameters)
    // To write needs no right to read: but the rows that a condition chooses, and what a fix makes of them, are read.
    const refusal = request.server.access.refusalOf(callerOf(request), 'quarantine:read', inPath(request, 'name'))
    if (refusal !== null && (asked.condition !== undefined || asked.fixes.size > 0)) throw refusal
    const { readsEverything } = callerOf(request).permissions
    const report = await dataSources.replayQuarantine(id, asked, abortSignal(reply))
    return sendJson(reply, 200, {
      datasource: { id, name },
      selected_rows: report.selectedRows,
      replayed_rows: report.replayedRows,
      failed_rows: report.failedRows,
      left_rows: report.leftRows,
      ...(report.leftRows > 0 ? { message: leftMessage(report.leftRows) } : {}),
      ...(report.viewFailure === null ? {} : { view_failure: readsEverything ? report.viewFailure : untoldView }),
      // Samples are values, and a hint is made of them.
      failures: report.failures.map(({ column, reason, rowCount: rows, ...values }) => {
        return { column, reason, ...(refusal === null ? values : { samples: [] }), rows }
      }),
    })
  }
  addPath(
    app,
    '/v0/datasources/:name/quarantine/summary',
    { GET: summarize },
    {
      needs: { GET: onPath('quarantine:read', 'name') },
    },
  )
  addPath(
    app,
    '/v0/datasources/:name/quarantine/replay',
    { POST: replay },
    {
      needs: { POST: onPath('quarantine:replay', 'name') },
      mayTakeTokenFromBody: true,
    },
  )
}

function suggestionShape({ type, isForAll, fix }: TypeSuggestion) {
  return { type, all_values: isForAll, ...(fix === null ? {} : { fix }) }
}

function leftMessage(leftRows: number): string {
  return `${leftRows} of the chosen rows are still in the quarantine, as one replay takes at most 1000000; replay again for the next of them`
}

const untoldView = `A Materialized View did not take the rows; ${untoldReasons['of views']}`

const fixPrefix = 'fixes.'

/** @throws PARAMETER_INVALID, REQUEST_INVALID (400). */
function readReplayRequest(parameters: Parameters): ReplayRequest {
  // Who asks for it must not find the rows moved.
  if (parameters.flag('dry')) {
    const expected = 'absent: a replay has no dry run, and "quarantine/summary" shows the rows'
    throw errors.PARAMETER_INVALID({ parameter: 'dry', value: 'true', expected })
  }
  const fixes = new Map(readFixes(parameters.text('fixes')))
  for (const [name, value] of parameters.entries()) {
    if (name.startsWith(fixPrefix)) fixes.set(name.slice(fixPrefix.length), value)
  }
  return { condition: parameters.text('condition'), fixes }
}

/** Fixes in one parameter, as the JSON object that they are in a JSON body. */
function readFixes(text: string | undefined): readonly (readonly [column: string, expression: string])[] {
  if (text === undefined) return []
  if (text.startsWith('{')) return scalarsOf(parseObject(text))
  const expected = 'a JSON object of columns and expressions'
  throw errors.PARAMETER_INVALID({ parameter: 'fixes', value: text, expected })
}
