// From the `engine` and `engine_…` parameters of the API to an engine that fits the schema.
//
// What is checked here is what callers get wrong; what it takes the engine to know (whether an expression has a type
// that can be sorted) is left to CREATE TABLE, whose error is theirs too.

import { errors } from '../../shared/errors/errors.ts'
import { didYouMean } from '../../shared/nearest-name.ts'
import { TextError } from '../../shared/text-error.ts'
import type { ColumnDefinition } from '../columns/column-definition.types.ts'
import type { StoredKind } from '../expressions/stored-expression.ts'
import { isNullable, valueTypeOf } from '../types/column-type.ts'
import type { ColumnType } from '../types/column-type.types.ts'
import { parseEngineSettings, storedEngineSettings } from './allowed-table-settings.ts'
import type { EngineDefinition } from './engine-definition.types.ts'
import { readExpression, readKeyItems, readNames } from './engine-expression.ts'
import {
  type EngineName,
  type EngineOption,
  engineNames,
  engineSpecification,
  findEngineName,
  isMergeTree,
} from './engine-options.ts'

const engineParameter = 'engine'
const optionPrefix = 'engine_'
const defaultEngineName: EngineName = 'MergeTree'

/** The engine of a data source whose creator names none: MergeTree, in no order. */
export const defaultEngine: EngineDefinition = { name: defaultEngineName, options: {} }

/**
 * Reads the engine out of the parameters of a request. Parameters that do not begin with `engine` are none of its
 * business, and empty ones count as absent.
 *
 * @throws ENGINE_INVALID (400) when the engine is unknown, or its parameters are missing, of another engine or wrong.
 */
export function parseEngineDefinition(
  parameters: Readonly<Record<string, string>>,
  columns: readonly ColumnDefinition[],
): EngineDefinition {
  try {
    return readEngine(parameters, columns)
  } catch (error) {
    if (error instanceof TextError)
      throw errors.ENGINE_INVALID({ reason: error.message, hint: error.advice, cause: error })
    throw error
  }
}

function readEngine(
  parameters: Readonly<Record<string, string>>,
  columns: readonly ColumnDefinition[],
): EngineDefinition {
  const name = readEngineName(parameters[engineParameter]?.trim() ?? '')
  const given = givenOptions(parameters)
  const { required, optional } = engineSpecification(name)
  const known: readonly string[] = [...required, ...optional]
  for (const option of given.keys()) {
    if (!known.includes(option)) {
      const advice = didYouMean(
        optionPrefix + option,
        known.map((one) => optionPrefix + one),
      )
      throw invalid(`${name} takes no ${optionPrefix}${option}${takesInstead(known)}`, advice)
    }
  }
  for (const option of required) {
    if (!given.has(option)) throw invalid(`${name} needs ${optionPrefix}${option}`)
  }
  const options = readTexts(Object.fromEntries(given))
  checkOptions({ name, options }, columns)
  return { name, options }
}

const keyOptions = ['partition_key', 'sorting_key', 'primary_key', 'sampling_key'] as const

/** The options with their expressions as they go on to the engine. */
function readTexts(given: Options): Record<string, string> {
  const options: Record<string, string> = {}
  for (const [option, text] of Object.entries(given)) {
    if (text === undefined) continue
    const kind = storedKindOf(option)
    options[option] = kind === null ? text : readExpression(text, { kind, name: optionPrefix + option })
  }
  return options
}

/** What an option of an engine holds when it is an expression; null when it is none. */
export function storedKindOf(option: string): StoredKind | null {
  if (option === 'ttl') return 'ttl'
  return keyOptions.some((known) => known === option) ? 'key' : null
}

function readEngineName(text: string): EngineName {
  if (text === '') return defaultEngineName
  const name = findEngineName(text)
  if (name !== undefined) return name
  const meant = engineNames.find((known) => known.toLowerCase() === text.toLowerCase())
  const hint = meant === undefined ? `use one of ${engineNames.join(', ')}` : `did you mean ${meant}?`
  throw invalid(`'${text}' is not known; ${hint}`, didYouMean(text, engineNames))
}

function takesInstead(known: readonly string[]): string {
  return known.length === 0
    ? ', nor any other'
    : `; it takes ${known.map((option) => optionPrefix + option).join(', ')}`
}

function givenOptions(parameters: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  for (const [parameter, text] of Object.entries(parameters)) {
    const value = text.trim()
    if (parameter.startsWith(optionPrefix) && value !== '') given.set(parameter.slice(optionPrefix.length), value)
  }
  return given
}

function invalid(reason: string, advice?: string): TextError {
  return new TextError({ reason, offset: 0, advice })
}

interface NamedEngine {
  readonly name: EngineName
  readonly options: Readonly<Partial<Record<string, string>>>
}

function checkOptions({ name, options }: NamedEngine, columns: readonly ColumnDefinition[]): void {
  if (options['settings'] !== undefined) parseEngineSettings(options['settings'])
  if (isMergeTree(name)) checkKeys(options, columns)
  checkRoles(options, columns)
  if (options['columns'] !== undefined) checkSummedColumns(options['columns'], options['sorting_key'], columns)
  if (name === 'Join') checkJoin(options, columns)
}

type Options = NamedEngine['options']

function checkKeys(options: Options, columns: readonly ColumnDefinition[]): void {
  const settings = options['settings'] === undefined ? [] : storedEngineSettings(options['settings'])
  const takesNull = settings.some(({ name, value }) => name === 'allow_nullable_key' && /^(1|true)$/i.test(value))
  for (const option of keyOptions) {
    const text = options[option]
    if (text === undefined) continue
    for (const columnName of readKeyItems(text, optionPrefix + option)) {
      const { type } = findColumn(columnName, option, columns)
      const valueKind = valueTypeOf(type).kind
      if (isNullable(type) && !takesNull) {
        throw invalid(`${optionPrefix}${option}: column '${columnName}' is Nullable and cannot be in a key`)
      }
      if (valueKind === 'aggregateFunction' || type.kind === 'simpleAggregateFunction' || valueKind === 'json') {
        throw invalid(`${optionPrefix}${option}: column '${columnName}' has a type that cannot be in a key`)
      }
    }
  }
}

function findColumn(name: string, option: EngineOption, columns: readonly ColumnDefinition[]): ColumnDefinition {
  const column = columns.find((candidate) => candidate.name === name)
  if (column === undefined) {
    const advice =
      connectorAdvice(name) ??
      didYouMean(
        name,
        columns.map((known) => known.name),
      )
    throw invalid(`${optionPrefix}${option}: column '${name}' is not in the schema`, advice)
  }
  return column
}

/** Columns that a connector of the hosted service adds to what it lands, with their types. */
const connectorColumns: ReadonlyMap<string, string> = new Map([
  ['__topic', 'LowCardinality(String)'],
  ['__partition', 'Int16'],
  ['__offset', 'Int64'],
  ['__timestamp', 'DateTime'],
  ['__key', 'String'],
  ['__value', 'String'],
  ['__headers', 'Map(String, String)'],
])

function connectorAdvice(name: string): string | undefined {
  const type = connectorColumns.get(name)
  if (type === undefined) return undefined
  return `Declare the column in the schema, ${name} ${type}: connectors are not run here, so nothing adds it.`
}

interface ColumnRole {
  readonly fits: (type: ColumnType) => boolean
  readonly needs: string
}

const versionRole: ColumnRole = {
  fits: (type) => !isNullable(type) && isVersionKind(valueTypeOf(type)),
  needs: 'an integer, Float, Date or DateTime, and not Nullable',
}
const columnRoles: readonly (readonly [EngineOption, ColumnRole])[] = [
  ['ver', versionRole],
  ['version', versionRole],
  ['sign', { fits: (type) => type.kind === 'integer' && type.name === 'Int8', needs: 'Int8' }],
  ['is_deleted', { fits: isFlag, needs: 'UInt8' }],
]

function isVersionKind({ kind }: ColumnType): boolean {
  return ['integer', 'float', 'bool', 'date', 'date32', 'dateTime', 'dateTime64'].includes(kind)
}

function isFlag(type: ColumnType): boolean {
  return type.kind === 'bool' || (type.kind === 'integer' && type.name === 'UInt8')
}

/** Version, sign and deletion columns: one name each. */
function checkRoles(options: Options, columns: readonly ColumnDefinition[]): void {
  for (const [option, { fits, needs }] of columnRoles) {
    const text = options[option]
    if (text === undefined) continue
    const [name, ...others] = readNames(text, optionPrefix + option)
    if (name === undefined || others.length > 0) throw invalid(`${optionPrefix}${option} takes one column`)
    const { typeText, type } = findColumn(name, option, columns)
    if (!fits(type)) throw invalid(`${optionPrefix}${option}: column '${name}' is ${typeText}, but must be ${needs}`)
  }
  if (options['is_deleted'] !== undefined && options['ver'] === undefined) {
    throw invalid('engine_is_deleted needs engine_ver')
  }
}

const unsummableKinds: ReadonlySet<ColumnType['kind']> = new Set([
  ...(['string', 'fixedString', 'uuid', 'ipv4', 'ipv6', 'enum', 'json'] as const),
  ...(['date', 'date32', 'dateTime', 'dateTime64'] as const),
])

function checkSummedColumns(text: string, sortingKey: string | undefined, columns: readonly ColumnDefinition[]): void {
  const keyNames = sortingKey === undefined ? [] : readKeyItems(sortingKey, 'engine_sorting_key')
  for (const name of readNames(text, 'engine_columns')) {
    const { typeText, type } = findColumn(name, 'columns', columns)
    // The engine would take such a column, and keep any one of its values.
    if (unsummableKinds.has(valueTypeOf(type).kind)) {
      throw invalid(`engine_columns: column '${name}' is ${typeText}, which cannot be summed`)
    }
    if (keyNames.includes(name)) throw invalid(`engine_columns: column '${name}' is in engine_sorting_key too`)
  }
}

const joinTypes: Readonly<Record<string, readonly string[]>> = {
  ANY: ['LEFT', 'INNER', 'RIGHT'],
  ALL: ['LEFT', 'INNER', 'RIGHT', 'FULL'],
  SEMI: ['LEFT', 'RIGHT'],
  ANTI: ['LEFT', 'RIGHT'],
}

function checkJoin(options: Options, columns: readonly ColumnDefinition[]): void {
  const strictness = options['join_strictness']?.toUpperCase() ?? ''
  const types = joinTypes[strictness]
  if (types === undefined) {
    throw invalid(`engine_join_strictness must be one of ${Object.keys(joinTypes).join(', ')}`)
  }
  if (!types.includes(options['join_type']?.toUpperCase() ?? '')) {
    throw invalid(`engine_join_type of ${strictness} must be one of ${types.join(', ')}`)
  }
  for (const name of readNames(options['key_columns'] ?? '', 'engine_key_columns')) {
    findColumn(name, 'key_columns', columns)
  }
}
