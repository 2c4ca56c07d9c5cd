import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { Access } from '../../../src/access/access.ts'
import type { Grant } from '../../../src/access/grant.types.ts'
import type { ResourceKind, ScopeType } from '../../../src/access/scopes/scope-types.ts'
import { createApp } from '../../../src/app.ts'
import type { HttpOptions } from '../../../src/http/http.types.ts'
import type { Jobs } from '../../../src/jobs/jobs.types.ts'
import { TestResources } from '../access/test-tokens.ts'
import { createFakeDeps, limits } from '../http/fake-deps.ts'

/** A scope of a token: its type, the id that it is restricted to, and a filter. */
export type TestScope = readonly [type: ScopeType, resource?: string, filter?: string]

export interface JobsApp {
  readonly app: FastifyInstance
  /** Makes a data source, and gives its id. */
  createDataSource(name: string): Promise<string>
  dropDataSource(name: string): Promise<void>
  putResource(id: string, kind: ResourceKind, name: string): void
}

const noWarrant = (): never => {
  throw new Error('no work is done in their names')
}

/** The app over jobs, and tokens that are called by their names: each has the scopes that are given, and its name for its id. */
export function openJobsApp(
  t: Test,
  jobs: Jobs,
  tokens: Readonly<Record<string, readonly TestScope[]>>,
  given: Partial<HttpOptions> = {},
): JobsApp {
  const resources = new TestResources()
  const known = new Map(Object.entries(tokens).map(([name, scopes]) => [name, tokenOf(name, scopes)]))
  const deps = createFakeDeps()
  const access = new Access({
    sources: [{ find: (text) => known.get(text), version: 0, warrantOf: noWarrant, findWarranted: () => undefined }],
    lookup: resources.lookup,
  })
  const app = createApp({ ...deps, access, jobs }, { ...limits, ...given })
  t.teardown(() => app.close())
  return {
    app,
    async createDataSource(name) {
      const { id } = await deps.dataSources.create({
        name,
        description: '',
        schema: 'id UInt32',
        engine: null,
        type: 'csv',
      })
      resources.put(id, 'datasource', name)
      return id
    },
    async dropDataSource(name) {
      const { id } = deps.dataSources.get(name)
      await deps.dataSources.drop(name)
      resources.drop(id)
    },
    putResource: (id, kind, name) => resources.put(id, kind, name),
  }
}

function tokenOf(name: string, scopes: readonly TestScope[]) {
  const grants = scopes.map(([type, resource = null, filter = null]): Grant => {
    return { type, resource, filter, fixedParameters: null }
  })
  // As a JWT, which has no record.
  const id = name.startsWith('jwt') ? null : name
  return { id, makerId: name, name, expiresAt: null, grants: () => grants, take: () => null }
}
