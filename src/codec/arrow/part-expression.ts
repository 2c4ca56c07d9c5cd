import type { Brand } from '../../shared/brand.ts'

/**
 * SQL over the fields of a part, of a caller's Parquet file, or of a table that takes the place of one: a value, or a
 * condition. Whoever writes a layout, or chooses rows, makes it.
 */
export type PartExpression = Brand<string, 'PartExpression'>

/**
 * Vouches for a text that the calling module has written itself: out of its own words, of names and literals that
 * `quoteName` and `quoteString` wrote, and of checked texts. It looks at nothing, so it costs nothing.
 */
export function partExpression(text: string): PartExpression {
  // The caller vouches for it.
  return text as PartExpression
}
