import type { FastifyInstance } from 'fastify'
import type { NodeView, Pipe } from '../../catalog/pipe.types.ts'
import type { HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { graphShape } from '../json/graph-shape.ts'
import { seenFields, seenOf } from '../json/seen-fields.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf } from '../server/authorization.ts'
import { onWorkspace } from '../server/route-need.ts'

/** `/v0/graph`: what the caller may know of, and what is made of what. */
export function addGraph(
  app: FastifyInstance,
  { behind, dataSources, pipes }: Pick<HttpDeps, 'behind' | 'dataSources' | 'pipes'>,
): void {
  addPath(
    app,
    '/v0/graph',
    {
      GET: async (request, reply) => {
        const { permissions } = callerOf(request)
        const sizes = await dataSources.statistics()
        const seen = seenOf(permissions, 'datasource', dataSources.list()).map((dataSource) => {
          const { statistics } = seenFields(permissions, dataSource, { statistics: sizes.get(dataSource.id) })
          return { dataSource, statistics: statistics ?? null }
        })
        const parts = { dataSources: seen, pipes: seenOf(permissions, 'pipe', pipes.list()) }
        const readsOf = (pipe: Pipe): ReadonlySet<string> => pipes.readsOf(pipe)
        const stateOf = ({ id, sourceId }: NodeView): string | undefined =>
          behind.of(sourceId).find(({ node }) => node.view.id === id)?.state
        return sendJson(reply, 200, graphShape({ ...parts, readsOf, stateOf }))
      },
    },
    { needs: { GET: onWorkspace('graph:read') } },
  )
}
