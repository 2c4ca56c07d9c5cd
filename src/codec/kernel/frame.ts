/** The frame and the plan that a scan works on. */
import { growRows, isUtf8 } from './host'
import { Plan } from './layout'

/** Address of the frame's first byte. */
export let frame: usize = 0
export let plan: Plan = changetype<Plan>(0)

export function openFrame(frameAt: usize, planAt: usize): void {
  frame = frameAt
  plan = changetype<Plan>(planAt)
}

/** The row is complete; the next one finds room. */
export function finishRow(): void {
  const rowCount = plan.rowCount + 1
  plan.rowCount = rowCount
  if (rowCount >= plan.capacity) growRows(rowCount)
}

/** One native pass has told for most frames that every record is sound; only otherwise each is looked at. */
export function isRecordUtf8(start: usize, end: usize): bool {
  return plan.checksUtf8 === 0 || isUtf8((start - frame) as i32, (end - frame) as i32) !== 0
}
