/**
 * One token of ClickHouse SQL. Comments and white space are no tokens: `isSpaced` says that some stood before this one.
 *
 * `string` keeps its quotes and escapes; `quotedName` is an identifier in backticks or double quotes; `symbol` is an
 * operator or a bracket.
 */
export interface Token {
  readonly kind: 'word' | 'quotedName' | 'string' | 'number' | 'symbol'
  /** What is emitted: the source text, except that a quoted name is written again in backticks with its own escapes. */
  readonly text: string
  /** The name that a `word` or `quotedName` stands for; the same as `text` for all others. */
  readonly name: string
  /** A `word` in upper case and a symbol as it is, to be compared with keywords and operators; empty for all others. */
  readonly key: string
  /** Where it begins in the source, in UTF-16 units. */
  readonly offset: number
  readonly isSpaced: boolean
}
