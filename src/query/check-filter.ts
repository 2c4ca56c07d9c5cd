// What is asked before a filter becomes a token's: is it one condition over the columns of its resource, and can the engine
// evaluate it?
//
// It is tried over no rows of such columns, by the engine as a restricted reader: nothing that is stored is read. What values of
// rows may make of it shows only when they are read; then the read fails, and nothing is told of the values.

import { placeInText, SqlFault } from '../schema/syntax/sql-fault.ts'
import { formatColumnType } from '../schema/types/column-type.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import { quoteName, quoteString } from '../shared/text-escapes.ts'
import { checkAgreement } from '../sql/engine-agreement.ts'
import { filterProbe, filterVerdict } from '../sql/filter-probe.ts'
import { filteredSettings } from '../sql/query-policy.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import { type RowFilter, readRowFilter } from '../sql/row-filter.ts'
import { toQueryError } from '../store/caller-errors.ts'
import { withoutInternals } from '../store/engine-message.ts'
import type { Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import { faultOf } from './broken-filter.ts'
import type { CheckNode, CheckOptions } from './check-node.ts'
import { describedColumns, type ResultColumn } from './describe-query.ts'
import { answeringNode } from './name-scope.ts'
import type { WorkspaceReader } from './workspace.types.ts'

/** Whose rows a filter speaks of, by id: those of a data source, or those that a pipe gives. */
export interface FilterTarget {
  readonly kind: 'datasource' | 'pipe'
  readonly id: string
}

/**
 * Judges a filter before a scope is made of it. A target that is not there has no columns.
 *
 * @throws FILTER_INVALID (400) with the reason, and where it is known the line and column; QUERY_TIMEOUT (408), ENGINE_FAILED
 *   (500), QUERIES_TOO_MANY and the states of the engine (503).
 */
export type CheckFilter = (target: FilterTarget, filter: string) => Promise<void>

const filterBytesMax = 8 * 1024

/** Numbers are conditions, as in the engine. */
const conditionType = /^(?:(?:Nullable|LowCardinality)\()*(?:U?Int(?:8|16|32|64)|Bool|Nothing)\)*$/

interface Deps {
  readonly store: Pick<Store, 'select' | 'queryTree'>
  readonly workspace: WorkspaceReader
  readonly checkNode: CheckNode
  /** The columns of a resource are the same whoever asks. */
  readonly serviceScope: ReadScope
}

/** Makes the check over open modules. */
export function createFilterCheck(options: CheckOptions, deps: Deps): CheckFilter {
  return async (target, filter) => {
    if (Buffer.byteLength(filter) > filterBytesMax) {
      throw errors.FILTER_INVALID({ reason: `it is longer than ${filterBytesMax} bytes` })
    }
    const columns = await columnsOf(target, deps)
    const read = readFilter(filter, columns)
    await tryFilter(read, columns, { options, deps })
  }
}

async function columnsOf({ kind, id }: FilterTarget, deps: Deps): Promise<readonly ResultColumn[]> {
  const { workspace, checkNode, serviceScope } = deps
  if (kind === 'datasource') {
    const columns = workspace.find(id)?.columns ?? []
    return columns.map(({ name, type }) => ({ name, type: formatColumnType(type) }))
  }
  const pipe = workspace.findPipe(id)
  const node = pipe === undefined ? undefined : answeringNode(pipe)
  if (pipe === undefined || node === undefined) throw errors.FILTER_INVALID({ reason: 'the Pipe gives no columns' })
  const columns = await checkNode(pipe, node, pipe.nodes.indexOf(node), serviceScope).then(
    (checked) => checked.columns,
    (thrown: unknown) => {
      if (!(thrown instanceof ApiError) || thrown.status !== 400) throw thrown
      // The reason speaks of all that the pipe reads, which whoever makes the scope may not know.
      throw errors.FILTER_INVALID({ reason: 'the Pipe fails, and so gives no columns', cause: thrown })
    },
  )
  if (columns !== null) return columns
  throw errors.FILTER_INVALID({ reason: 'the columns of the Pipe follow from values of its parameters' })
}

function readFilter(filter: string, columns: readonly ResultColumn[]): RowFilter {
  try {
    return readRowFilter(
      filter,
      columns.map(({ name }) => name),
    )
  } catch (thrown) {
    if (!(thrown instanceof SqlFault)) throw thrown
    const { line, column } = placeInText(filter, thrown.offset ?? 0)
    const place = thrown.offset === null ? '' : ` (line ${line}, column ${column})`
    throw errors.FILTER_INVALID({ reason: `${thrown.reason}${place}`, cause: thrown })
  }
}

interface Trial {
  readonly options: CheckOptions
  readonly deps: Deps
}

async function tryFilter(
  filter: RowFilter,
  columns: readonly ResultColumn[],
  { options, deps: { store } }: Trial,
): Promise<void> {
  const structure = columns.map(({ name, type }) => `${quoteName(name)} ${type}`).join(', ')
  const from = `null(${quoteString(structure)})`
  // Nobody waits for it who could leave: it ends by the time limit of queries.
  const { signal } = new AbortController()
  const sql = filterProbe(from, filter)
  const settings = filteredSettings
  try {
    const reading = { functions: new Set([...filter.functions, 'count']), tableFunctions: new Set(['null']) }
    checkAgreement({ ...reading, tables: new Map(), commonTables: new Set() }, await store.queryTree(sql, signal))
    const fault = await faultOf({ sql, settings }, { store, signal })
    if (fault !== null) throw fault
    const [verdict] = await describedColumns({ sql: filterVerdict(from, filter), settings }, { store, signal })
    const { type = '' } = verdict ?? {}
    if (!conditionType.test(type)) throw errors.FILTER_INVALID({ reason: `it is no condition, but gives ${type}` })
  } catch (thrown) {
    throw toFilterError(thrown, filter, { ...options, sql })
  }
}

function toFilterError(
  thrown: unknown,
  { alias }: RowFilter,
  failed: CheckOptions & { readonly sql: string },
): unknown {
  if (!(thrown instanceof StoreError) || thrown.kind !== 'engine') return toQueryError(thrown, failed)
  const reason = withoutInternals(thrown.message)
    .replaceAll(`${alias}.`, '')
    .replaceAll(`${alias.slice(1, -1)}.`, '')
  const told = toQueryError(thrown, failed)
  const isFilters = told instanceof ApiError && told.code === 'SQL_INVALID'
  return isFilters ? errors.FILTER_INVALID({ reason, cause: thrown }) : told
}
