import type { PartExpression } from '../../codec/arrow/part-expression.ts'
import { clickhouseCodes } from '../engine-codes.ts'
import { type AppendSlice, partitionsStatement, rowPartitionsStatement } from '../sql/append-statement.ts'
import type { InsertLimits } from '../sql/statement-settings.ts'
import type { AppendRequest, RowPartition } from '../store.types.ts'
import { isFaultOfEngine, StoreError } from '../store-error.ts'
import type { EngineSession } from './engine-session.types.ts'

interface PartsSource {
  /** Of the parts' files. */
  readonly path: string
  readonly limits: InsertLimits
}

/**
 * Cuts an append into INSERTs of no more partitions than it asks for: one, unless its rows are of more.
 *
 * The cut depends on the rows alone, so that a repeat has the same tokens for the same rows. Partitions are taken in order:
 * a repeat that lacks rows which were refused has the same tokens for all partitions up to theirs.
 */
export async function appendSlices(
  session: Pick<EngineSession, 'run'>,
  request: AppendRequest,
  source: PartsSource,
): Promise<readonly AppendSlice[]> {
  const { partition, rowCount, blockId } = request
  const one: AppendSlice = { token: blockId, partitions: null }
  if (partition === undefined) return [one]
  const isNeverCut = partition.partitionsMax === Number.MAX_SAFE_INTEGER
  // The token of the first slice, so that rows which are tried again without others, and need no cut any more, keep it.
  const whole: AppendSlice = isNeverCut ? one : { token: sliceToken(blockId, 0), partitions: null }
  if (rowCount <= partition.partitionsMax && partition.looksAlways !== true) return [whole]
  const names = await partitionNames(session, request, source)
  partition.judge?.(names)
  const { leftOut } = partition
  if (leftOut !== undefined) return [{ ...whole, partitions: names.filter((name) => !leftOut.has(name)) }]
  if (names.length <= partition.partitionsMax) return [whole]
  const slices: AppendSlice[] = []
  for (let start = 0; start < names.length; start += partition.partitionsMax) {
    const partitions = names.slice(start, start + partition.partitionsMax)
    slices.push({ token: sliceToken(blockId, slices.length), partitions })
  }
  return slices
}

function sliceToken(blockId: string, index: number): string {
  return `${blockId}-${index}`
}

const passingCodes: readonly (number | undefined)[] = [
  clickhouseCodes.timeoutExceeded,
  clickhouseCodes.queryWasCancelled,
  // A condition that fails at a row fails the append, before anything of it is inserted.
  clickhouseCodes.thrownIf,
]

async function partitionNames(
  session: Pick<EngineSession, 'run'>,
  request: AppendRequest,
  { path, limits }: PartsSource,
): Promise<readonly string[]> {
  if (request.partition === undefined) return []
  try {
    return namesOf(await session.run(partitionsStatement(request, { partition: request.partition, limits }, path)))
  } catch (error) {
    // A key that cannot be told beforehand is always so: such a table takes its rows by one INSERT, and if they are at
    // fault, that says so too. What may pass another time must not change the cut.
    if (!(error instanceof StoreError) || isFaultOfEngine(error) || passingCodes.includes(error.clickhouseCode))
      throw error
    return []
  }
}

/** See `Store.partitionsByRow`. */
export async function rowPartitions(
  session: EngineSession,
  request: AppendRequest,
  { path, tag, limits }: PartsSource & { readonly tag: PartExpression | undefined },
): Promise<readonly RowPartition[]> {
  const { partition } = request
  if (partition === undefined) return []
  const text = await session.run(rowPartitionsStatement(request, { partition, tag, limits }, path))
  const lines = text.split('\n').filter((line) => line.length > 0)
  // The statement has these two columns.
  return lines.map((line) => JSON.parse(line) as RowPartition)
}

function namesOf(text: string): readonly string[] {
  const lines = text.split('\n').filter((line) => line.length > 0)
  // The statement has this one column.
  return lines.map((line) => (JSON.parse(line) as { readonly name: string }).name)
}
