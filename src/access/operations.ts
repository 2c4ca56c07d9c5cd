import type { ResourceKind, ScopeType } from './scopes/scope-types.ts'

/** What an operation needs, and what it is done to. */
export interface OperationRule {
  /** The kind of resource that it is done to; null for the whole workspace. */
  readonly of: ResourceKind | null
  /** Each of these types gives the right. ADMIN has every right and is left out. */
  readonly scopes: readonly ScopeType[]
  /**
   * `each`: for the resource that the request names. `some`: a scope for any resource will do, because the answer has only what
   * the token may see.
   */
  readonly reach: 'each' | 'some'
  /** Whether a scope whose rows are filtered will do. */
  readonly mayBeFiltered: boolean
}

const readers = { reach: 'each', mayBeFiltered: true } as const
const writers = { reach: 'each', mayBeFiltered: false } as const
const onDataSource = { of: 'datasource', ...writers } as const
const onPipe = { of: 'pipe', ...writers } as const

/**
 * What a caller can be allowed to do, one name for each thing that a token may have the right to do alone, and the scopes that
 * give the right. Routes declare these, callers are judged by them, docs/tokens.md and the tests of all routes are made
 * from them. Before the colon stands what it is done to.
 *
 * - `describe` is the definition, `read` the rows.
 * - `datasource:append` tells nothing of the rows that are there, so a filter on them does not stand against it.
 * - `datasource:create` also stands for a data source that an append makes, `datasource:analyze` for a look at rows that are not
 *   kept.
 * - `target:` is about the data source that a materialized node fills, beside what its pipe needs: one that is there gets rows, one
 *   that is not is made, and one that does not fit may be made anew. `target:compare` is about what the node reads too: whoever has
 *   both compared is told how many rows there are, and keys of some.
 * - Nodes belong to their pipe: `pipe:change` adds and edits them too. What a node may read is a matter of its author's read
 *   scope.
 * - `job:read` and `job:cancel` also belong to who made the job and to who may do the same to what it works on (job-rights.ts):
 *   here stands what holds for all jobs.
 * - `sql:read` is the right to ask; which names the query may read is a matter of the read scope.
 */
export const operations = {
  'datasource:list': {
    of: 'datasource',
    ...readers,
    reach: 'some',
    scopes: ['DATASOURCES:READ', 'WORKSPACE:READ_ALL'],
  },
  'datasource:describe': { of: 'datasource', ...readers, scopes: ['DATASOURCES:READ', 'WORKSPACE:READ_ALL'] },
  'datasource:freshness': { ...onDataSource, scopes: ['DATASOURCES:READ', 'WORKSPACE:READ_ALL'] },
  'datasource:create': { ...onDataSource, scopes: ['DATASOURCES:CREATE'] },
  'datasource:append': { ...onDataSource, mayBeFiltered: true, scopes: ['DATASOURCES:APPEND', 'DATASOURCES:CREATE'] },
  'datasource:replace': { ...onDataSource, scopes: ['DATASOURCES:CREATE'] },
  'datasource:analyze': { ...onDataSource, reach: 'some', scopes: ['DATASOURCES:CREATE'] },
  'datasource:change': { ...onDataSource, scopes: ['DATASOURCES:CREATE'] },
  'datasource:truncate': { ...onDataSource, scopes: ['DATASOURCES:CREATE'] },
  'datasource:delete-rows': { ...onDataSource, scopes: ['DATASOURCES:CREATE'] },
  'datasource:drop': { ...onDataSource, scopes: ['DATASOURCES:DROP', 'DROP:NAME'] },
  'target:fill': { ...onDataSource, mayBeFiltered: true, scopes: ['DATASOURCES:APPEND', 'DATASOURCES:CREATE'] },
  'target:create': { ...onDataSource, scopes: ['DATASOURCES:CREATE'] },
  'target:override': { ...onDataSource, scopes: ['DATASOURCES:DROP', 'DROP:NAME'] },
  'target:compare': { ...onDataSource, scopes: ['DATASOURCES:READ', 'WORKSPACE:READ_ALL'] },
  'quarantine:read': { ...onDataSource, scopes: ['DATASOURCES:READ', 'WORKSPACE:READ_ALL'] },
  'quarantine:replay': { ...onDataSource, scopes: ['DATASOURCES:CREATE'] },
  'pipe:list': { of: 'pipe', ...readers, reach: 'some', scopes: ['PIPES:READ', 'PIPES:CREATE', 'WORKSPACE:READ_ALL'] },
  'pipe:describe': { of: 'pipe', ...readers, scopes: ['PIPES:READ', 'PIPES:CREATE', 'WORKSPACE:READ_ALL'] },
  'pipe:read': { of: 'pipe', ...readers, scopes: ['PIPES:READ', 'WORKSPACE:READ_ALL'] },
  'pipe:explain': { ...onPipe, scopes: ['PIPES:READ', 'WORKSPACE:READ_ALL'] },
  'pipe:create': { ...onPipe, scopes: ['PIPES:CREATE'] },
  'pipe:change': { ...onPipe, scopes: ['PIPES:CREATE'] },
  'pipe:publish': { ...onPipe, scopes: ['PIPES:CREATE'] },
  'pipe:materialize': { ...onPipe, scopes: ['PIPES:CREATE'] },
  'pipe:verify': { ...onPipe, scopes: ['PIPES:READ', 'PIPES:CREATE', 'WORKSPACE:READ_ALL'] },
  'pipe:drop': { ...onPipe, scopes: ['PIPES:DROP', 'DROP:NAME'] },
  'node:drop': { ...onPipe, scopes: ['IMPORT'] },
  'graph:read': {
    of: null,
    ...readers,
    reach: 'some',
    scopes: ['DATASOURCES:READ', 'PIPES:READ', 'PIPES:CREATE', 'WORKSPACE:READ_ALL'],
  },
  'sql:read': {
    of: null,
    ...readers,
    reach: 'some',
    scopes: ['DATASOURCES:READ', 'PIPES:READ', 'WORKSPACE:READ_ALL', 'ORG_DATASOURCES:READ'],
  },
  'job:read': { of: null, ...writers, scopes: [] },
  'job:cancel': { of: null, ...writers, scopes: [] },
  'variable:read': { of: null, ...writers, scopes: [] },
  'variable:change': { of: null, ...writers, scopes: [] },
  'limits:read': { of: null, ...writers, scopes: ['WORKSPACE:READ_ALL'] },
  'project:read': { of: null, ...writers, scopes: ['WORKSPACE:READ_ALL'] },
  'metrics:read': { of: null, ...writers, scopes: ['WORKSPACE:READ_ALL'] },
  'token:read': { of: null, ...writers, scopes: ['TOKENS'] },
  'token:change': { of: null, ...writers, scopes: ['TOKENS'] },
} as const satisfies Readonly<Record<string, OperationRule>>

export type Operation = keyof typeof operations

export function ruleOf(operation: Operation): OperationRule {
  return operations[operation]
}
