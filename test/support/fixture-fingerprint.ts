import { createHash } from 'node:crypto'
import type { FixtureCheck } from './fixture.types.ts'

/** A stored row as text, column by column, as the engine's `toString` gives it; null for NULL. */
export type FixtureRow = Readonly<Record<string, string | null>>

/**
 * One check over every cell: the MD5 of all rows as lines in byte order, which the engine and we compute each on its own.
 * Cells stand between tabs and NULL is `\N`, so the texts must hold neither.
 */
export function fingerprintCheck(dataSource: string, rows: readonly FixtureRow[]): FixtureCheck {
  const columns = Object.keys(rows[0] ?? {})
  const line = columns.map((column) => `ifNull(toString(${column}), '\\\\N')`).join(", '\\t', ")
  const sql = `SELECT lower(hex(MD5(arrayStringConcat(arraySort(groupArray(concat(${line}))), '\\n')))) AS fingerprint FROM ${dataSource}`
  const lines = rows.map((row) => Buffer.from(columns.map((column) => row[column] ?? '\\N').join('\t')))
  const sorted = lines.sort(Buffer.compare).map((bytes) => bytes.toString())
  return { sql, row: { fingerprint: createHash('md5').update(sorted.join('\n')).digest('hex') } }
}
