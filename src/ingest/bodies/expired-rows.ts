/**
 * Rows that are past the TTL of their data source when they come: the engine stores them, and deletes them with its next
 * merges. It notes of each part when the first and the last of its rows expire, and keeps the note for minutes behind a merge, so
 * that telling costs two short looks at its bookkeeping and no look at a row.
 */
import type { DataSource } from '../../catalog/data-source.types.ts'
import { StoreError } from '../../store/store-error.ts'
import type { ExpiredRows, Parts as StoreParts } from '../../store/tables.types.ts'
import type { ImportOutcome } from '../ingest.types.ts'

type Parts = Pick<StoreParts, 'expiredRows' | 'lastBlock'>

/** The outcome of an import into a table, with a warning where rows of it are past the TTL. Raises what `run` does. */
export async function warningOfExpired<Outcome extends Pick<ImportOutcome, 'storedRows' | 'warnings'>>(
  parts: Parts,
  { dataSource, table }: { readonly dataSource: DataSource; readonly table: string },
  run: () => Promise<Outcome>,
): Promise<Outcome> {
  if (dataSource.engine.options['ttl'] === undefined) return await run()
  const after = await parts.lastBlock(table)
  const outcome = await run()
  if (outcome.storedRows === 0) return outcome
  const warning = await expiredWarning(parts, dataSource, { table, after })
  return warning === null ? outcome : { ...outcome, warnings: [...(outcome.warnings ?? []), warning] }
}

interface Insertions {
  /** Where the rows went. */
  readonly table: string
  /** Parts behind this one have the rows. */
  readonly after: number
}

/**
 * A sentence about the rows of these parts that are past the TTL; null where none is. The rows are stored whatever is found, so
 * an engine that cannot tell now is told of in the sentence.
 */
export async function expiredWarning(
  parts: Parts,
  dataSource: Pick<DataSource, 'engine' | 'name'>,
  insertions: Insertions,
): Promise<string | null> {
  try {
    return await findExpired(parts, dataSource, insertions)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return `The database could not tell whether rows are past the TTL of Data Source "${dataSource.name}"; such rows are deleted.`
  }
}

async function findExpired(
  parts: Parts,
  { name, engine }: Pick<DataSource, 'engine' | 'name'>,
  { table, after }: Insertions,
): Promise<string | null> {
  const { ttl, settings = '' } = engine.options
  if (ttl === undefined) return null
  const found = await parts.expiredRows({ table, afterBlock: after, dropsWhole: dropsWhole(settings) })
  return found.most === 0 ? null : warningOf(found, name, ttl)
}

/** A part goes then when all of its rows are past the TTL, and not before. */
function dropsWhole(settings: string): boolean {
  return /\bttl_only_drop_parts\s*=\s*(?:1|true)\b/i.test(settings)
}

function warningOf({ least, most }: ExpiredRows, name: string, ttl: string): string {
  const count = least === most ? `${most}` : `Between ${least} and ${most}`
  const are = most === 1 ? 'is' : 'are'
  return `${count} of the imported rows ${are} past the TTL of Data Source "${name}" (${ttl}), and ${are} deleted.`
}
