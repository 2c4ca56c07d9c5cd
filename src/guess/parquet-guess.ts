/** The schema of a data source for a Parquet file: its own columns, groups of fields taken apart as NDJSON's objects are. */
import { formatColumnType } from '../schema/types/column-type.ts'
import type { ColumnType } from '../schema/types/column-type.types.ts'
import { errors } from '../shared/errors/errors.ts'
import type { BodyGuess, GuessedColumn, PreviewRow } from './body-guess.ts'
import { FreeNames } from './free-names.ts'
import { type ColumnLimits, recordSchema } from './record-columns.ts'

export interface ParquetField {
  readonly name: string
  /** Null for a type that no schema has; its values become text. */
  readonly type: ColumnType | null
}

interface PathColumn extends GuessedColumn {
  readonly keys: readonly string[]
  readonly jsonPathText: string
  readonly defaultText: null
}

const previewRowsMax = 10

/**
 * @param rows the first rows, as JSON by the names of the file's columns.
 * @throws COLUMNS_TOO_MANY (400).
 */
export function guessParquet(
  fields: readonly ParquetField[],
  rows: readonly PreviewRow[],
  { columnsMax }: ColumnLimits,
): BodyGuess {
  const names = new FreeNames()
  const columns = fields
    .filter(({ name }) => isKey(name))
    .flatMap(({ name, type }) => columnsUnder([name], type, { names, rows, columnsMax }))
  return {
    schema: recordSchema(columns),
    columns,
    csv: null,
    preview: rows.slice(0, previewRowsMax).map((row) => {
      return Object.fromEntries(columns.map(({ name, keys }) => [name, valueAt(row, keys) ?? null]))
    }),
    rowCount: rows.length,
  }
}

interface Context extends ColumnLimits {
  readonly names: FreeNames
  readonly rows: readonly PreviewRow[]
}

function columnsUnder(keys: readonly string[], type: ColumnType | null, context: Context): readonly PathColumn[] {
  if (type?.kind === 'tuple' && type.fields.every(({ name }) => name !== null && isKey(name))) {
    return type.fields.flatMap((field) => columnsUnder([...keys, field.name ?? ''], field.type, context))
  }
  const { names, rows, columnsMax } = context
  if (names.size >= columnsMax) throw errors.COLUMNS_TOO_MANY({ columnsMax })
  const steps = keys.map((key) => (/^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `['${key}']`)).join('')
  const jsonPathText = `$${steps}${type?.kind === 'array' ? '[:]' : ''}`
  const presentCount = rows.filter((row) => (valueAt(row, keys) ?? null) !== null).length
  return [
    {
      name: names.nameOf(keys),
      keys,
      path: jsonPathText,
      jsonPathText,
      // A list that is null in the file is read as an empty one.
      defaultText: null,
      typeText: type === null ? 'String' : formatColumnType(withoutZone(type)),
      presentShare: rows.length === 0 ? 0 : presentCount / rows.length,
    },
  ]
}

/** No JSONPath can name any other. */
function isKey(name: string): boolean {
  return name !== '' && !/['"`\\\p{Cc}]/u.test(name)
}

/** The service's zone is UTC, and needs no saying. */
function withoutZone(type: ColumnType): ColumnType {
  if (type.kind === 'nullable') return { ...type, inner: withoutZone(type.inner) }
  if (type.kind === 'array') return { ...type, element: withoutZone(type.element) }
  return type.kind === 'dateTime64' && type.zone === 'UTC' ? { ...type, zone: null } : type
}

function valueAt(row: PreviewRow, keys: readonly string[]): unknown {
  let value: unknown = row
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    // What JSON.parse gave, and no array at a place where the file has a group.
    value = (value as Readonly<Record<string, unknown>>)[key]
  }
  return value
}
