/**
 * Counts the rows of small groups of bodies on the main thread. A message to a worker and its answer cost more time there
 * than the few kilobytes of single events do, and each leaves a frame and two parts to the collector, which nobody needs:
 * small bodies are parsed once more, together, when their block is made.
 *
 * How long others wait for it has a bound, of a few milliseconds at the worst: a group has at most `groupBytesMax`, and
 * `linesMax`, as a record with a wrong value takes many times as long as a sound one, and a schema at most `columnsMax`. A
 * schema is compiled, which takes far longer than counting, only after some of its groups have come, and again as many
 * when it was forgotten: many data sources with few events each go to the workers.
 */
import { FrameParser } from '../../codec/parse-frame.ts'
import type { BodyCounts } from '../../codec/parse-task.types.ts'
import type { IngestPlan } from '../ingest-plan.ts'
import { frameBytesOf, type RecordBody, taskOf } from '../parse/record-body.ts'

const lineFeed = 0x0a
const groupBytesMax = 16 * 1024
const linesMax = 128
const columnsMax = 64
const groupsBeforeCompiling = 16
/** Schemas whose groups are counted before they are compiled. */
const newSchemasMax = 64
const parserLimits = { plansMax: 32, planBytesMax: 16 * 1024 * 1024, kernelBytesMax: 48 * 1024 * 1024 }

export class SmallGroups {
  readonly #parser = new FrameParser(parserLimits)
  readonly #frame = new Uint8Array(groupBytesMax)
  /** Groups by the key of a schema that is not compiled, the youngest schema last. */
  readonly #groupCounts = new Map<string, number>()

  /** The counts of each body, or null when the group is for a worker. The bodies are of one framing. */
  count(plan: Pick<IngestPlan, 'columns' | 'planKey'>, bodies: readonly RecordBody[]): readonly BodyCounts[] | null {
    if (plan.columns.length > columnsMax || !isSmall(bodies)) return null
    if (!this.#parser.knows(plan.planKey) && !this.#isWorthCompiling(plan.planKey)) return null
    return this.#parser.count(taskOf(plan, bodies, this.#frame))
  }

  #isWorthCompiling(planKey: string): boolean {
    const groupCount = (this.#groupCounts.get(planKey) ?? 0) + 1
    this.#groupCounts.delete(planKey)
    if (groupCount > groupsBeforeCompiling) return true
    this.#groupCounts.set(planKey, groupCount)
    const [oldest] = this.#groupCounts.keys()
    if (this.#groupCounts.size > newSchemasMax && oldest !== undefined) this.#groupCounts.delete(oldest)
    return false
  }
}

function isSmall(bodies: readonly RecordBody[]): boolean {
  if (bodies.length > linesMax || frameBytesOf(bodies) > groupBytesMax) return false
  let lineCount = bodies.length
  for (const { bytes } of bodies) {
    // The last line of a body may end in a line feed or not.
    for (let at = bytes.indexOf(lineFeed); at >= 0 && at < bytes.length - 1; at = bytes.indexOf(lineFeed, at + 1)) {
      lineCount += 1
      if (lineCount > linesMax) return false
    }
  }
  return true
}
