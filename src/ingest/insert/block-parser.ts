import type { Part } from '../../codec/arrow/part.types.ts'
import type { BodyCounts, ParseResult, ParseTask } from '../../codec/parse-task.types.ts'
import { bytesAtOnceMax } from '../../schema/columns/row-weight.ts'
import { assert } from '../../shared/assert.ts'
import type { IngestPlan } from '../ingest-plan.ts'
import type { ParsePool } from '../parse/parse-pool.ts'
import { groupBodies, type RecordBody, taskOf } from '../parse/record-body.ts'
import type { ParsedRows } from './block.types.ts'

/** Parses bodies in order, in frames of `frameBytes`: the same bodies give the same rows in the same order. */
export async function parseBodies(
  pool: ParsePool,
  plan: Pick<IngestPlan, 'columns' | 'planKey'>,
  bodies: readonly RecordBody[],
  frameBytes: number,
): Promise<ParsedRows> {
  const groups = groupBodies(bodies, bytesAtOnceMax(plan.columns, frameBytes))
  const parsed = await Promise.all(groups.map((group) => parseGroup(pool, plan, group)))
  return joinRows(parsed)
}

export async function parseGroup(
  pool: ParsePool,
  plan: Pick<IngestPlan, 'columns' | 'planKey'>,
  bodies: readonly RecordBody[],
): Promise<ParsedRows & Pick<ParseResult, 'bodies'>> {
  return await parseTask(pool, taskOf(plan, bodies))
}

/** Parses one frame; its parts stay in memory. */
export async function parseTask(pool: ParsePool, task: ParseTask): Promise<ParsedRows & Pick<ParseResult, 'bodies'>> {
  let parsed: (ParsedRows & Pick<ParseResult, 'bodies'>) | null = null
  const { done } = await pool.submit(task, async (result) => {
    parsed = { ...rowsOf(result), bodies: result.bodies }
  })
  await done
  // The assignment happens in a callback, which the compiler does not follow.
  return parsed as unknown as ParsedRows & Pick<ParseResult, 'bodies'>
}

/** Rows that were counted, and not kept. */
export function countedRows(bodies: readonly BodyCounts[]): ParsedRows & Pick<ParseResult, 'bodies'> {
  let rowCount = 0
  let quarantinedRowCount = 0
  for (const { rows, quarantined } of bodies) {
    rowCount += rows
    quarantinedRowCount += quarantined
  }
  return { parts: [], rowCount, quarantineParts: [], quarantinedRowCount, bodies }
}

export function joinRows(all: readonly ParsedRows[]): ParsedRows {
  return {
    parts: all.flatMap(({ parts }) => parts),
    rowCount: all.reduce((total, { rowCount }) => total + rowCount, 0),
    quarantineParts: all.flatMap(({ quarantineParts }) => quarantineParts),
    quarantinedRowCount: all.reduce((total, { quarantinedRowCount }) => total + quarantinedRowCount, 0),
  }
}

export function bytesOf({ parts, quarantineParts }: ParsedRows): number {
  return [...parts, ...quarantineParts].reduce((total, { length }) => total + length, 0)
}

function rowsOf({ part, rowCount, quarantinePart, quarantinedRowCount }: ParseResult): ParsedRows {
  return {
    parts: inMemory(part),
    rowCount,
    quarantineParts: inMemory(quarantinePart),
    quarantinedRowCount,
  }
}

/** Parts of events stay in memory, because a block that fails is inserted again. */
function inMemory(part: Part | null): readonly Uint8Array[] {
  if (part === null) return []
  assert(part instanceof Uint8Array, 'the worker was given no file for it')
  return [part]
}
