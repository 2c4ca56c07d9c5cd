import { tokenize } from '../../schema/syntax/lexer.ts'
import { assert } from '../../shared/assert.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import type { PinnedPart, Pins, PreparedPin } from '../pins.types.ts'
import type { Statements } from '../statements.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { qualified } from './qualified.ts'
import { type Settings, settingsText } from './statement-settings.ts'

/**
 * What holds back every merge, as the selector finds no parts that are small enough: `SYSTEM STOP MERGES` would be forgotten with the
 * engine. Rows of engines that merge rows stay what they are, as the table is a plain one.
 */
const mergeless: Settings = {
  max_bytes_to_merge_at_max_space_in_pool: 1,
  max_bytes_to_merge_at_min_space_in_pool: 1,
  max_number_of_merges_with_ttl_in_pool: 0,
}

/** An INSERT waits for no merge. */
const manyParts: Settings = { parts_to_delay_insert: 100_000, parts_to_throw_insert: 100_000 }

/** `Pins` by CLONE AS and ATTACH PARTITION FROM, which every adapter of the store can run. */
export class PinStatements implements Pins {
  readonly #statements: Statements
  /** Clauses of pins by what they are of, for `Store.definitionVersion`. */
  #known = { version: -1, keys: new Map<string, string>() }

  constructor(statements: Statements) {
    this.#statements = statements
  }

  async prepare(pin: string, of: string): Promise<PreparedPin> {
    assert(pin !== of, 'a pin is a table of its own')
    const [keys] = await Promise.all([this.#pinKeys(of), this.drop(pin)])
    return { pin, of, keys }
  }

  async make({ pin, of, keys }: PreparedPin): Promise<void> {
    await this.#statements.command(plainTable(pin, `CLONE AS ${qualified(of)}`, keys), { isAside: true, isLong: true })
  }

  async drop(pin: string): Promise<void> {
    await this.#statements.command(`DROP TABLE IF EXISTS ${qualified(pin)}`, { isAside: true })
  }

  async makeAlike(pin: string, of: string): Promise<void> {
    assert(pin !== of, 'a pin is a table of its own')
    await this.#statements.command(`DROP TABLE IF EXISTS ${qualified(pin)}`)
    await this.#statements.command(`CREATE TABLE ${qualified(pin)} AS ${qualified(of)}`, { computes: true })
    await this.#statements.command(`ALTER TABLE ${qualified(pin)} MODIFY SETTING ${settingsText(mergeless)}`)
    await this.#attachAll(pin, of)
  }

  async makePlain(table: string, like: string): Promise<void> {
    await this.#statements.command(`DROP TABLE IF EXISTS ${qualified(table)}`)
    // The engine takes a part that was merged for one that has no two rows of a key, which a plain table leaves in it.
    const settings = { ...mergeless, ...manyParts, non_replicated_deduplication_window: 10_000 }
    await this.#statements.command(plainTable(table, `AS ${qualified(like)}`, await this.#keysOf(like, settings)))
  }

  async parts(pin: string, read: readonly string[] | null): Promise<readonly PinnedPart[]> {
    const where = `active AND rows > 0 AND database = ${quoteString(workspaceDatabase)} AND table = ${quoteString(pin)}`
    if (read === null) {
      return await this.#statements.rows<PinnedPart>(
        `SELECT name, partition_id AS partition, rows AS rowCount, data_uncompressed_bytes AS byteCount
         FROM system.parts WHERE ${where} ORDER BY partition_id, min_block_number`,
      )
    }
    // A column of Nested has the name before its point.
    const isRead = `has([${read.map(quoteString).join(', ')}]::Array(String), splitByChar('.', column)[1])`
    const rows = await this.#statements.rows<PinnedPart & PartColumns>(
      `SELECT name, any(partition_id) AS partition, any(rows) AS rowCount, any(data_uncompressed_bytes) AS byteCount,
         sum(column_data_uncompressed_bytes) AS known, sumIf(column_data_uncompressed_bytes, ${isRead}) AS read
       FROM system.parts_columns WHERE ${where} GROUP BY name ORDER BY partition, any(min_block_number)`,
    )
    const shareOfAll = shareOf(rows) ?? 1
    return rows.map(({ known, read: readBytes, byteCount, ...part }) => {
      const share = shareOf([{ known, read: readBytes }]) ?? shareOfAll
      return { ...part, byteCount: Math.ceil(byteCount * share) }
    })
  }

  async #pinKeys(of: string): Promise<string> {
    const version = this.#statements.definitionVersion
    if (this.#known.version !== version) this.#known = { version, keys: new Map() }
    const { keys } = this.#known
    const known = keys.get(of) ?? (await this.#keysOf(of, mergeless))
    keys.set(of, known)
    return known
  }

  async #attachAll(into: string, from: string): Promise<void> {
    const attach = `ATTACH PARTITION ALL FROM ${qualified(from)}`
    await this.#statements.command(`ALTER TABLE ${qualified(into)} ${attach}`, { isLong: true })
  }

  async #keysOf(table: string, merges: Settings): Promise<string> {
    const [found] = await this.#statements.rows<TableKeys>(
      `SELECT sorting_key AS sorting, primary_key AS primary, partition_key AS partition, sampling_key AS sampling, engine_full AS engine
       FROM system.tables WHERE database = ${quoteString(workspaceDatabase)} AND name = ${quoteString(table)}`,
    )
    const { primary = '', partition = '', sampling = '', engine = '' } = found ?? {}
    const sorting = declaredSorting(found?.sorting ?? '', engine)
    // The engine's own texts of expressions.
    const clauses = [
      ...(partition === '' ? [] : [`PARTITION BY ${keyText(partition)}`]),
      ...(primary === '' || keyText(primary) === keyText(sorting) ? [] : [`PRIMARY KEY ${keyText(primary)}`]),
      `ORDER BY ${keyText(sorting)}`,
      ...(sampling === '' ? [] : [`SAMPLE BY ${sampling}`]),
    ]
    const isApart = /\bshare_nested_offsets = 0\b/.test(engine)
    const isNullable = /\ballow_nullable_key = 1\b/.test(engine)
    const settings = {
      ...merges,
      ...(isApart ? { share_nested_offsets: 0 } : {}),
      ...(isNullable ? { allow_nullable_key: 1 } : {}),
    }
    return `${clauses.join(' ')} SETTINGS ${settingsText(settings)}`
  }
}

/** Bytes before compression; none where a part has all columns in one file, of which the engine does not tell them. */
interface PartColumns {
  /** Of all columns. */
  readonly known: number
  /** Of those that are read. */
  readonly read: number
}

function shareOf(parts: readonly PartColumns[]): number | null {
  const known = parts.reduce((bytes, part) => bytes + part.known, 0)
  return known === 0 ? null : parts.reduce((bytes, part) => bytes + part.read, 0) / known
}

/**
 * The engine attaches parts of tables whose columns, keys and indexes are the same; what merges do may differ. With an engine of
 * its own a table takes no TTL from the other.
 */
function plainTable(table: string, like: string, keys: string): string {
  return `CREATE TABLE ${qualified(table)} ${like} ENGINE = MergeTree ${keys}`
}

/** The engine tells the sorting key of VersionedCollapsingMergeTree with the version behind it, and compares it without. */
function declaredSorting(sorting: string, engine: string): string {
  if (!engine.startsWith('VersionedCollapsingMergeTree')) return sorting
  let depth = 0
  let from = -1
  const tokens = [...tokenize(engine)]
  for (const [index, { key, offset, text }] of tokens.entries()) {
    if (depth === 0 && key === 'BY' && tokens[index - 1]?.key === 'ORDER') from = offset + text.length
    else if (depth === 0 && from >= 0 && keyEnds.has(key)) return engine.slice(from, offset).trim()
    if (key === '(' || key === '[') depth += 1
    if (key === ')' || key === ']') depth -= 1
  }
  return from < 0 ? sorting : engine.slice(from).trim()
}

const keyEnds: ReadonlySet<string> = new Set(['SAMPLE', 'TTL', 'SETTINGS'])

interface TableKeys {
  readonly sorting: string
  readonly primary: string
  readonly partition: string
  readonly sampling: string
  readonly engine: string
}

/** The engine compares texts of keys, and prints one of several expressions without its brackets, one of none as nothing. */
function keyText(key: string): string {
  let depth = 0
  for (const { text } of tokenize(key)) {
    if (text === '(' || text === '[' || text === '{') depth += 1
    if (text === ')' || text === ']' || text === '}') depth -= 1
    if (text === ',' && depth === 0) return `(${key})`
  }
  return key === '' ? 'tuple()' : key
}
