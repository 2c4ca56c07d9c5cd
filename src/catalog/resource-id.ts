import { createResourceHex } from '../shared/ids.ts'

// An id may carry a label for readers, between prefix and digits: `t_.orders.0123…`.
const labelledIdPattern = /^t_(?:[^/]*\.)?([0-9a-f]{32})$/

/** `t_` and 32 hex digits, out of 128 random bits: no two resources have the same, of whatever kind they are. */
export function createResourceId(): string {
  return `t_${createResourceHex()}`
}

/** The id that a caller wrote, with or without a label, as it is without one; undefined when the text is no id. */
export function findResourceId(text: string): string | undefined {
  if (!text.startsWith('t_')) return undefined
  const digits = labelledIdPattern.exec(text)?.[1]
  return digits === undefined ? undefined : `t_${digits}`
}
