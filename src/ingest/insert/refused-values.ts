// How the quarantine keeps rows whose values fit, and that the database refuses: as texts made of the values.

import { partExpression } from '../../codec/arrow/part-expression.ts'
import { partColumnsOf, partLayoutOf } from '../../codec/arrow/part-layout.ts'
import type { PartLayout } from '../../codec/arrow/part-layout.types.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { quarantineTimeColumn } from '../../schema/columns/column-name.ts'
import { valueTypeOf } from '../../schema/types/column-type.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import { textOf } from '../parquet/parquet-cast.ts'
import { poisonReason } from './poison-rows.ts'

/** Over the fields of parts with rows. A value that is left to its DEFAULT is NULL. */
export function refusedRowsLayout(columns: readonly ColumnDefinition[], importId: string): PartLayout {
  const { fields } = partLayoutOf(columns)
  const types = new Map(fields.map(({ name, engineType }) => [name, engineType]))
  const parts = new Map(partColumnsOf(columns).map((column) => [column.position, column]))
  const texts = columns.map((definition, position) => {
    const part = parts.get(position)
    const column = definition.name
    if (part === undefined) return { column, expression: partExpression('NULL') }
    const { field, mask } = part
    const engineType = types.get(field) ?? ''
    const text = textOfField(definition, field, engineType)
    return { column, expression: partExpression(mask === null ? text : `if(${mask}, NULL, ${text})`) }
  })
  return withRefusal({ fields, targets: texts }, columns, importId)
}

/** The layout of a quarantine with this reason in the place of those that its rows have by themselves. */
export function withRefusal(
  { fields, targets }: PartLayout,
  columns: readonly ColumnDefinition[],
  importId: string,
): PartLayout {
  const names = new Set(columns.map(({ name }) => name))
  return {
    fields,
    targets: [
      ...targets.filter(({ column }) => names.has(column)),
      { column: 'c__error_column', expression: partExpression("['']") },
      { column: 'c__error', expression: partExpression(`[${quoteString(poisonReason)}]`) },
      { column: 'c__import_id', expression: partExpression(quoteString(importId)) },
      { column: quarantineTimeColumn(columns), expression: partExpression('now()') },
    ],
  }
}

function textOfField({ type, typeText }: ColumnDefinition, field: string, engineType: string): string {
  const isNullable = engineType.startsWith('Nullable(')
  const value = isNullable ? `assumeNotNull(${field})` : field
  // What travels as a text is one already, but for what is a text by its value alone.
  const isText = /^(?:Nullable\()?String\)?$/.test(engineType)
  const text = isText ? value : textOf(`CAST(${value}, ${quoteString(typeText)})`, valueTypeOf(type))
  return isNullable ? `if(isNull(${field}), NULL, ${text})` : text
}
