// What a data source, its definition or a change of it is refused for. Sorted by status.

import { formatBytes } from '../bytes.ts'
import { listText } from '../list-text.ts'
import { define, type RetryLater } from './definition.ts'

export const dataSourceErrors = {
  SCHEMA_INVALID: define({
    status: 400,
    when: 'The schema cannot be read, or asks for something that a table cannot have.',
    limit: ({ hasTooManyColumns = false }: SchemaFault) => (hasTooManyColumns ? 'columns' : undefined),
    message: ({ reason, line, column }) => `Wrong schema at line ${line}, column ${column}: ${reason}`,
  }),
  ENGINE_INVALID: define({
    status: 400,
    when: 'The engine, or one of its `engine_…` options, is unknown or does not fit the schema.',
    message: ({ reason }: { readonly reason: string }) => `Wrong engine: ${reason}`,
  }),
  INDEX_INVALID: define({
    status: 400,
    when: 'One of the `indexes` cannot be read, or does not fit the schema or the engine.',
    message: ({ reason }: { readonly reason: string }) => `Wrong index: ${reason}`,
  }),
  DEFINITION_TOO_COSTLY: define({
    status: 400,
    when: 'A DEFAULT, a key, a TTL or an index has a constant part, made by `repeat` or `range` for example, for which the database needs more than ten seconds, or more memory than a query may take. Nothing was created or changed.',
    message: ({ reason }: { readonly reason: string }) =>
      `A DEFAULT, a key, a TTL or an index has a constant part that costs too much to compute: ${reason}. Write its value instead`,
    limit: () => 'definition_cost',
  }),
  ALTER_REFUSED: define({
    status: 400,
    when: 'An alter asks for something other than new columns at the end, a description, a TTL or indexes.',
    message: ({ name, reason }: { readonly name: string; readonly reason: string }) =>
      `Data Source "${name}" cannot be altered: ${reason}`,
  }),
  CHANGE_EMPTY: define({
    status: 400,
    when: 'A request to change a Data Source or a Pipe changes nothing.',
    message: ({ expected }: { readonly expected: string }) =>
      `There were no operations to perform: send ${expected} with a new value`,
  }),
  REPLAY_INVALID: define({
    status: 400,
    when: 'A replay of a quarantine has an invalid condition or fix, or the engine of the Data Source takes no single rows.',
    message: ({ reason }: { readonly reason: string }) => `The replay cannot run: ${reason}`,
  }),
  DELETE_CONDITION_INVALID: define({
    status: 400,
    when: 'The parameter `delete_condition` is missing, is not a condition over the columns, or fails for rows of the Data Source. Nothing was deleted.',
    message: ({ reason }: { readonly reason: string }) => `Parameter "delete_condition" cannot be used: ${reason}`,
  }),
  DELETE_UNSUPPORTED: define({
    status: 400,
    when: 'A delete by a condition names a quarantine, or a Data Source whose engine cannot delete single rows.',
    message: ({ name, reason }: { readonly name: string; readonly reason: string }) =>
      `Rows of "${name}" cannot be deleted by a condition: ${reason}`,
  }),
  DATASOURCES_TOO_MANY: define({
    status: 400,
    when: 'The workspace has as many Data Sources as it can have.',
    limit: () => 'data_sources',
    message: ({ dataSourcesMax }: { readonly dataSourcesMax: number }) =>
      `There are already ${dataSourcesMax} Data Sources, the most a workspace can have; drop one first`,
  }),
  STORAGE_EXCEEDED: define({
    status: 400,
    when: 'More is stored than `storageBytesMax`, and `storageOverage` is `refuse`. Nothing of the request was taken. Remove rows or Data Sources, or raise the limit, and send it again.',
    limit: () => 'storage',
    message: ({ usedBytes, bytesMax }: { readonly usedBytes: number; readonly bytesMax: number }) =>
      `${formatBytes(usedBytes)} are stored, more than the ${formatBytes(bytesMax)} that the whole service may have (limit "storage"); nothing was taken: remove rows or Data Sources, and send it again`,
  }),
  CREATION_REFUSED: define({
    status: 403,
    when: 'Rows are sent to a Data Source that does not exist, and `missingDataSource` is `refuse`.',
    message: () => 'Adding or modifying data sources to this workspace can only be done via deployments',
  }),
  DATASOURCE_NOT_FOUND: define({
    status: 404,
    when: 'No Data Source has this name or id.',
    message: ({ name }: { readonly name: string }) => `Data Source "${name}" does not exist`,
    subject: ({ name }) => [name],
  }),
  DATASOURCE_EXISTS: define({
    status: 409,
    when: 'The name is taken by a Data Source.',
    message: ({ name }: { readonly name: string }) => `There is already a Data Source with name "${name}"`,
  }),
  DATASOURCE_USED: define({
    status: 409,
    when: 'Materialized Views or Pipes depend on a Data Source, so it cannot be dropped or renamed; or Pipes read it by a name with a version, so nothing new can take that name. The message lists them.',
    message: ({ name, users, advice }: DataSourceUsers) =>
      `Data Source "${name}" is used by ${listText(users)}; ${advice}`,
    withoutOthers: ({ name, advice }) => `Data Source "${name}" is used by others; ${advice}`,
  }),
  DATASOURCE_BUSY: define({
    status: 409,
    when: 'A Data Source, or one that is computed together with it, is being replaced or changed, or is held for a Materialized View that is made, changed, removed, populated, compared or repaired, so it cannot be changed or appended to; or it is being appended to, so it cannot be replaced; or it is being populated, so what fills it cannot be changed. Nothing was changed; repeat the request later.',
    message: ({
      name,
      what,
    }: {
      readonly name: string
      readonly what: 'appended to' | 'changed' | 'held for a Materialized View' | 'populated' | 'replaced'
    }) => `Data Source "${name}" is being ${what}; nothing was changed, repeat it later`,
    // Views have it be about what the caller has not named.
    withoutOthers: ({ what }) =>
      `A Data Source that this is about is being ${what}; nothing was changed, repeat it later`,
    others: ({ name }) => [{ kind: 'datasource', name }],
  }),
  DELETE_FAILED: define({
    status: 422,
    when: 'A delete of rows was noted by the database and failed in its middle: the condition fails for a row that came while the delete began, or it took more than six hours. Rows that match may be left.',
    quotes: 'stored',
    message: ({ name, reason }: { readonly name: string; readonly reason: string; readonly cause?: unknown }) =>
      `Deleting rows of Data Source "${name}" ended early, and rows that match may be left; correct the condition and delete again: ${reason}`,
  }),
  CHANGES_TOO_MANY: define({
    status: 503,
    when: 'Too many changes of Data Sources or Pipes are waiting. Nothing was changed; repeat the request later.',
    message: () => 'Too many changes are waiting; nothing was changed, repeat it later',
    retryAfterSeconds: ({ retryAfterSeconds }: RetryLater) => retryAfterSeconds,
    limit: () => 'changes_waiting',
  }),
  CHANGE_BLOCKED: define({
    status: 503,
    when: 'Events of the Data Source are waiting and cannot be stored, so it cannot be changed. Nothing was changed; repeat the request later.',
    message: ({ name }: RetryLater & { readonly name: string }) =>
      `Events of Data Source "${name}" are waiting and cannot be stored yet; nothing was changed, repeat it later`,
    withoutOthers: () =>
      'Events of a Data Source that this is about are waiting and cannot be stored yet; nothing was changed, repeat it later',
    others: ({ name }) => [{ kind: 'datasource', name }],
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
  REPLAY_INTERRUPTED: define({
    status: 503,
    when: 'A replay of a quarantine was interrupted. It resumes by itself within a minute, with the next change of the Data Source, and at the next start; no row is lost or stored twice.',
    message: ({ reason }: RetryLater & { readonly reason: string }) =>
      `The replay was interrupted and resumes by itself; no row is lost or stored twice: ${reason}`,
    retryAfterSeconds: ({ retryAfterSeconds }) => retryAfterSeconds,
  }),
}

interface SchemaFault {
  readonly reason: string
  /** Counts from 1. */
  readonly line: number
  /** Counts from 1, in characters. */
  readonly column: number
  /** Whether it is nothing but their count that a data source may not have. */
  readonly hasTooManyColumns?: boolean
}

interface DataSourceUsers {
  readonly name: string
  readonly users: readonly string[]
  /** What to do about it, without a full stop. */
  readonly advice: string
}
