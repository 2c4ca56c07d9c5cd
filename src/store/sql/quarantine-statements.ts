import { quarantineTimeColumn } from '../../schema/columns/column-name.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import type {
  QuarantineGroupRow,
  QuarantineGroups,
  QuarantineGroupsRequest,
  Quarantines,
} from '../quarantines.types.ts'
import type { Statements } from '../statements.types.ts'
import type { Reads } from '../store.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { plainReason } from './plain-reason.ts'
import { qualified } from './qualified.ts'
import { quarantineTable } from './quarantine-table.ts'
import { readRows } from './reader-rows.ts'

/** `Quarantines` by statements that every adapter of the store can run. */
export class QuarantineStatements implements Quarantines {
  readonly #statements: Statements
  readonly #reads: Pick<Reads, 'select'>

  constructor(statements: Statements, reads: Pick<Reads, 'select'>) {
    this.#statements = statements
    this.#reads = reads
  }

  async summarize(request: QuarantineGroupsRequest): Promise<QuarantineGroups> {
    const { table, signal } = request
    const count = `SELECT count() AS rowCount FROM ${qualified(quarantineTable(table))}`
    const [total] = await readRows<{ readonly rowCount: number | string }>(this.#reads, count, signal)
    const rows = await readRows<GroupRow>(this.#reads, groupsStatement(request), signal)
    const groups = rows.map((row) => {
      return { ...row, rowCount: Number(row.rowCount), missingCount: Number(row.missingCount) }
    })
    return { rowCount: Number(total?.rowCount ?? 0), groups }
  }

  async countOfImport(quarantine: string, importId: string): Promise<number> {
    const [row] = await this.#statements.rows<{ readonly count: number }>(
      `SELECT count() AS count FROM ${qualified(quarantine)} WHERE c__import_id = ${quoteString(importId)}`,
      { isLong: true },
    )
    return row?.count ?? 0
  }

  async ensureRowIds(table: string): Promise<void> {
    const name = quarantineTable(table)
    const active = `database = ${quoteString(workspaceDatabase)} AND table = ${quoteString(name)} AND active`
    // It is in no `SELECT *`.
    const addColumn = 'ADD COLUMN IF NOT EXISTS c__row UUID MATERIALIZED generateUUIDv7()'
    await this.#statements.command(`ALTER TABLE ${qualified(name)} ${addColumn}`)
    const [parts] = await this.#statements.rows<{ readonly count: number }>(
      `SELECT count() AS count FROM system.parts WHERE ${active}
       AND name NOT IN (SELECT name FROM system.parts_columns WHERE ${active} AND column = 'c__row')`,
    )
    // Parts of before have none: each read would make up others.
    if ((parts?.count ?? 0) === 0) return
    const materialize = 'MATERIALIZE COLUMN c__row SETTINGS mutations_sync = 2'
    await this.#statements.command(`ALTER TABLE ${qualified(name)} ${materialize}`, { isLong: true })
  }
}

/** Counts come as texts where the reader quotes 64-bit integers. */
type GroupRow = Omit<QuarantineGroupRow, 'missingCount' | 'rowCount'> & {
  readonly rowCount: number | string
  readonly missingCount: number | string
}

// Names that no schema can have: an alias would hide a column of the same name, and Kafka's have such a `__value`.
const [pair, column, fault, value, time] = ['__1', '__2', '__3', '__4', '__5'] as const

function groupsStatement({ table, columns, groupsMax, valuesMax, valueLengthMax }: QuarantineGroupsRequest): string {
  const choices = columns.map(({ name }) => `${column} = ${quoteString(name)}, ${quoteName(name)}`).join(', ')
  const text = `substringUTF8(if(${column} = '', ${fault}, ${value}), 1, ${valueLengthMax})`
  return `SELECT ${column} AS column, ${plainReason(fault)} AS reason, count() AS rowCount,
      toString(min(${time})) AS first, toString(max(${time})) AS last,
      groupUniqArray(${valuesMax})(${text}) AS texts, countIf(isNull(${value})) AS missingCount
    FROM (
      SELECT arrayJoin(arrayZip(c__error_column, c__error)) AS ${pair}, ${pair}.1 AS ${column}, ${pair}.2 AS ${fault},
        ${quoteName(quarantineTimeColumn(columns))} AS ${time}, CAST(multiIf(${choices}, NULL), 'Nullable(String)') AS ${value}
      FROM ${qualified(quarantineTable(table))}
    )
    GROUP BY column, reason ORDER BY rowCount DESC, column, reason LIMIT ${groupsMax}`
}
