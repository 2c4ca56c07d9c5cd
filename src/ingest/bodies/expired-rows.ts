/**
 * Rows that are past the TTL of their data source when they come: the engine stores them, and deletes them with its next
 * merges. It notes of each part when the first and the last of its rows expire, and keeps the note for minutes behind a merge, so
 * that telling costs two short looks at its bookkeeping and no look at a row.
 */
import type { DataSource } from '../../catalog/data-source.types.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import type { Store } from '../../store/store.types.ts'
import { StoreError } from '../../store/store-error.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'
import type { ImportOutcome } from '../ingest.types.ts'

type Tables = Pick<Store, 'rows'>

/** What the engine calls the last of the parts of a table; later ones have higher numbers. */
async function lastBlock(store: Tables, table: string): Promise<number> {
  const [row] = await store.rows<{ readonly block: number }>(
    `SELECT toInt64(max(max_block_number)) AS block FROM system.parts WHERE ${partsOf(table)}`,
  )
  return row?.block ?? 0
}

/** The outcome of an import into a table, with a warning where rows of it are past the TTL. Raises what `run` does. */
export async function warningOfExpired<Outcome extends Pick<ImportOutcome, 'storedRows' | 'warnings'>>(
  store: Tables,
  { dataSource, table }: { readonly dataSource: DataSource; readonly table: string },
  run: () => Promise<Outcome>,
): Promise<Outcome> {
  if (dataSource.engine.options['ttl'] === undefined) return await run()
  const after = await lastBlock(store, table)
  const outcome = await run()
  if (outcome.storedRows === 0) return outcome
  const warning = await expiredWarning(store, dataSource, { table, after })
  return warning === null ? outcome : { ...outcome, warnings: [...(outcome.warnings ?? []), warning] }
}

interface Insertions {
  /** Where the rows went. */
  readonly table: string
  /** Parts behind this one have the rows. */
  readonly after: number
}

interface Expired {
  readonly least: number
  readonly most: number
}

/**
 * A sentence about the rows of these parts that are past the TTL; null where none is. The rows are stored whatever is found, so
 * an engine that cannot tell now is told of in the sentence.
 */
export async function expiredWarning(
  store: Tables,
  dataSource: Pick<DataSource, 'engine' | 'name'>,
  insertions: Insertions,
): Promise<string | null> {
  try {
    return await findExpired(store, dataSource, insertions)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return `The database could not tell whether rows are past the TTL of Data Source "${dataSource.name}"; such rows are deleted.`
  }
}

async function findExpired(
  store: Tables,
  { name, engine }: Pick<DataSource, 'engine' | 'name'>,
  { table, after }: Insertions,
): Promise<string | null> {
  const { ttl, settings = '' } = engine.options
  if (ttl === undefined) return null
  const isPast = (time: string): string => `toUnixTimestamp(${time}) BETWEEN 1 AND toUnixTimestamp(now())`
  const isWhole = isPast('delete_ttl_info_max')
  const isTouched = `${isPast('delete_ttl_info_min')} OR arrayExists(time -> ${isPast('time')}, rows_where_ttl_info.min)`
  const [found] = await store.rows<Expired>(
    `SELECT sum(if(${isWhole}, toInt64(rows), 1)) AS least,
       sum(if(${isWhole}, toInt64(rows), greatest(toInt64(rows) - (delete_ttl_info_max > delete_ttl_info_min), 1))) AS most
     FROM system.parts WHERE ${partsOf(table)} AND level = 0 AND min_block_number > ${after} AND ${dropsWhole(settings) ? isWhole : `(${isTouched})`}`,
  )
  return found === undefined || found.most === 0 ? null : warningOf(found, name, ttl)
}

function partsOf(table: string): string {
  return `database = ${quoteString(workspaceDatabase)} AND table = ${quoteString(table)}`
}

/** A part goes then when all of its rows are past the TTL, and not before. */
function dropsWhole(settings: string): boolean {
  return /\bttl_only_drop_parts\s*=\s*(?:1|true)\b/i.test(settings)
}

function warningOf({ least, most }: Expired, name: string, ttl: string): string {
  const count = least === most ? `${most}` : `Between ${least} and ${most}`
  const are = most === 1 ? 'is' : 'are'
  return `${count} of the imported rows ${are} past the TTL of Data Source "${name}" (${ttl}), and ${are} deleted.`
}
