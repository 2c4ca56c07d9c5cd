/**
 * Replaces that were asked for and have not begun: their rows are still on the way. Rows that are acknowledged meanwhile are of
 * the old content, and go with it; those that come when a replace has begun are held and kept. Both senders are told.
 */
import type { DataSource, DataSourceId } from '../../catalog/data-source.types.ts'

/** A replace from the arrival of its request until it begins, or ends without. */
export interface PendingReplace {
  /** From here on the rows of events are kept. */
  hold(): void
  /** From here on no import runs, either. */
  begin(): void
  /** May be called more than once, and behind `begin`. */
  end(): void
  /** A sentence about the rows that came in front of its beginning, if any did. */
  warnings(): readonly string[]
}

interface Pending {
  readonly isConditional: boolean
  isHeld: boolean
  rowCount: number
}

/** One for all: each event asks. */
const none: readonly string[] = []

export class PendingReplaces {
  readonly #pending = new Map<DataSourceId, Set<Pending>>()

  add({ id, name }: DataSource, { isConditional }: { readonly isConditional: boolean }): PendingReplace {
    const replace: Pending = { isConditional, isHeld: false, rowCount: 0 }
    const others = this.#pending.get(id) ?? new Set()
    this.#pending.set(id, others.add(replace))
    const end = (): void => {
      others.delete(replace)
      if (others.size === 0 && this.#pending.get(id) === others) this.#pending.delete(id)
    }
    return {
      hold() {
        replace.isHeld = true
      },
      begin: end,
      end,
      warnings() {
        const { rowCount } = replace
        if (rowCount === 0) return []
        const rows = rowCount === 1 ? '1 row was' : `${rowCount} rows were`
        const gone = isConditional ? 'those that match its condition went' : 'they went'
        return [
          `${rows} acknowledged for Data Source "${name}" between the arrival of this request and the beginning of the replace: ${gone} with the old content.`,
        ]
      },
    }
  }

  /** Rows that were just acknowledged; gives a sentence for their sender when a replace is to take them. */
  note({ id, name }: DataSource, rowCount: number, from: 'events' | 'import'): readonly string[] {
    const pending = this.#pending.get(id)
    if (pending === undefined || rowCount === 0) return none
    const replaces = [...pending].filter(({ isHeld }) => from === 'import' || !isHeld)
    if (replaces.length === 0) return none
    for (const replace of replaces) replace.rowCount += rowCount
    const which = replaces.every(({ isConditional }) => isConditional) ? ' where they match its condition' : ''
    return [
      `A replace of Data Source "${name}" is on its way: when it begins, these rows go with the old content${which}.`,
    ]
  }
}
