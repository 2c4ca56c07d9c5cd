import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpOptions, HttpRooms } from '../http.types.ts'
import { recogniseFormat } from '../import-format.ts'
import { analyzeRows } from '../import-guess.ts'
import { sendJson } from '../json/answers.ts'
import { readImportInput } from '../request/import-input.ts'
import { readCsvRules, readFormat } from '../request/import-order.ts'
import { bodyOf } from '../request/request-body.ts'
import { addPath } from '../server/add-path.ts'
import { onWorkspace } from '../server/route-need.ts'

type Limits = FormLimits & Pick<HttpOptions, 'columnsMax'>
type Neighbours = Pick<HttpRooms, 'dataSources' | 'ingest' | 'now'>

/** `/v0/analyze`: the columns that the beginning of a file asks for, and its first rows. Nothing is stored. */
export function addAnalyze(app: FastifyInstance, rooms: Neighbours, limits: Limits): void {
  addPath(
    app,
    '/v0/analyze',
    {
      POST: async (request, reply) => {
        try {
          return sendJson(reply, 200, await analyze(request, rooms, { ...limits, signal: untilLeft(reply) }))
        } finally {
          // Only the beginning is read, and the rest must not hold the connection.
          bodyOf(request)?.destroy()
        }
      },
    },
    { needs: { POST: onWorkspace('datasource:analyze') }, mayTakeTokenFromBody: true },
  )
}

/** Whoever left waits for nothing any more. */
function untilLeft({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  raw.once('close', () => controller.abort(errors.CLIENT_LEFT()))
  return controller.signal
}

async function analyze(
  request: FastifyRequest,
  rooms: Neighbours,
  { signal, ...limits }: Limits & { readonly signal: AbortSignal },
): Promise<object> {
  const { parameters, rows } = await readImportInput(request, limits)
  if (rows === null) throw errors.SAMPLE_MISSING()
  const format = parameters.text('format')
  const order = { format: format === undefined ? null : readFormat(format), csv: readCsvRules(parameters) }
  const hasTypes = parameters.text('type_guessing') === undefined || parameters.flag('type_guessing')
  const startMs = rooms.now()
  const known = await recogniseFormat(rows, order)
  const { guess, byteCount } = await analyzeRows(
    { ...known, signal },
    { csv: order.csv, hasTypes, columnsMax: limits.columnsMax },
    rooms.ingest,
  )
  const { columns, schema, preview, rowCount } = guess
  // What could not be created would be no recommendation.
  rooms.dataSources.checkSchema(schema)
  return {
    analysis: {
      columns: columns.map(({ path, typeText, presentShare, name }) => ({
        path,
        recommended_type: typeText,
        present_pct: presentShare,
        name,
      })),
      schema,
    },
    preview: {
      meta: columns.map(({ name, typeText }) => ({ name, type: typeText })),
      data: preview,
      rows: preview.length,
      statistics: {
        elapsed: (rooms.now() - startMs) / 1000,
        rows_read: rowCount,
        bytes_read: byteCount,
      },
    },
  }
}
