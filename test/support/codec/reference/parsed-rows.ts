import { FrameParser } from '../../../../src/codec/parse-frame.ts'
import type { ParseTask } from '../../../../src/codec/parse-task.types.ts'
import { readBlock, readQuarantine } from './arrow-cells.ts'

export interface ParsedRows {
  /** Cells as texts, see `cellText`. */
  readonly rows: readonly (readonly (string | null)[])[]
  readonly reasons: readonly (readonly string[])[]
  readonly invalidCount: number
}

/** What a frame becomes, for tests that look at a few rows. */
export function parsedRows(task: ParseTask, parser = new FrameParser()): ParsedRows {
  const { part, quarantinePart, bodies } = parser.parse(task)
  const setAside = quarantinePart === null ? [] : readQuarantine(quarantinePart, task.columns.length)
  return {
    rows: part === null ? [] : readBlock(part, task.columns),
    reasons: setAside.map(({ errors }) => errors),
    invalidCount: bodies.reduce((total, { invalid }) => total + invalid, 0),
  }
}
