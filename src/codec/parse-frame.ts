/** What a parse worker does: a frame of whole records in, a part with its rows and one with those set aside out. */
import { assert } from '../shared/assert.ts'
import { recordReasons } from '../shared/record-reasons.ts'
import { currentValueRules } from '../shared/value-rules.ts'
import type { Part } from './arrow/part.types.ts'
import { joined } from './arrow/part-chunks.ts'
import { encodePart, encodeQuarantine } from './arrow/part-encoder.ts'
import { compilePlan, freePlan, type ParsePlan, planBytes } from './columns/parse-plan.ts'
import { PartBuilder } from './columns/part-builder.ts'
import { CsvScanner } from './csv/csv-scanner.ts'
import { framePaddingBytes } from './frame-assembler.ts'
import { NdjsonScanner } from './json/ndjson-scanner.ts'
import type { BodyCounts, ParseResult, ParseTask, RecordFormat } from './parse-task.types.ts'
import { ScanKernel } from './scan-kernel/scan-kernel.ts'

export interface FrameParserLimits {
  /** What is kept of schemas that are not parsed for at the moment: how many, and bytes of their buffers. */
  readonly plansMax: number
  readonly planBytesMax: number
  /** The kernel's memory never shrinks; behind a frame that made it larger than this, another kernel begins. */
  readonly kernelBytesMax: number
}

const workerLimits: FrameParserLimits = {
  plansMax: 64,
  planBytesMax: 64 * 1024 * 1024,
  kernelBytesMax: 256 * 1024 * 1024,
}

/** Takes a part as the chunks that make it up, which are gone when the next frame is parsed. */
type KeepPart<Kept> = (chunks: readonly Uint8Array[]) => Kept

interface KeepParts<Kept> {
  readonly rows: KeepPart<Kept>
  readonly quarantine: KeepPart<Kept>
}

/** Keeps the compiled plans of one thread and parses its frames one after the other. */
export class FrameParser {
  readonly #limits: FrameParserLimits
  #kernel = new ScanKernel()
  readonly #plans = new Map<string, ParsePlan>()
  #isKernelLeft = false

  constructor(limits: FrameParserLimits = workerLimits) {
    this.#limits = limits
  }

  /** Whether the schema of this key is compiled, so that its next frame costs no more than its rows. */
  knows(planKey: string): boolean {
    return this.#plans.has(planKey)
  }

  /** Whether a large kernel was left since this was asked last: its memory is free as soon as the garbage is collected. */
  hasLeftKernel(): boolean {
    const isLeft = this.#isKernelLeft
    this.#isKernelLeft = false
    return isLeft
  }

  /** What the kernel takes of memory, all schemas together. */
  get memoryBytes(): number {
    return this.#kernel.memory.bytes.length
  }

  /** Parses a frame; its parts come back in memory. */
  parse(task: ParseTask): ParseResult<Uint8Array> {
    return this.parseInto(task, { rows: joined, quarantine: joined })
  }

  /** Parses a frame; `keep` says what becomes of its parts. */
  parseInto<Kept extends Part>(task: ParseTask, keep: KeepParts<Kept>): ParseResult<Kept> {
    return this.#parseFrame(task, ({ plan, builder, bodies }) => ({
      frame: task.frame,
      part: builder.rowCount === 0 ? null : keep.rows(encodePart(plan, builder.rowCount)),
      rowCount: builder.rowCount,
      quarantinePart:
        builder.quarantine.rowCount === 0 ? null : keep.quarantine(encodeQuarantine(plan, builder.quarantine)),
      quarantinedRowCount: builder.quarantine.rowCount,
      bodies,
    }))
  }

  /** Parses a frame for the counts of its bodies alone; no part is encoded. */
  count(task: ParseTask): readonly BodyCounts[] {
    return this.#parseFrame(task, ({ bodies }) => bodies)
  }

  #parseFrame<Result>(task: ParseTask, resultOf: (scanned: ScannedFrame) => Result): Result {
    assert(task.frame.length >= task.byteCount + framePaddingBytes, 'a frame ends in padding')
    try {
      const plan = this.#planOf(task)
      const builder = new PartBuilder(plan)
      if (isForKernel(task.record)) this.#kernel.loadFrame(task.frame.subarray(0, task.byteCount))
      const bodies = scanBodies(task, scannerOf(this.#kernel, task.record, { plan, builder }), builder)
      assert(builder.rowCount === sum(bodies, 'rows'), 'every row belongs to one body')
      assert(builder.quarantine.rowCount === sum(bodies, 'quarantined'), 'every row set aside belongs to one body')
      const result = resultOf({ plan, builder, bodies })
      this.#forgetOld(keyOf(task))
      if (this.#kernel.memory.bytes.length > this.#limits.kernelBytesMax) this.#beginAnew()
      return result
    } catch (error) {
      // Memory that ran out, or a full disk, may have left the columns half written.
      this.#beginAnew()
      throw error
    }
  }

  #planOf(task: ParseTask): ParsePlan {
    const key = keyOf(task)
    const plan = this.#plans.get(key) ?? this.#compile(key, task)
    // Deleted and set again, it becomes the youngest.
    this.#plans.delete(key)
    this.#plans.set(key, plan)
    return plan
  }

  /** Compiles a schema in the memory of the versions of the same data source before it, which get no further frames. */
  #compile(key: string, { columns, rules }: ParseTask): ParsePlan {
    for (const [known, plan] of this.#plans) if (isOlderVersion(known, key)) this.#forget(known, plan)
    return compilePlan(this.#kernel, columns, rules)
  }

  /** Forgets the schemas that were used longest ago, so that buffers of many data sources do not add up. */
  #forgetOld(current: string): void {
    const { plansMax, planBytesMax } = this.#limits
    // The usual case, told without looking at every column.
    if (this.#plans.size <= plansMax && this.#kernel.memory.usedBytes <= planBytesMax) return
    let byteCount = 0
    for (const [key, plan] of [...this.#plans].reverse()) {
      byteCount += planBytes(plan)
      if (key !== current && byteCount > planBytesMax) this.#forget(key, plan)
    }
    const [oldest] = this.#plans
    if (this.#plans.size > plansMax && oldest !== undefined) this.#forget(...oldest)
  }

  #beginAnew(): void {
    this.#isKernelLeft ||= this.#kernel.memory.bytes.length > this.#limits.kernelBytesMax
    this.#plans.clear()
    this.#kernel = new ScanKernel()
  }

  #forget(key: string, plan: ParsePlan): void {
    this.#plans.delete(key)
    freePlan(plan)
  }
}

/** The same schema is compiled for older rules beside the current ones. */
function keyOf({ planKey, rules = currentValueRules }: ParseTask): string {
  return rules === currentValueRules ? planKey : `${planKey}:rules-${rules}`
}

/** Whether both keys are of one data source, and the first one's version is the lower. */
function isOlderVersion(key: string, other: string): boolean {
  const [id, version] = key.split(':')
  const [otherId, otherVersion] = other.split(':')
  return id === otherId && version !== undefined && Number(version) < Number(otherVersion)
}

interface ScannedFrame {
  readonly plan: ParsePlan
  readonly builder: PartBuilder
  readonly bodies: readonly BodyCounts[]
}

interface Scanner {
  scan(source: Uint8Array, start: number, end: number): void
}

function scannerOf(
  kernel: ScanKernel,
  record: RecordFormat,
  { plan, builder }: { readonly plan: ParsePlan; readonly builder: PartBuilder },
): Scanner {
  switch (record.kind) {
    case 'ndjson':
      return new NdjsonScanner(kernel, plan, builder)
    case 'csv':
      return new CsvScanner(kernel, plan, builder, record)
    case 'brokenOff':
      return {
        scan: (source, start, end) => builder.addInvalidRecord(recordReasons.brokenOff, source.subarray(start, end)),
      }
    case 'document':
      return { scan: (source, start, end) => scanDocument(builder, source.subarray(start, end)) }
  }
}

function isForKernel({ kind }: RecordFormat): boolean {
  return kind === 'ndjson' || kind === 'csv'
}

/** Blank, tab, line feed and carriage return. */
const blanks: readonly number[] = [0x20, 0x09, 0x0a, 0x0d]

/** A body that is one JSON message; blank bodies hold no record. */
function scanDocument(builder: PartBuilder, body: Uint8Array): void {
  if (body.some((byte) => !blanks.includes(byte))) builder.addJsonRecord(body)
}

function scanBodies(task: ParseTask, scanner: Scanner, builder: PartBuilder): readonly BodyCounts[] {
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
