/** What the names of pins begin with, and of the tables that are made beside them. */
export const pinPrefix = 'p_'

/** Whether it is the name of a pin, which has the parts of another table and is never exchanged with one, as tables beside it are. */
export function isPinName(table: string): boolean {
  return /^p_[0-9a-f]{32}(?:_b\d+)?$/.test(table)
}
