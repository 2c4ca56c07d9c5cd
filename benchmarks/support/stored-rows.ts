import { assert } from '../../src/shared/assert.ts'
import type { StoredRows } from './import-case.types.ts'

/** The SELECT whose one row is a `StoredRows`. */
export function selectStored(table: string, checksum: string): string {
  return `SELECT toString(count()) AS rowCount, toString(${checksum}) AS checksum FROM ${table}`
}

/** @throws InvariantError when the stored rows are not the expected ones. */
export function assertStored(name: string, stored: StoredRows | undefined, expected: StoredRows): void {
  assert(stored?.rowCount === expected.rowCount, `${name} stored ${stored?.rowCount} rows of ${expected.rowCount}`)
  const isChecked = expected.checksum !== null
  assert(!isChecked || stored.checksum === expected.checksum, `${name} stored rows with another checksum`)
}
