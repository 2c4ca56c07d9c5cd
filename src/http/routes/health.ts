import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServiceState } from '../../metrics/service-state.types.ts'
import type { ApiError } from '../../shared/errors/errors.ts'
import { noteAnswered, sendJson } from '../json/answers.ts'
import { type StatusParts, statusShape, statusText } from '../json/status-page.ts'
import { addPath } from '../server/add-path.ts'
import { mayDo } from '../server/authorization.ts'

const config = { needs: { GET: 'nothing', HEAD: 'nothing' }, isFrequent: true } as const

export interface HealthDeps {
  /** Why no work is taken; null while it is. */
  readonly refusalOf: () => ApiError | null
  readonly state: () => ServiceState
  readonly dataSourceName: (id: string) => string | undefined
  /** Whether an address may watch the service without a token. */
  readonly isNamed: (request: FastifyRequest) => boolean
  readonly now: () => number
}

/**
 * `/health/live`: the process answers. `/health/ready`: it takes work, or says why it does not. `/health/status`: the same as a page of
 * words and numbers; with names only for those who may read the metrics.
 */
export function addHealth(app: FastifyInstance, deps: HealthDeps): void {
  const { refusalOf } = deps
  const live = {
    GET: async (_request: FastifyRequest, reply: FastifyReply) => sendJson(reply, 200, { status: 'live' }),
    HEAD: async (_request: FastifyRequest, reply: FastifyReply) => reply.code(200).send(),
  }
  const ready = {
    GET: async (_request: FastifyRequest, reply: FastifyReply) => {
      const refusal = refusalOf()
      if (refusal !== null) throw refusal
      return sendJson(reply, 200, { status: 'ready' })
    },
    HEAD: stateHead(deps),
  }
  addPath(app, '/health/live', live, config)
  addPath(app, '/health/ready', ready, config)
  addStatus(app, deps)
}

function addStatus(app: FastifyInstance, { refusalOf, state, dataSourceName, isNamed, now }: HealthDeps): void {
  const startedAtMs = now()
  const status = {
    GET: async (request: FastifyRequest, reply: FastifyReply) => {
      const refusal = refusalOf()
      const nameOf = isNamed(request) || mayDo(request, 'metrics:read') ? dataSourceName : null
      const parts: StatusParts = { refusal, state: state(), startedAtMs, nowMs: now(), nameOf }
      const code = statusOf(refusal, reply)
      if (/\bapplication\/json\b/i.test(request.headers.accept ?? '')) return sendJson(reply, code, statusShape(parts))
      return reply.code(code).header('content-type', 'text/plain; charset=utf-8').send(statusText(parts))
    },
    HEAD: stateHead({ refusalOf }),
  }
  addPath(app, '/health/status', status, config)
}

function stateHead({ refusalOf }: Pick<HealthDeps, 'refusalOf'>) {
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    return reply.code(statusOf(refusalOf(), reply)).send()
  }
}

/** That of an answer without the body of an error. */
function statusOf(refusal: ApiError | null, reply: FastifyReply): number {
  if (refusal === null) return 200
  noteAnswered(reply, refusal)
  return refusal.status
}
