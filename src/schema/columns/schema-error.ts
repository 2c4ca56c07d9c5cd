import { hintSentence, type TextError } from '../../shared/text-error.ts'

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
  /** What goes into a field of its own; undefined for nothing. */
  readonly advice: string | undefined

  /** @param text the whole schema, in which `fault` has its offset. */
  constructor(text: string, fault: TextError) {
    const position = positionAt(text, fault.offset)
    const hint = hintSentence(fault.hint)
    super(`${fault.reason} at ${position.line}:${position.column}${hint}`, { cause: fault })
    this.reason = `${fault.reason}${hint}`
    this.position = position
    this.advice = adviceOf(text, fault)
  }
}

/** Texts that are something else than a schema are told as that, wherever their first fault lies. */
function adviceOf(text: string, { advice }: TextError): string | undefined {
  if (isDatafile(text)) {
    return 'This is the text of a datafile: send only the columns after "SCHEMA >", and each of its ENGINE lines as a parameter, such as engine=MergeTree and engine_sorting_key=…'
  }
  if (/^\s*[[{]/.test(text)) return 'A schema is not JSON: write the columns as name Type, name Type, …'
  if (/^\s*(?:CREATE|SELECT)\s/i.test(text))
    return 'A schema is not SQL: write the columns alone, as name Type, name Type, …'
  return advice
}

const isDatafile = (text: string): boolean => /^[ \t]*SCHEMA[ \t]*>/im.test(text)

/** @param text the whole schema, in which `fault` has its offset. */
export function schemaErrorOf(text: string, fault: TextError): SchemaError {
  return new SchemaError(text, fault)
}

function positionAt(text: string, offset: number): TextPosition {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: offset - lineStart + 1 }
}
