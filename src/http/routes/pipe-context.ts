import type { FastifyRequest } from 'fastify'
import type { HttpDeps } from '../http.types.ts'
import type { ShapeContext } from '../json/pipe-shape.ts'
import { seenNames } from '../json/seen-fields.ts'
import { callerOf } from '../server/authorization.ts'
import { baseUrlOf } from '../server/proxies.ts'

/** What pipes are shown with to whoever asks: other resources by name only where he may know of them. */
export function pipeContext(
  request: FastifyRequest,
  { pipes, dataSources, tokens }: Pick<HttpDeps, 'dataSources' | 'pipes' | 'tokens'>,
): ShapeContext {
  const { permissions } = callerOf(request)
  const lookup = {
    findDataSource: (name: string) => dataSources.find(name),
    findPipe: (name: string) => pipes.find(name),
  }
  return {
    pipes,
    workspaceId: tokens.workspaceId,
    baseUrl: baseUrlOf(request),
    targetName: (id) => {
      const target = dataSources.find(id)
      return target !== undefined && permissions.sees('datasource', target.id) ? target.name : undefined
    },
    seenReads: ({ nodes }, names) => seenNames(permissions, { names, nodes }, lookup),
  }
}
