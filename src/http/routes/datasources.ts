import type { FastifyInstance } from 'fastify'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { FormLimits } from '../http.types.ts'
import { jsonContentType } from '../json/answers.ts'
import { DataSourceList } from '../json/datasource-list.ts'
import { type DerivedFields, listFields, wantedNames } from '../json/datasource-shape.ts'
import { seenFields, seenOf } from '../json/seen-fields.ts'
import { warnOfUnknown } from '../json/warnings.ts'
import { Parameters } from '../request/parameters.ts'
import type { UploadLimits } from '../request/upload-bounds.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf } from '../server/authorization.ts'
import { inBody, onWorkspace } from '../server/route-need.ts'
import { createOrImport, type ImportDeps } from './create-or-import.ts'

/** `/v0/datasources`: create, import and list. */
export function addDataSources(app: FastifyInstance, deps: ImportDeps, limits: FormLimits & UploadLimits): void {
  const { dataSources } = deps
  const list = new DataSourceList()
  addPath(
    app,
    '/v0/datasources',
    {
      GET: async (request, reply) => {
        const attrs = new Parameters(request.query).text('attrs')
        warnOfUnknown(reply, 'Attribute', wantedNames(attrs) ?? [], listFields)
        const statistics = list.needsStatistics(attrs) ? await dataSources.statistics() : null
        const { permissions } = callerOf(request)
        const derivedOf = ({ id, columns }: DataSource): DerivedFields => {
          const newColumns = deps.newColumns.of({ id, columns })
          return seenFields(
            permissions,
            { id },
            { statistics: statistics?.get(id), usedBy: dataSources.usedBy(id), newColumns },
          )
        }
        const items = await list.text(seenOf(permissions, 'datasource', dataSources.list()), derivedOf, attrs)
        return reply.code(200).header('content-type', jsonContentType).send(`{"datasources":${items}}`)
      },
      POST: async (request, reply) => await createOrImport(request, reply, { deps: deps, limits }),
    },
    {
      needs: {
        GET: onWorkspace('datasource:list'),
        POST: inBody('datasource:create', 'datasource:append', 'datasource:replace', 'datasource:analyze'),
      },
      mayTakeTokenFromBody: true,
    },
  )
}
