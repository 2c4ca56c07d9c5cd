import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { withViewNames } from '../json/view-names.ts'
import { behindShape } from '../json/views-behind.ts'
import { readPipeInput } from '../request/pipe-input.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, nodeInPath, requireAccess } from '../server/authorization.ts'
import { onPath } from '../server/route-need.ts'
import { targetOperations } from './target-operations.ts'

type Deps = Pick<HttpDeps, 'behind' | 'dataSources' | 'pipes'>

const need = onPath('pipe:materialize', 'pipe', { also: targetOperations })

/** `POST /v0/pipes/<pipe>/nodes/<node>/catch_up`: has a view that is behind take what it lacks, at once. */
export function addCatchUp(app: FastifyInstance, { behind, dataSources, pipes }: Deps, limits: FormLimits): void {
  const catchUp = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    await readPipeInput(request, limits)
    const names = nodeInPath(request)
    const pipe = pipes.get(names.pipe)
    const node = pipes.getNode(pipe, names.node)
    const { view } = node
    if (view === undefined) throw errors.VIEW_MISSING({ pipe: pipe.name, node: node.name })
    requireAccess(request, 'target:fill', dataSources.find(view.targetId)?.name ?? view.targetId)
    const found = await behind.catchUp(view)
    if (found === null) return sendJson(reply, 200, { behind: null })
    const { permissions } = callerOf(request)
    const named = (text: string): string => withViewNames(text, () => pipes.list(), permissions)
    return sendJson(reply, 200, { behind: behindShape(found, permissions, named) })
  }
  const path = '/v0/pipes/:pipe/nodes/:node/catch_up'
  addPath(app, path, { POST: catchUp }, { needs: { POST: need }, mayTakeTokenFromBody: true })
}
