// Data sources as they lie on disk. What comes back from there is checked like any other input: types and paths are
// read anew from their texts, so that a record cannot hold a tree that no text gives.

import type { ColumnDefinition } from '../schema/columns/column-definition.types.ts'
import { parseJsonPath } from '../schema/columns/json-path.ts'
import type { IndexDefinition } from '../schema/definitions/index-definition.ts'
import type { CheckedExpression } from '../schema/expressions/checked-text.types.ts'
import { parseColumnType } from '../schema/types/column-type.ts'
import { toValueRules, type ValueRules } from '../shared/value-rules.ts'
import type { DataSource } from './data-source.types.ts'
import { parseDataSourceId } from './data-source-id.ts'
import {
  checkFormat,
  type Fields,
  readArray,
  readInteger,
  readObject,
  readOneOf,
  readRecord,
  readString,
  readStringOrNull,
} from './record-fields.ts'

const recordFormat = 1

/** Whether a data source has its tables: all of them only when it is `ready`. */
export type DataSourceState = 'creating' | 'ready' | 'dropping'

export interface CatalogEntry {
  readonly dataSource: DataSource
  readonly state: DataSourceState
  /** Counts the data sources ever created: the order of creation. */
  readonly sequence: number
  /** What a ready data source was about to become: its tables may have been changed to it, wholly or in part. */
  readonly pending: DataSource | null
  /** What a ready data source is about to be made anew as, without rows: its tables may be of either definition. */
  readonly remake: DataSource | null
  /** How far the replay of its quarantine has come; null when there is none. */
  readonly replay: ReplayNote | null
}

/**
 * A replay whose rows are chosen, and of which those before `next` are stored or noted as misfits. The piece from `next` to
 * before `end` comes next; nothing is left when they are the same.
 */
export interface ReplayNote {
  readonly replayId: string
  readonly next: number
  readonly end: number
  /** By which its texts are read, whatever version ends it. */
  readonly rules: ValueRules
}

/** The entry as plain JSON. */
export function encodeEntry({
  dataSource,
  state,
  sequence,
  pending,
  remake,
  replay,
}: CatalogEntry): Readonly<Record<string, unknown>> {
  const entry = { format: recordFormat, state, sequence, ...encodeDataSource(dataSource) }
  return {
    ...entry,
    ...(pending === null ? {} : { pending: encodeDataSource(pending) }),
    ...(remake === null ? {} : { remake: encodeDataSource(remake) }),
    ...(replay === null ? {} : { replay }),
  }
}

function encodeDataSource({ columns, ...rest }: DataSource): Fields {
  const columnRecords = columns.map(({ name, typeText, jsonPathText, defaultExpression, codec }) => {
    return { name, typeText, jsonPathText, defaultExpression, codec }
  })
  return { ...rest, columns: columnRecords }
}

/**
 * Reads a record back.
 *
 * @throws CatalogRecordError that names the data source, and the field that is wrong.
 */
export function decodeEntry(id: string, record: unknown): CatalogEntry {
  return readRecord(id, record, (fields) => readEntry(id, fields))
}

function readEntry(id: string, fields: Fields): CatalogEntry {
  checkFormat(fields, recordFormat)
  const state = readOneOf(fields, 'state', ['creating', 'ready', 'dropping'])
  const dataSource = readDataSource(id, fields)
  const changed = (key: 'pending' | 'remake'): DataSource | null =>
    fields[key] === undefined ? null : readDataSource(id, readObject(fields[key], key))
  const replay = fields['replay'] === undefined ? null : readReplay(readObject(fields['replay'], 'replay'))
  const sequence = readInteger(fields, 'sequence')
  return { dataSource, state, sequence, pending: changed('pending'), remake: changed('remake'), replay }
}

function readReplay(fields: Fields): ReplayNote {
  return {
    replayId: readString(fields, 'replayId'),
    next: readInteger(fields, 'next'),
    end: readInteger(fields, 'end'),
    // In directories up to format 2 none has it.
    rules: toValueRules(fields['rules'] === undefined ? 1 : readInteger(fields, 'rules')),
  }
}

function readDataSource(id: string, fields: Fields): DataSource {
  const dataSource: DataSource = {
    id: parseDataSourceId(id),
    name: readString(fields, 'name'),
    description: readString(fields, 'description'),
    columns: readArray(fields['columns'], 'columns').map((column) => readColumn(readObject(column, 'column'))),
    engine: readEngine(readObject(fields['engine'], 'engine')),
    // Records of earlier releases have neither.
    indexes: readArray(fields['indexes'] ?? [], 'indexes').map((index) => readIndex(readObject(index, 'index'))),
    kafkaStoreRawValue: fields['kafkaStoreRawValue'] === true,
    type: readOneOf(fields, 'type', ['csv', 'ndjson']),
    createdAt: readInteger(fields, 'createdAt'),
    updatedAt: readInteger(fields, 'updatedAt'),
    version: readInteger(fields, 'version'),
    ...(fields['declaredVersion'] === undefined ? {} : { declaredVersion: readInteger(fields, 'declaredVersion') }),
  }
  if (dataSource.columns.length === 0) throw new Error('it has no columns')
  return dataSource
}

function readIndex(fields: Fields): IndexDefinition {
  return {
    name: readString(fields, 'name'),
    expression: readString(fields, 'expression'),
    typeText: readString(fields, 'typeText'),
    granularity: readInteger(fields, 'granularity'),
  }
}

function readColumn(fields: Fields): ColumnDefinition {
  const typeText = readString(fields, 'typeText')
  const jsonPathText = readStringOrNull(fields, 'jsonPathText')
  return {
    name: readString(fields, 'name'),
    typeText,
    type: parseColumnType(typeText),
    jsonPath: jsonPathText === null ? null : parseJsonPath(jsonPathText),
    jsonPathText,
    // The schema's parser had accepted it before it was kept.
    defaultExpression: readStringOrNull(fields, 'defaultExpression') as CheckedExpression | null,
    codec: readStringOrNull(fields, 'codec'),
  }
}

function readEngine(fields: Fields): DataSource['engine'] {
  const options = readObject(fields['options'], 'options')
  const texts = Object.keys(options).map((name) => [name, readString(options, name)] as const)
  return { name: readString(fields, 'name'), options: Object.fromEntries(texts) }
}
