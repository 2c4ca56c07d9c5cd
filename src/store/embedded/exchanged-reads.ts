/**
 * Readers' queries that may have found some of their tables before an exchange and others after it. The engine finds the tables of a
 * query one after the other and exchanges one pair after the other, so nothing but the time between them keeps the two apart; on a busy
 * machine that is not enough. What such a query gives is not told to anybody: it is asked again.
 */

import type { TablePair } from '../store.types.ts'
import { StoreError } from '../store-error.ts'

/** A query that runs. */
export interface OpenRead {
  /** @throws ReadMixed when an exchange came in its middle. */
  check(): void
  end(): void
}

/** The query read tables while they were exchanged: its result is not to be told. */
export class ReadMixed extends StoreError {
  constructor() {
    const message = 'Tables that the query reads were exchanged each time that it ran; repeat it later'
    super({ kind: 'busy', message })
  }
}

/** So long a query may take until it has found all of its tables: of one that runs for longer nothing is in doubt. */
const findingMsMax = 5_000

interface Reading {
  readonly sql: string
  readonly startedAtMs: number
  isMixed: boolean
}

export class ExchangedReads {
  readonly #now: () => number
  readonly #readings = new Set<Reading>()
  /** Tables of the exchanges that are under way. */
  readonly #exchanging = new Set<readonly string[]>()

  /** @param now milliseconds of a clock that is never set back. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** To be called when the engine is about to get a query. */
  begin(sql: string): OpenRead {
    const isMixed = [...this.#exchanging].some((tables) => namesTwo(sql, tables))
    const reading: Reading = { sql, startedAtMs: this.#now(), isMixed }
    this.#readings.add(reading)
    return {
      check: () => {
        if (reading.isMixed) throw new ReadMixed()
      },
      end: () => this.#readings.delete(reading),
    }
  }

  /** Runs an exchange of these tables. */
  async during(pairs: readonly TablePair[], exchange: () => Promise<void>): Promise<void> {
    const tables = pairs.flat()
    this.#exchanging.add(tables)
    const beganMs = this.#now()
    for (const reading of this.#readings) {
      const mayBeFinding = beganMs - reading.startedAtMs < findingMsMax
      if (mayBeFinding && namesTwo(reading.sql, tables)) reading.isMixed = true
    }
    try {
      await exchange()
    } finally {
      this.#exchanging.delete(tables)
    }
  }
}

/** Whether a query names tables of an exchange more than once: what is found once is old or new as a whole. */
function namesTwo(sql: string, tables: readonly string[]): boolean {
  const count = tables.reduce((sum, table) => sum + (sql.split(table, 3).length - 1), 0)
  return count > 1
}
