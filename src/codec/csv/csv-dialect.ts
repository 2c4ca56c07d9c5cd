import { Buffer } from 'node:buffer'

/** How a CSV body is written. */
export interface CsvDialect {
  /** The character between fields, as UTF-8 has it: one to four bytes. */
  readonly delimiter: Uint8Array
  /** One byte that takes the next character as it is inside quotes; null when quotes are doubled instead. */
  readonly escape: number | null
}

/**
 * @param delimiter one character.
 * @param escapeCharacter one ASCII character, or null where quotes are doubled.
 */
export function csvDialect(delimiter: string, escapeCharacter: string | null): CsvDialect {
  return { delimiter: Buffer.from(delimiter), escape: escapeCharacter?.charCodeAt(0) ?? null }
}

export const defaultCsvDialect = csvDialect(',', null)

/** The delimiter as the kernel compares it: its bytes as one little-endian word. */
export function delimiterWord({ delimiter }: CsvDialect): number {
  return delimiter.reduce((word, byte, position) => word | (byte << (position * 8)), 0)
}
