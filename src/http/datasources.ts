import type { FastifyInstance } from 'fastify'
import { sendJson } from './answers.ts'
import { listItem } from './datasource-shape.ts'
import type { HttpOptions, HttpRooms } from './http.types.ts'
import { createOrImport } from './import-run.ts'
import { Parameters } from './parameters.ts'
import { addPath } from './routes.ts'

type Neighbours = Pick<HttpRooms, 'access' | 'dataSources' | 'ingest' | 'logger' | 'now' | 'replaces'>
type Limits = Pick<HttpOptions, 'formBytesMax' | 'missingDataSource'>

/** `/v0/datasources`: create, import and list. */
export function addDataSources(app: FastifyInstance, rooms: Neighbours, limits: Limits): void {
  const { dataSources } = rooms
  addPath(
    app,
    '/v0/datasources',
    {
      GET: async (request, reply) => {
        const attrs = new Parameters(request.query).text('attrs')
        const statistics = await dataSources.statistics()
        const items = dataSources
          .list()
          .map((source) =>
            listItem(source, { statistics: statistics.get(source.id), usedBy: dataSources.usedBy(source.id) }, attrs),
          )
        return sendJson(reply, 200, { datasources: items })
      },
      POST: async (request, reply) => await createOrImport(request, reply, { rooms, limits }),
    },
    { mayTakeTokenFromBody: true },
  )
}
