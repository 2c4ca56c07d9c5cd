/**
 * When each token was used last. A use is noted in memory; within a minute it is on disk.
 *
 * Tokens are gathered by the first two digits of their ids into 256 records at most, so that a minute in which all of 100,000
 * were used writes 256 records and not 100,000.
 */
import type { Logger } from '../../observe/logger.ts'
import type { LoadedRecords, LoadedWrite } from '../../storage/loaded-records.ts'

export interface UsesOptions {
  readonly intervalMs: number
  /** Whether there is a token of this id: uses of others are forgotten. */
  readonly isKnown: (id: string) => boolean
}

interface UsesDeps {
  readonly records: LoadedRecords
  readonly logger: Logger
}

const groupDigits = 2
/** Of one transaction, between two of which others have their turn. */
const recordsPerWrite = 16

export class TokenUses {
  readonly #options: UsesOptions
  readonly #deps: UsesDeps
  /** Epoch milliseconds by id, by the first digits of the id. */
  readonly #groups = new Map<string, Map<string, number>>()
  readonly #unwritten = new Set<string>()
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> = Promise.resolve()

  constructor(options: UsesOptions, deps: UsesDeps) {
    this.#options = options
    this.#deps = deps
    for (const [group, record] of deps.records.take('token_uses')) this.#groups.set(group, decodeUses(record))
  }

  lastUsedAt(id: string): number | null {
    return this.#groups.get(groupOf(id))?.get(id) ?? null
  }

  note(id: string, at: number): void {
    const group = groupOf(id)
    const uses = this.#groups.get(group)
    if (uses === undefined) this.#groups.set(group, new Map([[id, at]]))
    else uses.set(id, at)
    this.#unwritten.add(group)
    this.#timer ??= setTimeout(() => this.#writeSoon(), this.#options.intervalMs).unref()
  }

  /** What is on disk of it goes with the next use of one beside it. */
  forget(id: string): void {
    this.#groups.get(groupOf(id))?.delete(id)
  }

  async close(): Promise<void> {
    this.#writeSoon()
    await this.#writing
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #writeSoon(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#writing = this.#writing.then(() => this.#write())
  }

  async #write(): Promise<void> {
    const groups = [...this.#unwritten]
    this.#unwritten.clear()
    try {
      while (groups.length > 0) {
        await this.#deps.records.write(groups.slice(0, recordsPerWrite).map((group) => this.#writeOf(group)))
        groups.splice(0, recordsPerWrite)
      }
    } catch (err) {
      // They are noted with the next use.
      for (const group of groups) this.#unwritten.add(group)
      this.#deps.logger.warn({ err }, 'The last uses of tokens could not be written.')
    }
  }

  #writeOf(group: string): LoadedWrite {
    const uses = this.#groups.get(group) ?? new Map<string, number>()
    for (const id of uses.keys()) if (!this.#options.isKnown(id)) uses.delete(id)
    return { kind: 'token_uses', key: group, value: uses.size === 0 ? null : Object.fromEntries(uses) }
  }
}

function groupOf(id: string): string {
  return id.slice(0, groupDigits)
}

/** What cannot be read is left out: nothing but the time of a last use is lost with it. */
function decodeUses(record: unknown): Map<string, number> {
  if (typeof record !== 'object' || record === null) return new Map()
  return new Map(Object.entries(record).filter((use): use is [string, number] => typeof use[1] === 'number'))
}
