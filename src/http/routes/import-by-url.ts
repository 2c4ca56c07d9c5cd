/** A `POST /v0/datasources` with `url`: the service fetches the files itself, as a job. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ImportSource } from '../../imports/imports.types.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import type { HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { dryRunShape } from '../json/dry-run.ts'
import { jobAnswer } from '../json/job-answer.ts'
import { receiptHeader } from '../request/awaited-receipts.ts'
import type { SentOrder } from '../request/import-order.ts'
import { abortSignal } from '../server/abort-signal.ts'
import { callerOf, requireAccess, requireFound } from '../server/authorization.ts'
import { baseUrlOf } from '../server/proxies.ts'

interface UrlExchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly order: SentOrder
  /** What the request brings itself. */
  readonly rows: ImportSource | null
}

/** Starts the job and answers with it; a dry run is answered with what would be created for the first file. */
export async function importByUrl(
  { request, reply, order: sent, rows }: UrlExchange,
  { receipts, urlImports }: Pick<HttpDeps, 'receipts' | 'urlImports'>,
): Promise<FastifyReply> {
  if (rows !== null && !(await isEmpty(rows))) {
    throw errors.REQUEST_INVALID({ reason: 'there are rows beside the parameter "url"; send one of them' })
  }
  const { urls, isDry, hasProgress: _, connectorSettings: __, debug: ___, ...order } = sent
  const [first = ''] = urls
  if (isDry) return sendJson(reply, 200, dryRunShape(await urlImports.analyze(first, order, abortSignal(reply))))
  const caller = callerOf(request)
  const job = await urlImports.add({
    urls,
    order,
    requireTarget: (id) => requireFound(request, `datasource:${order.mode}`, id),
    mayCreate: mayCreate(request, order.name ?? null),
    owner: { tokenId: caller.makerId, tokenName: caller.tokenName },
    logFields: { requestId: request.id },
  })
  reply.header(receiptHeader, receipts.textOfJob(job))
  return sendJson(reply, 200, { ...jobAnswer(job, { caller, baseUrl: baseUrlOf(request) }), import_id: job.id })
}

/** Whether a body without a length, or a file of a form, has nothing in it. */
async function isEmpty({ body }: ImportSource): Promise<boolean> {
  const { bytes, isWhole } = await body.beginning(1)
  return isWhole && bytes.length === 0
}

/** Asked for now, as the token may be gone when the job runs. */
function mayCreate(request: FastifyRequest, name: string | null): boolean {
  try {
    requireAccess(request, 'datasource:create', name)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return false
    throw error
  }
}
