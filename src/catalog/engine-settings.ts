import { TextError } from '../shared/text-error.ts'
import { TokenCursor } from '../shared/token-cursor.ts'

export interface EngineSetting {
  readonly name: string
  /** As it stands in CREATE TABLE. */
  readonly value: string
}

const deniedSettings: ReadonlySet<string> = new Set([
  // Where a table keeps its parts is for whoever runs the service to say.
  'disk',
  'storage_policy',
  'table_disk',
  // Nothing could ever be stored or changed.
  'table_readonly',
])

/**
 * Reads `engine_settings`: `index_granularity = 1024, ttl_only_drop_parts = 1`.
 *
 * @throws TextError when it is no list of names and plain values.
 */
export function parseEngineSettings(text: string): readonly EngineSetting[] {
  const cursor = new TokenCursor(text)
  const settings: EngineSetting[] = []
  do {
    const setting = readSetting(cursor)
    if (settings.some(({ name }) => name === setting.name)) {
      throw new TextError({ reason: `engine_settings has '${setting.name}' twice`, offset: 0 })
    }
    settings.push(setting)
  } while (cursor.takeSymbolIf(','))
  cursor.expectEnd('in engine_settings')
  return settings
}

function readSetting(cursor: TokenCursor): EngineSetting {
  const name = cursor.take()
  if (name.kind !== 'word') {
    throw new TextError({ reason: 'engine_settings looks like name = value, …', offset: name.offset })
  }
  if (deniedSettings.has(name.text)) {
    throw new TextError({ reason: `engine_settings cannot set '${name.text}'`, offset: name.offset })
  }
  cursor.expectSymbol('=', `behind '${name.text}' in engine_settings`)
  return { name: name.text, value: readValue(cursor, name.text) }
}

function readValue(cursor: TokenCursor, name: string): string {
  const { offset } = cursor.peek()
  cursor.takeSymbolIf('-')
  const token = cursor.take()
  if (token.kind === 'number') {
    if (cursor.takeSymbolIf('.')) cursor.take()
    const value = cursor.textFrom(offset)
    if (/^-?[0-9]{1,20}(\.[0-9]{1,20})?$/.test(value)) return value
  }
  const isBoolean = token.kind === 'word' && /^(true|false)$/i.test(token.text)
  const isUnsigned = token.offset === offset
  if (isUnsigned && (token.kind === 'string' || isBoolean)) return token.text
  throw new TextError({ reason: `engine_settings needs a number or a text in quotes for '${name}'`, offset })
}
