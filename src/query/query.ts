import { errors } from '../shared/errors.ts'
import { compileQuery } from '../sql/compile-query.ts'
import type { TableOf } from '../sql/table-names.ts'
import { quarantineTable } from '../store/quarantine-table.ts'
import type { SelectStream, Store } from '../store/store.types.ts'
import { answerFormat } from './answer-formats.ts'
import type { Query, QueryAnswer, QueryRequest } from './query.types.ts'
import { type QueryLimits, toQueryError } from './query-error.ts'

export interface QueryOptions extends QueryLimits {
  /** The database of the workspace's tables. */
  readonly database: string
  /** Longest query, in bytes of UTF-8. */
  readonly sqlBytesMax: number
}

interface Neighbours {
  readonly store: Pick<Store, 'select'>
  /** Id of the data source with this name or id; undefined when there is none. */
  readonly dataSourceIdOf: TableOf
}

/** The reading side of the service: one place through which every query of a user passes. */
export function createQuery(options: QueryOptions, { store, dataSourceIdOf }: Neighbours): Query {
  const tableOf = tablesOf(dataSourceIdOf)
  return {
    async run(request: QueryRequest): Promise<QueryAnswer> {
      checkLength(request.sql, options.sqlBytesMax)
      const { sql, format: formatName } = compileQuery(request.sql, { database: options.database, tableOf })
      const { format, contentType } = answerFormat(formatName)
      try {
        const body = await store.select({ sql, format, settings: request.settings, signal: request.signal })
        return { format, contentType, body: translated(body, options) }
      } catch (error) {
        throw toQueryError(error, options)
      }
    },
  }
}

const quarantineSuffix = '_quarantine'

/** A data source's table has its id as name, and its quarantine is read by `<name or id>_quarantine`. */
function tablesOf(dataSourceIdOf: TableOf): TableOf {
  return (nameOrId) => {
    const id = dataSourceIdOf(nameOrId)
    if (id !== undefined || !nameOrId.endsWith(quarantineSuffix)) return id
    const owner = dataSourceIdOf(nameOrId.slice(0, -quarantineSuffix.length))
    return owner === undefined ? undefined : quarantineTable(owner)
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
