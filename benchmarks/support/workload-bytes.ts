import { SeededRandom } from '../../test/support/seeded-random.ts'
import type { WorkloadFormat, WorkloadName } from './workload.types.ts'
import { workloads } from './workloads.ts'

/** Rows to make, as plain data that crosses to the sending process. */
export interface BodyPlan {
  readonly workload: WorkloadName
  readonly format: WorkloadFormat
  readonly rowCount: number
  readonly seed: number
  /** Each row whose index divides by it is bad; null makes none bad. */
  readonly badEvery: number | null
}

/** Rows gathered into one piece; a piece is about 700 KiB to 2 MiB. */
const rowsPerPiece = 8_192

/** The bytes of a body piece by piece; the same plan gives the same bytes. A CSV body starts with its header. */
export function* bodyPieces(plan: BodyPlan): Generator<Buffer> {
  const workload = workloads[plan.workload]
  const random = new SeededRandom(plan.seed)
  let lines = plan.format === 'csv' ? [workload.csvHeader] : []
  for (let rowIndex = 0; rowIndex < plan.rowCount; rowIndex += 1) {
    const isBad = plan.badEvery !== null && rowIndex % plan.badEvery === 0
    lines.push(workload.row(random, rowIndex, isBad)[plan.format])
    if (lines.length < rowsPerPiece) continue
    yield Buffer.from(`${lines.join('\n')}\n`)
    lines = []
  }
  if (lines.length > 0) yield Buffer.from(`${lines.join('\n')}\n`)
}

/** How many rows of the plan are bad. */
export function badRowCount(plan: BodyPlan): number {
  return plan.badEvery === null ? 0 : Math.ceil(plan.rowCount / plan.badEvery)
}
