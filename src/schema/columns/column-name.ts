// Names of columns: any text in backticks, but for those that are taken.

import { internalColumns, lastPart, partColumns } from '../syntax/engine-columns.ts'

const nameBytesMax = 255

/** Columns that every quarantine table has beside those of its data source, and beside the time at which a row came there. */
const quarantineColumnNames = ['c__error_column', 'c__error', 'c__import_id'] as const

const quarantineTimeName = 'insertion_date'

/** The time in the quarantine of a data source with such columns: `insertion_date`, or behind `c__` where a column is called so. */
export function quarantineTimeColumn(columns: readonly { readonly name: string }[]): string {
  let timeName = quarantineTimeName
  while (columns.some(({ name }) => name === timeName)) timeName = `c__${timeName}`
  return timeName
}

const reservedNames: ReadonlySet<string> = new Set([
  ...quarantineColumnNames,
  `c__${quarantineTimeName}`,
  // The id of a row of a quarantine, which a replay needs.
  'c__row',
])

/** Columns of the parts on their way to the table have such names, and must not be taken for the table's. */
const partFieldName = /^__(missing_)?\d+$/

/** Says what is wrong with the name of a column, its quotes gone; null when nothing is. */
export function columnNameFault(name: string): { readonly reason: string; readonly hint?: string } | null {
  if (name === '') return { reason: 'Column name is empty' }
  if (reservedNames.has(name) || partFieldName.test(name)) return { reason: `Column name '${name}' is reserved` }
  // The engine's own columns hide these, or no query may name them, or a replace takes them for the engine's.
  if (partColumns.has(name) || internalColumns.has(lastPart(name))) {
    return {
      reason: `Column name '${name}' is reserved`,
      hint: 'use another name, the engine has a column of this one in its tables',
    }
  }
  if (Buffer.byteLength(name) > nameBytesMax) return { reason: `Column name is longer than ${nameBytesMax} bytes` }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: They are what is searched for.
  const control = /[\u0000-\u001f\u007f]/.exec(name)?.[0]
  if (control === undefined) return null
  const code = control.charCodeAt(0).toString(16).padStart(2, '0')
  return { reason: `Column name contains invalid character \\x${code}` }
}

/** A name that is made for a column, with `_` before it where it is reserved: a number behind a name can make it so. */
export function soundColumnName(name: string): string {
  return columnNameFault(name) === null ? name : `_${name}`
}
