/** The frame and the plan that a scan works on. */
import { growRows, isUtf8 } from './host'
import { Plan } from './layout'

/** Address of the frame's first byte. */
export let frame: usize = 0
export let plan: Plan = changetype<Plan>(0)

/** The row for which the host was asked last to read a value exactly. */
let askedRow: i32 = -1

/** The host is asked for a value of the row under construction. */
export function noteAsked(): void {
  askedRow = plan.rowCount
}

/** Whether the host may know more of the row under construction than the kernel does. */
export function wasAsked(): bool {
  return askedRow === plan.rowCount
}

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
