import type { FastifyInstance } from 'fastify'
import type { DataSource } from '../catalog/data-source.types.ts'
import { jsonContentType } from './answers.ts'
import type { Closing } from './closing.ts'
import { DataSourceList } from './datasource-list.ts'
import { type Circumstances, listFields, wantedNames } from './datasource-shape.ts'
import type { FormLimits, HttpOptions, HttpRooms } from './http.types.ts'
import { ImportPlaces } from './import-places.ts'
import { createOrImport } from './import-run.ts'
import type { NewColumns } from './new-columns.ts'
import { Parameters } from './parameters.ts'
import type { PendingReplaces } from './pending-replaces.ts'
import { addPath } from './routes.ts'
import { warnOfUnknown } from './warnings.ts'

type Neighbours = Pick<HttpRooms, 'dataSources' | 'disk' | 'ingest' | 'logger' | 'now' | 'replaces'> & {
  readonly newColumns: NewColumns
  readonly pendingReplaces: PendingReplaces
}
type Limits = FormLimits & Pick<HttpOptions, 'columnsMax' | 'missingDataSource'>

/** `/v0/datasources`: create, import and list. */
export function addDataSources(
  app: FastifyInstance,
  rooms: Neighbours,
  { onClosing, ...limits }: Limits & Pick<Closing, 'onClosing'>,
): void {
  const { dataSources } = rooms
  const list = new DataSourceList()
  const places = new ImportPlaces()
  onClosing(() => places.endAll())
  addPath(
    app,
    '/v0/datasources',
    {
      GET: async (request, reply) => {
        const attrs = new Parameters(request.query).text('attrs')
        warnOfUnknown(reply, 'Attribute', wantedNames(attrs) ?? [], listFields)
        const statistics = list.needsStatistics(attrs) ? await dataSources.statistics() : null
        const circumstancesOf = ({ id, columns }: DataSource): Circumstances => {
          const newColumns = rooms.newColumns.of({ id, columns })
          return { statistics: statistics?.get(id), usedBy: dataSources.usedBy(id), newColumns }
        }
        const items = await list.text(dataSources.list(), circumstancesOf, attrs)
        return reply.code(200).header('content-type', jsonContentType).send(`{"datasources":${items}}`)
      },
      POST: async (request, reply) => await createOrImport(request, reply, { rooms, limits, places }),
    },
    { needs: 'admin', mayTakeTokenFromBody: true },
  )
}
