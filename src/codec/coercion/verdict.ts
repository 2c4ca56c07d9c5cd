import type { Cell, RawValue, Verdict } from '../cell.types.ts'

/** Judges values for one column; made once, called for each value. Never throws. */
export type Coercion = (value: RawValue) => Verdict

export const refused: Verdict = { isAccepted: false }

export function accepted(cell: Cell): Verdict {
  return { isAccepted: true, cell }
}

/** For types that a text alone can spell, in JSON strings and in CSV cells. */
export function fromText(judge: (text: string) => Verdict): Coercion {
  return (value) => (value.kind === 'string' || value.kind === 'cell' ? judge(trimBlanks(value.text)) : refused)
}

/** Takes ASCII spaces and tabs off both ends. */
export function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start += 1
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1
  return end - start === text.length ? text : text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
