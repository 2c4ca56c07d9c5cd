import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf } from '../server/authorization.ts'

/** The one workspace that there is has this name. */
const workspaceName = 'default'

/** `/v0/workspace`: whose id stands in tokens. Whoever has a token may ask: the id is in its value. */
export function addWorkspace(app: FastifyInstance, { tokens }: Pick<HttpDeps, 'tokens'>): void {
  const show = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { isAdmin } = callerOf(request).permissions
    const { workspaceId: id } = tokens
    return sendJson(reply, 200, { id, name: workspaceName, ...(isAdmin ? { scope: 'admin' } : {}), main: null })
  }
  const config = { needs: { GET: 'token' } } as const
  addPath(app, '/v0/workspace', { GET: show }, config)
  addPath(app, '/v1/workspace', { GET: show }, config)
}
