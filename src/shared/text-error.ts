/** What `TextError` is made of. */
interface TextFault {
  /** A sentence without its full stop and without a position. */
  readonly reason: string
  /** Counts from 0, in UTF-16 units of the text that was read. */
  readonly offset: number
  /** What to write instead, without a full stop; absent when there is nothing to advise. */
  readonly hint?: string
  /** The same for messages that stay as they are: it goes into a field of the answer; a whole sentence. */
  readonly advice?: string | undefined
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
  readonly advice: string | undefined

  constructor({ reason, offset, hint, advice, cause }: TextFault) {
    super(`${reason}${hintSentence(hint ?? null)}`, cause === undefined ? {} : { cause })
    this.reason = reason
    this.offset = offset
    this.hint = hint ?? null
    this.advice = advice
  }

  /** The same error in a longer text, in which the text that was read begins at `offset`. */
  movedBy(offset: number): TextError {
    return new TextError({ ...this.#fields(), offset: this.offset + offset })
  }

  /** The same error with advice. */
  advising(advice: string): TextError {
    return new TextError({ ...this.#fields(), advice })
  }

  #fields(): TextFault {
    const { reason, offset, hint, advice } = this
    return { reason, offset, ...(hint === null ? {} : { hint }), advice }
  }
}

/** What follows the reason in a message: `. Hint: use Bool.`, or nothing. */
export function hintSentence(hint: string | null): string {
  if (hint === null) return ''
  return `. Hint: ${hint}${hint.endsWith('?') ? '' : '.'}`
}
