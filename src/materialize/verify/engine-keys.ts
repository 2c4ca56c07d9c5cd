import type { EngineDefinition } from '../../schema/engines/engine-definition.types.ts'
import { readKeyItems, readNames } from '../../schema/engines/engine-expression.ts'
import { tokenize } from '../../schema/syntax/lexer.ts'

export interface KeyNames {
  /** Columns that are items of the key. */
  readonly items: readonly string[]
  /** All names in it, those of functions too. */
  readonly all: readonly string[]
}

export function keyNames({ options }: EngineDefinition, key: 'partition_key' | 'sorting_key'): KeyNames {
  const given = options[key] ?? (key === 'sorting_key' ? options['primary_key'] : undefined) ?? ''
  if (given === '') return { items: [], all: [] }
  return { items: readKeyItems(given, `engine_${key}`), all: tokenize(given).map(({ name }) => name) }
}

/** The column that an option names; null where it names none. */
export function optionName({ options }: EngineDefinition, option: 'is_deleted' | 'sign' | 'ver'): string | null {
  const text = options[option]
  return text === undefined ? null : (readNames(text, `engine_${option}`)[0] ?? null)
}

/** The columns that SummingMergeTree is told to add up; null where it takes all that it can. */
export function summedNames({ options }: EngineDefinition): readonly string[] | null {
  const text = options['columns']
  return text === undefined ? null : readNames(text, 'engine_columns')
}
