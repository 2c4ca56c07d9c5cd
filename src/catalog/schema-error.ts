import { hintSentence, type TextError } from '../shared/text-error.ts'

/** Both count from 1; columns are UTF-16 units. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

/** A schema string is wrong at one place. `message` ends with it: `Column 'a' has no type at 1:4. Hint: …`. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  /** What is wrong and what to write instead, without the position. */
  readonly reason: string
  readonly position: TextPosition

  /** @param text the whole schema, in which `fault` has its offset. */
  constructor(text: string, fault: TextError) {
    const position = positionAt(text, fault.offset)
    const hint = hintSentence(fault.hint)
    super(`${fault.reason} at ${position.line}:${position.column}${hint}`, { cause: fault })
    this.reason = `${fault.reason}${hint}`
    this.position = position
  }
}

/** @param text the whole schema, in which `fault` has its offset. */
export function schemaErrorOf(text: string, fault: TextError): SchemaError {
  return new SchemaError(text, fault)
}

function positionAt(text: string, offset: number): TextPosition {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: offset - lineStart + 1 }
}
