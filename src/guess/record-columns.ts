/**
 * A schema for records of which nothing is known but some samples.
 *
 * Objects are taken apart into a column for each path (`a.b` becomes `a_b`), arrays of scalars are arrays; whatever has no
 * one type is kept as text, JSON included, as a String takes any value. A column that a sample lacks, or has as null, is
 * Nullable, or where it is an array, which cannot be Nullable, empty by DEFAULT. Values are looked at as JSON has them: only texts that are times become times.
 */

import { parseDateTimeText } from '../codec/coercion/date-time-text.ts'
import { errors } from '../shared/errors/errors.ts'
import { quoteName } from '../shared/text-escapes.ts'
import { FreeNames } from './free-names.ts'
import { LargeInteger } from './large-integer.ts'

/** How deep objects are taken apart; what lies deeper is text. */
const depthMax = 5

type ScalarType =
  | 'Bool'
  | 'Date'
  | 'DateTime'
  | 'DateTime64(3)'
  | 'DateTime64(6)'
  | 'Float64'
  | 'Int64'
  | 'Int64 below 0'
  | 'Integer beyond 64 bits'
  | 'String'
  | 'UInt64'

interface SeenPath {
  readonly keys: readonly string[]
  /** In how many samples there is a value. */
  count: number
  /** Of scalars, and of the elements of arrays. */
  readonly types: Set<ScalarType>
  arrays: number
  scalars: number
  /** Objects that are not taken apart, and arrays of anything but scalars. */
  documents: number
  objects: number
}

/** A record of a body, as JSON.parse made it. */
export type SampleObject = Readonly<Record<string, unknown>>

/** A column that records give. */
export interface RecordColumn {
  readonly name: string
  /** With Nullable and Array. */
  readonly typeText: string
  /** What it takes where a record has no value; null where each has one, or it is Nullable. */
  readonly defaultText: string | null
  /** `$.a.b`, `$.list[:]`. */
  readonly jsonPathText: string
  readonly keys: readonly string[]
  /** Records that have a value there, as a share of 1. */
  readonly presentShare: number
}

export interface ColumnLimits {
  /** Most columns of a data source. */
  readonly columnsMax: number
}

/**
 * The schema string of a data source that takes such records; null when they have no keys at all.
 *
 * @throws COLUMNS_TOO_MANY (400).
 */
export function inferSchema(records: readonly SampleObject[], limits: ColumnLimits): string | null {
  const columns = inferColumns(records, limits)
  return columns.length === 0 ? null : recordSchema(columns)
}

/**
 * The columns of a data source that takes such records, in the order in which their keys come.
 *
 * @throws COLUMNS_TOO_MANY (400) as soon as there are so many paths that there must be more.
 */
export function inferColumns(records: readonly SampleObject[], { columnsMax }: ColumnLimits): readonly RecordColumn[] {
  const paths = new Map<string, SeenPath>()
  // Each column has at most so many paths above it and itself.
  const pathsMax = columnsMax * depthMax
  for (const record of records) {
    seeObject(record, [], { paths, pathsMax })
    if (paths.size > pathsMax) throw errors.COLUMNS_TOO_MANY({ columnsMax })
  }
  const seen = [...paths.values()].filter((path) => isColumn(path, paths))
  if (seen.length > columnsMax) throw errors.COLUMNS_TOO_MANY({ columnsMax })
  const names = new FreeNames()
  return seen.map((path) => columnOf(path, records.length, names))
}

type SchemaColumn = Pick<RecordColumn, 'defaultText' | 'jsonPathText' | 'name' | 'typeText'>

/** The schema string of such columns. */
export function recordSchema(columns: readonly SchemaColumn[]): string {
  return columns
    .map(({ name, typeText, jsonPathText, defaultText }) => {
      const written = `${quoteName(name)} ${typeText} ${quoteName(`json:${jsonPathText}`)}`
      return defaultText === null ? written : `${written} DEFAULT ${defaultText}`
    })
    .join(', ')
}

interface SeenPaths {
  readonly paths: Map<string, SeenPath>
  /** One more is too many, and no further is looked. */
  readonly pathsMax: number
}

function seeObject(object: Readonly<Record<string, unknown>>, parents: readonly string[], seen: SeenPaths): void {
  for (const [key, value] of Object.entries(object)) {
    if (seen.paths.size > seen.pathsMax) return
    // No JSONPath can name such a key.
    if (key === '' || /['"`\\\p{Cc}]/u.test(key)) continue
    const keys = [...parents, key]
    const path = seenAt(keys, seen.paths)
    if (value === null) continue
    path.count += 1
    if (Array.isArray(value)) seeArray(value, path)
    else if (isScalar(value)) seeScalar(value, path)
    else if (keys.length >= depthMax || Object.keys(value).length === 0) path.documents += 1
    else {
      path.objects += 1
      // An object that is no array, as JSON made it.
      seeObject(value as Record<string, unknown>, keys, seen)
    }
  }
}

function seenAt(keys: readonly string[], paths: Map<string, SeenPath>): SeenPath {
  const id = JSON.stringify(keys)
  const known = paths.get(id)
  if (known !== undefined) return known
  const path: SeenPath = { keys, count: 0, types: new Set(), arrays: 0, scalars: 0, documents: 0, objects: 0 }
  paths.set(id, path)
  return path
}

function seeArray(values: readonly unknown[], path: SeenPath): void {
  if (!values.every(isScalar)) path.documents += 1
  else {
    path.arrays += 1
    for (const value of values) path.types.add(scalarTypeOf(value))
  }
}

function isScalar(value: unknown): value is bigint | boolean | number | string | symbol | undefined | LargeInteger {
  return typeof value !== 'object' || value instanceof LargeInteger
}

function seeScalar(value: unknown, path: SeenPath): void {
  path.scalars += 1
  path.types.add(scalarTypeOf(value))
}

/** An object gives way to the columns of its keys, unless something else stood there too. */
function isColumn(
  { keys, objects, scalars, arrays, documents }: SeenPath,
  paths: ReadonlyMap<string, SeenPath>,
): boolean {
  if (objects > 0 && scalars + arrays + documents === 0) return false
  // Below a path that is kept as text there is nothing to take apart.
  for (let depth = 1; depth < keys.length; depth += 1) {
    const above = paths.get(JSON.stringify(keys.slice(0, depth)))
    if (above !== undefined && above.scalars + above.arrays + above.documents > 0) return false
  }
  return true
}

function columnOf(path: SeenPath, recordCount: number, names: FreeNames): RecordColumn {
  const { keys, count, types, arrays, scalars, documents, objects } = path
  const isNullable = count < recordCount
  const jsonPath = keys.map((key) => (/^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `['${key}']`)).join('')
  const isArray = arrays > 0 && scalars + documents + objects === 0
  const type = documents + objects > 0 || (arrays > 0 && scalars > 0) ? 'String' : commonType(types)
  return {
    name: names.nameOf(keys),
    typeText: isArray ? `Array(${type})` : isNullable ? `Nullable(${type})` : type,
    defaultText: isArray && isNullable ? '[]' : null,
    jsonPathText: `$${jsonPath}${isArray ? '[:]' : ''}`,
    keys,
    presentShare: count / recordCount,
  }
}

function commonType(types: ReadonlySet<ScalarType>): string {
  const are = (...wanted: readonly ScalarType[]) => types.size > 0 && [...types].every((type) => wanted.includes(type))
  if (are('Int64', 'Int64 below 0')) return 'Int64'
  // Some of its values are too large for Int64, and none of the others is below 0.
  if (are('Int64', 'UInt64')) return 'UInt64'
  // Of integers that no type of 64 bits takes all, floats would keep 16 digits alone.
  const integers = ['Int64', 'Int64 below 0', 'UInt64', 'Integer beyond 64 bits'] as const
  if (are(...integers)) return 'String'
  if (are(...integers, 'Float64')) return 'Float64'
  const [only] = types
  if (types.size === 1 && only !== undefined) return only
  if (are('DateTime', 'DateTime64(3)')) return 'DateTime64(3)'
  if (are('DateTime', 'DateTime64(3)', 'DateTime64(6)')) return 'DateTime64(6)'
  return 'String'
}

function scalarTypeOf(value: unknown): ScalarType {
  switch (typeof value) {
    case 'boolean':
      return 'Bool'
    case 'number':
      return numberType(value)
    case 'string':
      return textType(value)
    default:
      return value instanceof LargeInteger ? 'Integer beyond 64 bits' : 'String'
  }
}

function numberType(value: number): ScalarType {
  if (!Number.isInteger(value)) return 'Float64'
  if (value >= -(2 ** 63) && value < 2 ** 63) return value < 0 ? 'Int64 below 0' : 'Int64'
  // The largest UInt64, which stands for nothing in many records, is read as 2 ** 64; what is larger and no float is a
  // LargeInteger.
  return value > 0 && value <= 2 ** 64 ? 'UInt64' : 'Float64'
}

function textType(text: string): ScalarType {
  const fields = /^(\d{4})-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(?:Z|[+-]\d\d:?\d\d)?)?$/.exec(text)
  const written = fields === null ? undefined : parseDateTimeText(text)
  // No day such as 2024-02-30, no hour 24: what the codec does not take is text.
  if (fields === null || written === undefined) return 'String'
  const [, year = '', fraction] = fields
  // Instants that the narrower types have.
  if (written.localSeconds - (written.offsetSeconds ?? 0) < 0 || Number(year) > 2105) return 'String'
  if (text.length === 10) return 'Date'
  if (fraction === undefined) return 'DateTime'
  return fraction.length <= 3 ? 'DateTime64(3)' : 'DateTime64(6)'
}
