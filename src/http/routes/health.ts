import type { FastifyInstance } from 'fastify'
import type { ApiError } from '../../shared/errors/errors.ts'
import { sendJson } from '../json/answers.ts'
import { addPath, type PathHandlers } from '../server/add-path.ts'

/** `/health/live`: the process answers. `/health/ready`: it takes work; `refusalOf` says why it does not. */
export function addHealth(app: FastifyInstance, refusalOf: () => ApiError | null): void {
  const live: PathHandlers = {
    GET: async (_request, reply) => sendJson(reply, 200, { status: 'live' }),
    HEAD: async (_request, reply) => reply.code(200).send(),
  }
  const ready: PathHandlers = {
    GET: async (_request, reply) => {
      const refusal = refusalOf()
      if (refusal !== null) throw refusal
      return sendJson(reply, 200, { status: 'ready' })
    },
    HEAD: async (_request, reply) => reply.code(refusalOf()?.status ?? 200).send(),
  }
  addPath(app, '/health/live', live, { needs: 'nothing', isFrequent: true })
  addPath(app, '/health/ready', ready, { needs: 'nothing', isFrequent: true })
}
