/** What `TextError` is made of. */
interface TextFault {
  /** A sentence without its full stop and without a position. */
  readonly reason: string
  /** Counts from 0, in UTF-16 units of the text that was read. */
  readonly offset: number
  /** What to write instead, without a full stop; absent when there is nothing to advise. */
  readonly hint?: string
  readonly cause?: unknown
}

/**
 * A short text of a caller (a type, a path, an expression) is wrong at one place.
 *
 * Whoever knows the whole text turns `offset` into line and column.
 */
export class TextError extends Error {
  override readonly name = 'TextError'
  readonly reason: string
  readonly offset: number
  readonly hint: string | null

  constructor({ reason, offset, hint, cause }: TextFault) {
    super(`${reason}${hintSentence(hint ?? null)}`, cause === undefined ? {} : { cause })
    this.reason = reason
    this.offset = offset
    this.hint = hint ?? null
  }

  /** The same error in a longer text, in which the text that was read begins at `offset`. */
  movedBy(offset: number): TextError {
    const hint = this.hint === null ? {} : { hint: this.hint }
    return new TextError({ reason: this.reason, offset: this.offset + offset, ...hint })
  }
}

/** What follows the reason in a message: `. Hint: use Bool.`, or nothing. */
export function hintSentence(hint: string | null): string {
  if (hint === null) return ''
  return `. Hint: ${hint}${hint.endsWith('?') ? '' : '.'}`
}
