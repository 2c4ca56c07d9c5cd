import { errors } from '../../shared/errors/errors.ts'

interface FaultFields {
  readonly offset?: number | null
  readonly cause?: unknown
  /** What the author of the text may have meant, or is to do. */
  readonly hint?: string | undefined
}

/**
 * What is wrong with one text of SQL. It becomes an `SQL_INVALID` where it is known whose text it is: the caller's, or that
 * of a node which the caller's query reads.
 */
export class SqlFault extends Error {
  override readonly name = 'SqlFault'
  readonly reason: string
  /** Where the text cannot be read, in UTF-16 units; null when it was understood and is not allowed. */
  readonly offset: number | null
  readonly hint: string | undefined

  constructor(reason: string, { offset = null, cause, hint }: FaultFields = {}) {
    super(reason, cause === undefined ? {} : { cause })
    this.reason = reason
    this.offset = offset
    this.hint = hint
  }
}

/** A line and a column of a text, both counted from 1; columns in UTF-16 units. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

export function placeInText(text: string, offset: number): TextPlace {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

/**
 * What a caller is told, SQL_INVALID (400), when `thrown` is a fault in `sql`; anything else comes back unchanged.
 *
 * @param node whose text `sql` is; null for the caller's own.
 */
export function toSqlError(thrown: unknown, sql: string, node: string | null = null): unknown {
  if (!(thrown instanceof SqlFault)) return thrown
  const { reason, offset, hint } = thrown
  if (offset === null) {
    return errors.SQL_INVALID({ reason: node === null ? reason : `${reason} (in node '${node}')`, hint, cause: thrown })
  }
  const { line, column } = placeInText(sql, offset)
  const owner = node === null ? '' : ` of node '${node}'`
  return errors.SQL_INVALID({
    reason: `Syntax error at line ${line}, column ${column}${owner}: ${reason}`,
    hint,
    cause: thrown,
  })
}
