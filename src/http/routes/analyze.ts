import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { readImportInput } from '../request/import-input.ts'
import { readCsvRules, readFormat, readHasTypes } from '../request/import-order.ts'
import { bodyOf } from '../request/request-body.ts'
import { leftSignal } from '../server/abort-signal.ts'
import { addPath } from '../server/add-path.ts'
import { onWorkspace } from '../server/route-need.ts'

type Deps = Pick<HttpDeps, 'imports' | 'now'>

/** `/v0/analyze`: the columns that the beginning of a file asks for, and its first rows. Nothing is stored. */
export function addAnalyze(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  addPath(
    app,
    '/v0/analyze',
    {
      POST: async (request, reply) => {
        try {
          return sendJson(reply, 200, await analyze(request, deps, { limits, signal: leftSignal(reply) }))
        } finally {
          // Only the beginning is read, and the rest must not hold the connection.
          bodyOf(request)?.destroy()
        }
      },
    },
    { needs: { POST: onWorkspace('datasource:analyze') }, mayTakeTokenFromBody: true },
  )
}

async function analyze(
  request: FastifyRequest,
  { imports, now }: Deps,
  { limits, signal }: { readonly limits: FormLimits; readonly signal: AbortSignal },
): Promise<object> {
  const { parameters, rows } = await readImportInput(request, limits)
  if (rows === null) throw errors.SAMPLE_MISSING()
  const format = parameters.text('format')
  const order = {
    format: format === undefined ? null : readFormat(format),
    csv: readCsvRules(parameters),
    hasTypes: readHasTypes(parameters),
    schema: undefined,
  }
  const startMs = now()
  const { guess, byteCount } = await imports.analyze({ ...order, source: rows, unknownFormat: 'guessed', signal })
  const { columns, schema, preview, rowCount } = guess
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
        elapsed: (now() - startMs) / 1000,
        rows_read: rowCount,
        bytes_read: byteCount,
      },
    },
  }
}
