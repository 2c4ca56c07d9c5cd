/** Texts that a column surely refuses: nobody has to be asked about them. */
import { plan } from './frame'
import { Refusal, refusalBytes } from './layout'

const backslash: u8 = 0x5c
const upperN: u8 = 0x4e

export function refusalAt(position: i32): Refusal {
  return changetype<Refusal>(plan.refusals + (position as usize) * refusalBytes)
}

/** Whether the kernel can tell of any text that the column refuses it. */
export function canRefuse(refusal: Refusal): bool {
  return (refusal.possible0 | refusal.possible1) !== 0
}

/** Whether a byte stands in the text that is in no text which the column takes; false also where that is not known. */
export function refusesText(refusal: Refusal, start: usize, end: usize): bool {
  if (!canRefuse(refusal)) return false
  for (let offset = start; offset < end; offset += 1) {
    const byte = load<u8>(offset)
    if (byte >= 0x80) return true
    const bits = byte < 64 ? refusal.possible0 : refusal.possible1
    if (((bits >> ((byte & 63) as i64)) & 1) === 0) return true
  }
  return false
}

/** `\N`, which is NULL in a field without quotes. */
export function isCsvNull(start: usize, end: usize): bool {
  return end - start === 2 && load<u8>(start) === backslash && load<u8>(start + 1) === upperN
}
