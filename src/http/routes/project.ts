import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Pipe } from '../../catalog/pipe.types.ts'
import { formatPipe } from '../../catalog/pipe-text.ts'
import { formatDatafile } from '../../schema/definitions/datafile-text.ts'
import type { HttpDeps } from '../http.types.ts'
import { addPath } from '../server/add-path.ts'
import { onWorkspace } from '../server/route-need.ts'
import { type ArchivedText, zipStream } from './zip-stream.ts'

type Deps = Pick<HttpDeps, 'dataSources' | 'logger' | 'pipes'>

/** `/v0/project.zip`: the definitions of the workspace as the files of a project, as they are at the request. */
export function addProject(app: FastifyInstance, { dataSources, pipes, logger }: Deps): void {
  addPath(
    app,
    '/v0/project.zip',
    {
      GET: (request, reply) => {
        // Definitions are never changed in place: these stay as they are while the client takes its time.
        const stream = Readable.from(zipStream(projectFiles(dataSources.list(), pipes.list())), { objectMode: false })
        // The status is sent already, so a broken connection is all that can tell the client.
        stream.on('error', (err) => logger.warn({ requestId: request.id, err }, 'The export of a project broke off.'))
        return reply
          .code(200)
          .header('content-type', 'application/zip')
          .header('content-disposition', 'attachment; filename="project.zip"')
          .send(stream)
      },
    },
    { needs: { GET: onWorkspace('project:read') } },
  )
}

/** In the folders that projects have: a pipe stands by what its node is for. */
function* projectFiles(dataSources: readonly DataSource[], pipes: readonly Pipe[]): Generator<ArchivedText> {
  for (const dataSource of dataSources) {
    const { name, updatedAt } = dataSource
    yield { path: `datasources/${name}.datasource`, text: formatDatafile(dataSource), changedAt: updatedAt }
  }
  const names = new Map<string, string>(dataSources.map(({ id, name }) => [id, name]))
  const targetName = (id: string): string | undefined => names.get(id)
  for (const pipe of pipes) {
    const { name, updatedAt, endpointId } = pipe
    const folder = endpointId === null ? 'pipes' : 'endpoints'
    yield { path: `${folder}/${name}.pipe`, text: formatPipe(pipe, targetName), changedAt: updatedAt }
  }
}
