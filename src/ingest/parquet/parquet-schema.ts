/** The schema in the metadata of a Parquet file: its leaves, each of which has a column chunk in every row group. */
import type { Pieces } from '../../shared/time-slices.ts'
import { type BytePatch, DecimalElement } from './parquet-decimals.ts'
import type { CompactReader } from './thrift-compact.ts'

export interface ParquetLeaf {
  /** Its path, with dots. */
  readonly name: string
  /** Whether a row may have any number of its values. */
  readonly isRepeated: boolean
}

/** Deeper than any type of a column is. The engine writes types out for each column, its fields indented by their depth. */
const depthMax = 64
const elementsMax = 100_000
const repeated = 2

export interface ParquetSchema {
  readonly leaves: readonly ParquetLeaf[]
  /** What is to be changed in the metadata before the engine reads it; offsets are those of the reader. */
  readonly patches: readonly BytePatch[]
}

interface SchemaElement {
  readonly name: string
  readonly isRepeated: boolean
  readonly childCount: number
  readonly patches: readonly BytePatch[]
}

/** A group whose children still come. */
interface OpenGroup {
  readonly path: string
  readonly isRepeated: boolean
  missingCount: number
}

/**
 * Reads the list of elements, a tree in the order of its nodes with the number of children in each. The engine takes these
 * numbers at their word, however large they are.
 *
 * @throws RangeError where it is no tree.
 */
export function* readSchema(reader: CompactReader): Pieces<ParquetSchema> {
  const { count } = reader.readListHeader()
  if (count > elementsMax) throw new RangeError(`its schema has more than ${elementsMax} elements`)
  const leaves: ParquetLeaf[] = []
  const patches: BytePatch[] = []
  const open: OpenGroup[] = []
  for (let index = 0; index < count; index += 1) {
    const { name, isRepeated, childCount, ...element } = yield* readElement(reader)
    patches.push(...element.patches)
    const parent = open.at(-1)
    if (index > 0 && parent === undefined) throw new RangeError('its schema has elements outside of its root')
    if (childCount < 0 || childCount > count)
      throw new RangeError('its schema has a group of another size than it says')
    const path = parent === undefined || parent.path === '' ? (index === 0 ? '' : name) : `${parent.path}.${name}`
    const isUnderRepeated = isRepeated || parent?.isRepeated === true
    if (parent !== undefined) parent.missingCount -= 1
    if (childCount === 0 && index > 0) leaves.push({ name: path, isRepeated: isUnderRepeated })
    else open.push({ path, isRepeated: index > 0 && isUnderRepeated, missingCount: childCount })
    if (open.length > depthMax) throw new RangeError('its schema is nested too deep')
    while (open.at(-1)?.missingCount === 0) open.pop()
  }
  if (open.length > 0) throw new RangeError('its schema has a group of another size than it says')
  return { leaves, patches }
}

function* readElement(reader: CompactReader): Pieces<SchemaElement> {
  let name = ''
  let isRepeated = false
  let childCount = 0
  const decimal = new DecimalElement(reader)
  yield* reader.readStruct((field, type) => {
    if (field === 3) isRepeated = reader.readInteger() === repeated
    else if (field === 4) name = reader.readText()
    else if (field === 5) childCount = reader.readInteger()
    else return decimal.read(field, type)
    return true
  })
  return { name, isRepeated, childCount, patches: decimal.patches() }
}
