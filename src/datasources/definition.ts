// A data source's definition out of the texts of a request.

import type { ColumnDefinition } from '../schema/columns/column-definition.types.ts'
import { SchemaError } from '../schema/columns/schema-error.ts'
import { parseSchema, TooManyColumns } from '../schema/columns/schema-parser.ts'
import { type IndexDefinition, parseIndexes } from '../schema/definitions/index-definition.ts'
import { defaultEngine, parseEngineDefinition } from '../schema/engines/engine-definition.ts'
import type { EngineDefinition } from '../schema/engines/engine-definition.types.ts'
import { findEngineName, isMergeTree } from '../schema/engines/engine-options.ts'
import { errors } from '../shared/errors/errors.ts'

/**
 * @param current columns that are there already, whose names stay whatever they are.
 * @throws SCHEMA_INVALID (400) with the place of what is wrong.
 */
export function readSchema(
  schema: string,
  columnsMax: number,
  current: readonly ColumnDefinition[] = [],
): readonly ColumnDefinition[] {
  try {
    return parseSchema(schema, { columnsMax, kept: new Set(current.map(({ name }) => name)) })
  } catch (thrown) {
    if (!(thrown instanceof SchemaError)) throw thrown
    const { reason, position, advice: hint, cause } = thrown
    const hasTooManyColumns = cause instanceof TooManyColumns
    throw errors.SCHEMA_INVALID({ reason, ...position, hasTooManyColumns, hint, cause: thrown })
  }
}

/** The engine as the caller wrote it, checked against the columns. @throws ENGINE_INVALID (400) */
export function readEngine(engine: EngineDefinition | null, columns: readonly ColumnDefinition[]): EngineDefinition {
  if (engine === null) return defaultEngine
  const options = Object.entries(engine.options).map(([name, value]) => [`engine_${name}`, value] as const)
  return parseEngineDefinition({ engine: engine.name, ...Object.fromEntries(options) }, columns)
}

/** @throws INDEX_INVALID (400), also when the engine takes none. */
export function readIndexes(text: string | undefined, engine: EngineDefinition): readonly IndexDefinition[] {
  const indexes = text === undefined ? [] : parseIndexes(text)
  const name = findEngineName(engine.name)
  if (indexes.length > 0 && name !== undefined && !isMergeTree(name)) {
    throw errors.INDEX_INVALID({ reason: `the engine ${name} takes no indexes` })
  }
  return indexes
}
