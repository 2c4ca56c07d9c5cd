/** Frames for the parser, made by hand. */
import { Buffer } from 'node:buffer'
import { framePaddingBytes } from '../../../../src/codec/frame-assembler.ts'
import type { ParseTask, RecordFormat } from '../../../../src/codec/parse-task.types.ts'
import type { ColumnDefinition } from '../../../../src/schema/columns/column-definition.types.ts'

export interface TaskOptions {
  readonly planKey?: string
  readonly record?: RecordFormat
  /** What stands behind the frame: leftovers of other records, which nobody may read. */
  readonly padding?: string
}

/** One frame that holds these bodies, each of which ends in a line feed or is given one. */
export function frameTask(
  columns: readonly ColumnDefinition[],
  bodies: readonly (string | Uint8Array)[],
  options: TaskOptions = {},
): ParseTask {
  const wholeBodies = bodies.map((body) => withLineFeed(Buffer.from(body)))
  const { planKey = 'plan', record = { kind: 'ndjson' } } = options
  const padding = (options.padding ?? '').padEnd(framePaddingBytes, '\u0000')
  let byteCount = 0
  const bodyEnds: number[] = []
  for (const body of wholeBodies) {
    byteCount += body.length
    bodyEnds.push(byteCount)
  }
  const frame = Buffer.concat([...wholeBodies, Buffer.from(padding)])
  return {
    planKey,
    columns,
    frame,
    byteCount,
    start: 0,
    bodyEnds,
    record,
    partPaths: null,
  }
}

function withLineFeed(body: Buffer): Buffer {
  return body.at(-1) === 0x0a ? body : Buffer.concat([body, Buffer.from('\n')])
}
