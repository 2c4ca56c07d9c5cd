import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ApiError } from '../../shared/errors/errors.ts'
import { sendJson } from '../json/answers.ts'
import { addPath } from '../server/add-path.ts'

const config = { needs: { GET: 'nothing', HEAD: 'nothing' }, isFrequent: true } as const

/** `/health/live`: the process answers. `/health/ready`: it takes work; `refusalOf` says why it does not. */
export function addHealth(app: FastifyInstance, refusalOf: () => ApiError | null): void {
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
    HEAD: async (_request: FastifyRequest, reply: FastifyReply) => reply.code(refusalOf()?.status ?? 200).send(),
  }
  addPath(app, '/health/live', live, config)
  addPath(app, '/health/ready', ready, config)
}
