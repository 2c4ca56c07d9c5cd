/** What a parse worker does: a frame of whole records in, a sealed block and a sealed quarantine block out. */
import { isUtf8 } from 'node:buffer'
import { assert } from '../shared/assert.ts'
import type { ColumnDefinition } from '../shared/schema.types.ts'
import { BlockBuilder } from './block-builder.ts'
import { CsvScanner } from './csv-scanner.ts'
import { framePaddingBytes } from './frame-assembler.ts'
import { NdjsonScanner } from './ndjson-scanner.ts'
import { compilePlan, type ParsePlan } from './parse-plan.ts'
import type { BodyCounts, ParseResult, ParseTask, RecordFormat } from './parse-task.types.ts'
import { sealBlock, sealQuarantine } from './part-encoder.ts'

/** What a worker keeps of schemas that it is not parsing for at the moment: how many, and bytes of their buffers. */
const plansMax = 64
const planBytesMax = 64 * 1024 * 1024

/** Keeps the compiled plans of one worker and parses its frames one after the other. */
export class FrameParser {
  private readonly plans = new Map<string, ParsePlan>()

  parse(task: ParseTask): ParseResult {
    assert(task.frame.length >= task.byteCount + framePaddingBytes, 'a frame ends in padding')
    const plan = this.planOf(task.planKey, task.columns)
    const builder = new BlockBuilder(plan, task)
    const bodies = scanBodies(task, scannerOf(task.record, plan, builder), builder)
    this.forgetOld(task.planKey)
    const result = {
      frame: task.frame,
      block: builder.rowCount === 0 ? null : sealBlock(plan, builder.rowCount),
      rowCount: builder.rowCount,
      quarantineBlock: builder.quarantine.rowCount === 0 ? null : sealQuarantine(plan, builder.quarantine),
      quarantinedRowCount: builder.quarantine.rowCount,
      bodies,
    }
    assert(result.rowCount === sum(bodies, 'rows'), 'every row belongs to one body')
    assert(result.quarantinedRowCount === sum(bodies, 'quarantined'), 'every row set aside belongs to one body')
    return result
  }

  private planOf(key: string, columns: readonly ColumnDefinition[]): ParsePlan {
    const plan = this.plans.get(key) ?? compilePlan(columns)
    // Deleted and set again, it becomes the youngest.
    this.plans.delete(key)
    this.plans.set(key, plan)
    return plan
  }

  /** Forgets the schemas that were used longest ago, so that buffers of many data sources do not add up. */
  private forgetOld(current: string): void {
    let byteCount = 0
    for (const [key, plan] of [...this.plans].reverse()) {
      byteCount += plan.columns.reduce((total, { column }) => total + column.byteSize, 0)
      if (key !== current && byteCount > planBytesMax) this.plans.delete(key)
    }
    const [oldest] = this.plans.keys()
    if (this.plans.size > plansMax && oldest !== undefined) this.plans.delete(oldest)
  }
}

interface Scanner {
  scan(source: Uint8Array, start: number, end: number): void
}

function scannerOf(record: RecordFormat, plan: ParsePlan, builder: BlockBuilder): Scanner {
  switch (record.kind) {
    case 'ndjson':
      return new NdjsonScanner(plan, builder)
    case 'csv':
      return new CsvScanner(plan, builder, record)
    case 'document':
      return { scan: (source, start, end) => scanDocument(builder, source.subarray(start, end)) }
  }
}

/** A body that is one JSON message; blank bodies hold no record. */
function scanDocument(builder: BlockBuilder, body: Uint8Array): void {
  const text = new TextDecoder().decode(body)
  if (/^[ \t\r\n]*$/.test(text)) return
  if (isUtf8(body)) builder.addJsonRecord(text)
  else builder.addInvalidRecord(text)
}

function scanBodies(task: ParseTask, scanner: Scanner, builder: BlockBuilder): readonly BodyCounts[] {
  const bodies: BodyCounts[] = []
  let start = task.start
  for (const end of task.bodyEnds) {
    scanner.scan(task.frame, start, end)
    bodies.push(builder.takeCounts())
    start = end
  }
  assert(start === task.byteCount, 'the bodies fill the frame')
  return bodies
}

function sum(bodies: readonly BodyCounts[], key: keyof BodyCounts): number {
  return bodies.reduce((total, body) => total + body[key], 0)
}
