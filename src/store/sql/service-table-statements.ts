import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import type { ServiceRowBatch, ServiceTableDays, ServiceTables } from '../service-tables.types.ts'
import type { Statements } from '../statements.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { qualified } from './qualified.ts'
import {
  type ServiceTable,
  type ServiceTableName,
  serviceTableInEngine,
  serviceTableNames,
  serviceTables,
} from './service-tables.ts'
import { appendSettings, limitSettings, type Settings, settingsText } from './statement-settings.ts'

interface ServiceTableDeps {
  readonly statements: Statements
  /** Runs an INSERT beside those of users. */
  readonly insert: (sql: string) => Promise<void>
}

interface FoundColumn {
  readonly table: string
  readonly name: string
  readonly type: string
}

interface FoundTable {
  readonly name: string
  readonly engine: string
}

/** Batches have some hundred kilobytes. */
const insertLimits = { timeMaxMs: 60_000, memoryBytesMax: 256 * 1024 * 1024 }

const insertSettings: Settings = {
  ...appendSettings,
  ...limitSettings(insertLimits),
  // They are few and small, so one thread reads them.
  input_format_parallel_parsing: 0,
  // Of a table that could not be altered; the rest of the row is worth keeping.
  input_format_skip_unknown_fields: 1,
  // Rows of users go first: about a tenth of what these get where there are too few processors. Without CAP_SYS_NICE the engine passes over it.
  os_threads_nice_value_query: 10,
}

/** `ServiceTables` by statements that every adapter of the store can run. */
export class ServiceTableStatements implements ServiceTables {
  readonly #deps: ServiceTableDeps

  constructor(deps: ServiceTableDeps) {
    this.#deps = deps
  }

  async prepare(days: ServiceTableDays): Promise<void> {
    const { statements } = this.#deps
    const names = serviceTableNames.map((name) => quoteString(serviceTableInEngine(name))).join(', ')
    const among = `WHERE database = ${quoteString(workspaceDatabase)}`
    const columns = await statements.rows<FoundColumn>(
      `SELECT table, name, type FROM system.columns ${among} AND table IN (${names}) ORDER BY table, position`,
    )
    const tables = await statements.rows<FoundTable>(
      `SELECT name, engine_full AS engine FROM system.tables ${among} AND name IN (${names})`,
    )
    for (const name of serviceTableNames) {
      const inEngine = serviceTableInEngine(name)
      const found = tables.find((table) => table.name === inEngine)
      if (found === undefined) await statements.command(createStatement(name, days))
      else {
        const own = columns.filter(({ table }) => table === inEngine)
        for (const statement of alterStatements(name, { days, columns: own, engine: found.engine }))
          await statements.command(statement)
      }
    }
  }

  async insert(batch: ServiceRowBatch): Promise<void> {
    await this.#deps.insert(insertStatement(batch))
  }
}

function createStatement(name: ServiceTableName, days: ServiceTableDays): string {
  const table: ServiceTable = serviceTables[name]
  const columns = table.columns.map(([column, type]) => `${quoteName(column)} ${type}`).join(', ')
  return [
    `CREATE TABLE IF NOT EXISTS ${qualified(serviceTableInEngine(name))} (${columns})`,
    `ENGINE = ${table.engine} PARTITION BY ${table.partitionKey} ORDER BY (${table.sortingKey}) TTL ${ttlOf(table, days)}`,
    'SETTINGS non_replicated_deduplication_window = 100, ttl_only_drop_parts = 1',
  ].join('\n')
}

interface Found {
  readonly days: ServiceTableDays
  readonly columns: readonly FoundColumn[]
  /** As the engine prints it, with what follows it. */
  readonly engine: string
}

/** What turns a table of an earlier release, or of other days, into the one of now. */
function alterStatements(name: ServiceTableName, { days, columns, engine }: Found): readonly string[] {
  const table: ServiceTable = serviceTables[name]
  const types = new Map(columns.map((column) => [column.name, column.type]))
  const wanted = new Set(table.columns.map(([column]) => column))
  const changes: string[] = []
  let last: string | undefined
  for (const [column, type] of table.columns) {
    const place = last === undefined ? 'FIRST' : `AFTER ${quoteName(last)}`
    const known = types.get(column)
    if (known === undefined) changes.push(`ADD COLUMN IF NOT EXISTS ${quoteName(column)} ${type} ${place}`)
    else if (known !== type) changes.push(`MODIFY COLUMN ${quoteName(column)} ${type}`)
    last = column
  }
  for (const column of types.keys()) if (!wanted.has(column)) changes.push(`DROP COLUMN IF EXISTS ${quoteName(column)}`)
  const ttl = ttlOf(table, days)
  const target = qualified(serviceTableInEngine(name))
  return [
    ...(changes.length === 0 ? [] : [`ALTER TABLE ${target} ${changes.join(', ')}`]),
    ...(engine.includes(`TTL ${ttl} `) ? [] : [`ALTER TABLE ${target} MODIFY TTL ${ttl}`]),
  ]
}

/** As the engine prints it, so that it can be compared. */
function ttlOf({ timeColumn, kept }: ServiceTable, days: ServiceTableDays): string {
  return `${timeColumn} + toIntervalDay(${days[kept]})`
}

function insertStatement({ table: name, lines, token }: ServiceRowBatch): string {
  const { filledFrom }: ServiceTable = serviceTables[name]
  const table = qualified(serviceTableInEngine(name))
  const settings = settingsText({ ...insertSettings, insert_deduplication_token: token })
  if (filledFrom === undefined) return `INSERT INTO ${table} SETTINGS ${settings} FORMAT JSONEachRow\n${lines}`
  const { fields, expressions } = filledFrom
  return [
    `INSERT INTO ${table} (${Object.keys(expressions).map(quoteName).join(', ')})`,
    `SELECT ${Object.values(expressions).join(', ')}`,
    `FROM format('JSONEachRow', ${quoteString(fields)}, ${quoteString(lines)})`,
    `SETTINGS ${settings}`,
  ].join('\n')
}
