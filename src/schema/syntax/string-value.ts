import { beginningOf } from '../../shared/beginning-of.ts'
import { TextError } from '../../shared/text-error.ts'
import { unescapeText } from '../../shared/text-escapes.ts'
import { SqlFault } from './sql-fault.ts'
import type { Token } from './token.types.ts'

/**
 * What a string says, without its quotes and escapes.
 *
 * @throws SqlFault for `x'41'` and `b'01'`, which know no escapes, and for bytes that are no text.
 */
export function stringValue({ text, offset }: Token): string {
  if (!text.startsWith("'")) throw new SqlFault(`a text like ${beginningOf(text, 20)} is not allowed here`, { offset })
  try {
    return unescapeText(text.slice(1, -1), "'", offset)
  } catch (thrown) {
    if (!(thrown instanceof TextError)) throw thrown
    throw new SqlFault(thrown.reason, { offset: thrown.offset, cause: thrown })
  }
}
