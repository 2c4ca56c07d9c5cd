// The SQL of a node with another name for something that it reads.
//
// Only what names it is written anew; every other character stays, comments and blanks too. Where other parts of the text may
// speak of the table by its name, or columns would be called by it, the old name becomes an alias: then all of these mean what
// they meant.

import type { SourceSpan } from '../schema/syntax/sql-pieces.ts'
import { tableIdentifier } from '../template/sql-escapes.ts'
import type { NamedTable, NamedTables } from './named-tables.ts'

export interface NewName {
  readonly oldName: string
  readonly newName: string
}

/** Another text of a node, and whether tables are called by the new name in it. */
export interface RenamedText {
  readonly sql: string
  readonly isCalledNew: boolean
}

interface Edit extends SourceSpan {
  readonly text: string
}

/**
 * Texts in which the tables have the new name, the best first; each is to be judged. None where a name is made when the
 * template runs.
 *
 * @param tables those of `named` that are renamed.
 */
export function renamedTexts(
  sql: string,
  {
    tables,
    named,
    name,
  }: { readonly tables: readonly NamedTable[]; readonly named: NamedTables; readonly name: NewName },
): readonly RenamedText[] {
  const spans = tables.map(({ span }) => span)
  if (spans.includes(null)) return []
  const plain = tables.flatMap((table) => editOf(sql, table, name))
  const texts: RenamedText[] = []
  const isAlone =
    !named.hasJoins &&
    !named.printsNames &&
    countWords(named, name) === tables.filter(({ isWritten }) => isWritten).length
  if (isAlone) texts.push({ sql: edited(sql, plain), isCalledNew: true })
  const unnamed = tables.filter(({ kind, aliased }) => kind === 'table' && aliased !== 'all')
  // What has an alias in some branches only, or is printed, cannot be given one.
  if (unnamed.some(({ aliased, isWritten }) => aliased === 'some' || !isWritten)) return texts
  const aliased = tables.flatMap((table) =>
    editOf(sql, table, name).map((edit) => (unnamed.includes(table) ? withAlias(sql, edit) : edit)),
  )
  texts.push({ sql: edited(sql, aliased), isCalledNew: false })
  const qualifiers = named.qualifiers.flatMap((qualifier) => {
    return qualifier.name === name.oldName && qualifier.span !== null ? [editAt(sql, qualifier.span, name)] : []
  })
  if (qualifiers.length > 0) texts.push({ sql: edited(sql, [...aliased, ...qualifiers]), isCalledNew: false })
  return texts
}

function editOf(sql: string, { span, isWritten, name: tableName }: NamedTable, name: NewName): readonly Edit[] {
  if (span === null) return []
  if (isWritten) return [editAt(sql, span, { ...name, newName: inPlaceOf(tableName, name) })]
  const quote = sql.charAt(span.start)
  return [{ ...span, text: quote + inPlaceOf(tableName, name) + quote }]
}

/** Versions and the quarantine go by the name with something behind it. */
function inPlaceOf(tableName: string, { oldName, newName }: NewName): string {
  return newName + tableName.slice(oldName.length)
}

function editAt(sql: string, span: SourceSpan, { newName }: NewName): Edit {
  const first = sql.charAt(span.start)
  const isQuoted = first === '`' || first === '"'
  return { ...span, text: isQuoted ? first + newName + first : tableIdentifier(newName) }
}

function withAlias(sql: string, edit: Edit): Edit {
  return { ...edit, text: `${edit.text} AS ${sql.slice(edit.start, edit.end)}` }
}

function edited(sql: string, edits: readonly Edit[]): string {
  let text = ''
  let end = 0
  for (const edit of edits.toSorted((one, other) => one.start - other.start)) {
    text += sql.slice(end, edit.start) + edit.text
    end = edit.end
  }
  return text + sql.slice(end)
}

/** How often one of the names stands in code. */
function countWords({ wordCounts }: NamedTables, { oldName, newName }: NewName): number {
  let count = 0
  for (const [word, times] of wordCounts) {
    const isOld = word.startsWith(oldName) && /^(?:_quarantine|__v\d+)?$/.test(word.slice(oldName.length))
    if (isOld || word === newName) count += times
  }
  return count
}
