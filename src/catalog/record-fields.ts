// Fields of records on disk. What comes back from there is checked like any other input; the errors name the field.

/** A record on disk is no record of this release's. */
export class CatalogRecordError extends Error {
  override readonly name = 'CatalogRecordError'
}

export type Fields = Readonly<Record<string, unknown>>

/**
 * Reads one record by `read`.
 *
 * @throws CatalogRecordError that names the record, and the field that is wrong.
 */
export function readRecord<Entry>(id: string, record: unknown, read: (fields: Fields) => Entry): Entry {
  try {
    return read(readObject(record, 'record'))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CatalogRecordError(`The catalog's record of ${id} cannot be read: ${reason}`, { cause })
  }
}

export function readObject(value: unknown, name: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`'${name}' is not an object`)
  // Just checked: an object, whose fields may be anything.
  return value as Fields
}

export function readArray(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`'${name}' is not an array`)
  return value
}

export function readString(fields: Fields, name: string): string {
  return checkString(fields[name], name)
}

export function readStringOrNull(fields: Fields, name: string): string | null {
  return fields[name] === null ? null : readString(fields, name)
}

export function readStrings(value: unknown, name: string): readonly string[] {
  return readArray(value, name).map((item) => checkString(item, name))
}

export function readInteger(fields: Fields, name: string): number {
  const value = fields[name]
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new Error(`'${name}' is not an integer`)
  return value
}

export function readOneOf<Choice extends string>(fields: Fields, name: string, choices: readonly Choice[]): Choice {
  const value = choices.find((choice) => choice === fields[name])
  if (value === undefined) throw new Error(`'${name}' is not one of ${choices.join(', ')}`)
  return value
}

/** @throws Error when the record is of another release's format. */
export function checkFormat(fields: Fields, expected: number): void {
  const format = fields['format']
  if (format !== expected) throw new Error(`its format is ${String(format)}, not ${expected}`)
}

function checkString(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new Error(`'${name}' is not a text`)
  return value
}
