import { errors } from '../shared/errors.ts'
import { compileQuery } from '../sql/compile-query.ts'
import type { SelectStream, Store } from '../store/store.types.ts'
import { answerFormat } from './answer-formats.ts'
import { createNodeCheck } from './check-node.ts'
import { inUsersWords } from './engine-words.ts'
import { callerScope, type Reading } from './name-scope.ts'
import type { Query, QueryAnswer, QueryRequest } from './query.types.ts'
import { type QueryLimits, toQueryError } from './query-error.ts'
import { adminScope } from './read-scope.ts'
import { TemplateCache } from './template-cache.ts'
import type { FindServiceSource, WorkspaceReader } from './workspace.types.ts'

export interface QueryOptions extends QueryLimits {
  /** The database of the workspace's tables. */
  readonly database: string
  /** Longest query, in bytes of UTF-8. */
  readonly sqlBytesMax: number
}

interface Neighbours {
  readonly store: Pick<Store, 'select'>
  readonly workspace: WorkspaceReader
  readonly findServiceSource: FindServiceSource
}

/** The reading side of the service: one place through which every query of a user passes. */
export function createQuery(options: QueryOptions, { store, workspace, findServiceSource }: Neighbours): Query {
  const templates = new TemplateCache()
  const reading: Reading = {
    workspace,
    database: options.database,
    readScope: adminScope,
    findServiceSource,
    nodeText: ({ sql }) => sql,
  }
  const scope = callerScope(reading, null)
  return {
    checkNode: createNodeCheck(options, { store, workspace, findServiceSource, templates }),
    async run(request: QueryRequest): Promise<QueryAnswer> {
      checkLength(request.sql, options.sqlBytesMax)
      const { sql, format: formatName, settings } = compileQuery(request.sql, { scope })
      const { format, contentType } = answerFormat(formatName)
      try {
        const body = await store.select({
          sql,
          format,
          settings: { ...settings, ...request.settings },
          signal: request.signal,
        })
        return { format, contentType, body: translated(body, options) }
      } catch (error) {
        throw toQueryError(error, options, (message) => inUsersWords(message, workspace))
      }
    },
  }
}

function checkLength(sql: string, bytesMax: number): void {
  if (Buffer.byteLength(sql) > bytesMax) throw errors.SQL_TOO_LONG({ bytesMax })
}

/** The answer's bytes; an error in their middle is told in the same words as one before the first. */
async function* translated(body: SelectStream, limits: QueryLimits): SelectStream {
  try {
    yield* body
  } catch (error) {
    throw toQueryError(error, limits)
  }
}
