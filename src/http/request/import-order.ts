import type { NewLine } from '../../guess/csv-sample.ts'
import type { ImportOrder } from '../../imports/imports.types.ts'
import type { CsvRules, ImportFormat } from '../../ingest/ingest.types.ts'
import type { EngineDefinition } from '../../schema/engines/engine-definition.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { Parameters } from './parameters.ts'

/** What a `POST /v0/datasources` asks for, checked: an order, and how it is to be answered. */
export interface SentOrder extends ImportOrder {
  /** Files that the service is to fetch; empty where the request brings the rows. */
  readonly urls: readonly string[]
  /** True wants to know what would be created, and changes nothing. */
  readonly isDry: boolean
  /** True wants to hear of blocks while they are loaded. */
  readonly hasProgress: boolean
  /** Parameters that say how a connector is to bring rows. */
  readonly connectorSettings: readonly string[]
  /** What the import result tells beside its counts. */
  readonly debug: ReadonlySet<DebugDetail>
}

const debugDetails = ['blocks', 'block_log', 'hook_log'] as const
export type DebugDetail = (typeof debugDetails)[number]

/**
 * Reads the order out of the parameters.
 *
 * @throws NAME_MISSING, PARAMETER_INVALID, FORMAT_UNSUPPORTED, ENGINE_INVALID (400).
 */
export function readImportOrder(parameters: Parameters): SentOrder {
  const mode = parameters.choice('mode', ['create', 'append', 'replace']) ?? 'create'
  const schema = parameters.text('schema')
  const format = parameters.text('format')
  return {
    urls: readUrls(parameters),
    mode,
    name: mode === 'create' ? parameters.text('name') : parameters.requiredName(),
    replaceCondition: readReplaceCondition(parameters, mode),
    schema,
    engine: readEngine(parameters, schema),
    indexes: readIndexes(parameters, schema),
    description: parameters.get('description') ?? '',
    version: readVersion(parameters),
    format: format === undefined ? null : readFormat(format),
    csv: readCsvRules(parameters),
    hasTypes: readHasTypes(parameters),
    isDry: parameters.flag('dry'),
    hasProgress: parameters.flag('progress'),
    connectorSettings: [...parameters.entries()].map(([name]) => name).filter((name) => connectorSetting.test(name)),
    debug: readDebug(parameters),
  }
}

/** As the datafiles of Kafka, S3, GCS and DynamoDB landing Data Sources write them, in small letters. */
const connectorSetting =
  /^(?:connector|service|kafka_\w+|import_(?:service|connection_name|bucket_uri|from_timestamp|schedule|strategy|query|external_datasource|table_arn|export_bucket))$/i

/** @throws PARAMETER_INVALID (400). */
export function readCsvRules(parameters: Parameters): CsvRules {
  return {
    delimiter: oneCharacter(parameters, 'dialect_delimiter', isDelimiter, 'one character, or \\t for a tab'),
    escapeCharacter: oneCharacter(parameters, 'dialect_escapechar', isEscape, 'one ASCII character'),
    newLine: readNewLine(parameters),
    header: readHeader(parameters),
  }
}

/** Types are guessed unless somebody says otherwise. */
export function readHasTypes(parameters: Parameters): boolean {
  return parameters.text('type_guessing') === undefined || parameters.flag('type_guessing')
}

/** @throws FORMAT_UNSUPPORTED (400). */
export function readFormat(text: string): ImportFormat {
  const format = formats.find((name) => name === text.toLowerCase())
  if (format === undefined) {
    // JSON is NDJSON, an array of objects too.
    const hint = /^(?:json|jsonl|jsonlines)$/i.test(text)
      ? "JSON is 'ndjson': one object a line, or an array of them"
      : undefined
    throw errors.FORMAT_UNSUPPORTED({ format: text, supported: formats, hint })
  }
  return format
}

const newLines: ReadonlyMap<string, NewLine> = new Map([
  ['\n', '\n'],
  ['\r', '\r'],
  ['\r\n', '\r\n'],
  ['\\n', '\n'],
  ['\\r', '\r'],
  ['\\r\\n', '\r\n'],
])

/** Absent and empty is guessed. */
function readHeader(parameters: Parameters): NonNullable<CsvRules['header']> {
  const name = 'dialect_has_header'
  if (parameters.text(name) === undefined) return 'unknown'
  return parameters.flag(name) ? 'saidPresent' : 'saidAbsent'
}

function readNewLine(parameters: Parameters): NewLine | undefined {
  const value = parameters.get('dialect_new_line')
  if (value === undefined || value === '') return undefined
  const newLine = newLines.get(value)
  if (newLine !== undefined) return newLine
  throw errors.PARAMETER_INVALID({ parameter: 'dialect_new_line', value, expected: '\\n, \\r\\n or \\r' })
}

/** As `VERSION 3` in a datafile has it. @throws PARAMETER_INVALID (400). */
export function readVersion(parameters: Parameters): number | undefined {
  const value = parameters.text('version')
  if (value === undefined) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value)
  throw errors.PARAMETER_INVALID({ parameter: 'version', value, expected: 'a whole number of nine digits at most' })
}

/** Silence would be worse than a refusal: rows would be added that were to replace others. */
function readReplaceCondition(parameters: Parameters, mode: ImportOrder['mode']): string | null {
  const value = parameters.text('replace_condition')
  const given = parameters.get('replace_condition')
  // A condition of which a script's variable was empty, and not one that is left out: all rows would go.
  if (value === undefined && given !== undefined && mode === 'replace') {
    const expected = 'a condition, or absent to replace all rows'
    throw errors.PARAMETER_INVALID({ parameter: 'replace_condition', value: given, expected })
  }
  if (value === undefined || mode === 'replace') return value ?? null
  throw errors.PARAMETER_INVALID({ parameter: 'replace_condition', value, expected: 'absent without mode=replace' })
}

const urlsMax = 100
const urlLengthMax = 8_192
/** Of all URLs of an import: a job is kept as a whole. */
const urlCharsMax = 131_072

/** @throws URL_INVALID (400). */
function readUrls(parameters: Parameters): readonly string[] {
  const urls = parameters.every('url').flatMap((text) => text.trim() || [])
  // A URL may be a secret, so that it is not repeated.
  const tooLong = urls.find((url) => url.length > urlLengthMax)
  if (tooLong !== undefined) {
    const reason = `a URL has ${tooLong.length} characters; it may have ${urlLengthMax}`
    throw errors.URL_INVALID({ reason })
  }
  if (urls.length > urlsMax) {
    const reason = `there are ${urls.length} URLs; one import takes ${urlsMax}. Import the others by another request`
    throw errors.URL_INVALID({ reason })
  }
  const charCount = urls.reduce((total, url) => total + url.length, 0)
  if (charCount <= urlCharsMax) return urls
  const reason = `the URLs have ${charCount} characters together; those of one import may have ${urlCharsMax}`
  throw errors.URL_INVALID({ reason })
}

const formats: readonly ImportFormat[] = ['csv', 'ndjson', 'parquet']

function readDebug(parameters: Parameters): ReadonlySet<DebugDetail> {
  const names = (parameters.text('debug') ?? '').split(',').flatMap((name) => name.trim().toLowerCase() || [])
  return new Set(
    names.map((name) => {
      const detail = debugDetails.find((known) => known === name)
      if (detail !== undefined) return detail
      const expected = `a list of ${debugDetails.join(', ')}`
      throw errors.PARAMETER_INVALID({ parameter: 'debug', value: name, expected })
    }),
  )
}

const enginePrefix = 'engine_'

function readEngine(parameters: Parameters, schema: string | undefined): EngineDefinition | null {
  // Made of entries, so that no name means more than a name, as `__proto__` would.
  const options = Object.fromEntries(
    [...parameters.entries()]
      .filter(([name, value]) => name.startsWith(enginePrefix) && value.trim() !== '')
      .map(([name, value]) => [name.slice(enginePrefix.length), value.trim()] as const),
  )
  const name = parameters.text('engine')
  if (name === undefined && Object.keys(options).length === 0) return null
  if (schema === undefined) throw errors.ENGINE_INVALID({ reason: 'an engine needs the parameter "schema" beside it' })
  return { name: name ?? 'MergeTree', options }
}

function readIndexes(parameters: Parameters, schema: string | undefined): string | undefined {
  const indexes = parameters.text('indexes')
  if (indexes === undefined || schema !== undefined) return indexes
  throw errors.INDEX_INVALID({ reason: 'indexes need the parameter "schema" beside them' })
}

const characterEscapes: ReadonlyMap<string, string> = new Map([
  ['\\t', '\t'],
  ['\\\\', '\\'],
  ['tab', '\t'],
])

/** One character that neither quotes nor ends lines. */
function isDelimiter(text: string): boolean {
  return /^[^"\r\n\0]$/u.test(text)
}

/** The scanners look for escapes byte by byte. */
function isEscape(text: string): boolean {
  return text === '"' || (isDelimiter(text) && Buffer.byteLength(text) === 1)
}

function oneCharacter(
  parameters: Parameters,
  name: string,
  isFit: (text: string) => boolean,
  expected: string,
): string | undefined {
  const value = parameters.get(name)
  if (value === undefined || value === '') return undefined
  const character = characterEscapes.get(value) ?? value
  if (isFit(character)) return character
  throw errors.PARAMETER_INVALID({ parameter: name, value, expected })
}
