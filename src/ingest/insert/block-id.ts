import { randomUUID } from 'node:crypto'

/** Names one block of one table: its deduplication token and the name of its part files. */
export function createBlockId(): string {
  return randomUUID()
}
