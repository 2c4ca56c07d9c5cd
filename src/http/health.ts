import type { FastifyInstance } from 'fastify'
import { errors } from '../shared/errors.ts'
import { sendJson } from './answers.ts'
import { addPath } from './routes.ts'

/** `/health/live`: the process answers. `/health/ready`: it takes work, so not before it is open and not while it closes. */
export function addHealth(app: FastifyInstance, isReady: () => boolean): void {
  addPath(app, '/health/live', {
    GET: async (_request, reply) => sendJson(reply, 200, { status: 'live' }),
    HEAD: async (_request, reply) => reply.code(200).send(),
  })
  addPath(app, '/health/ready', {
    GET: async (_request, reply) => {
      if (!isReady()) throw errors.SHUTTING_DOWN()
      return sendJson(reply, 200, { status: 'ready' })
    },
    HEAD: async (_request, reply) => reply.code(!isReady() ? 503 : 200).send(),
  })
}
