/**
 * What becomes of reads of callers' Parquet files that do not end.
 *
 * The engine decodes pages in threads that all files share, eight on two cores, and cannot stop one within a page. A few late
 * reads are enough for a restart of the engine, INSERTs that read such a file among them: long before no file of anybody could
 * be read.
 */

/** Sessions for reads that are no INSERTs. */
export const fileReadsMax = 4
/** Late reads for which the engine is started again. */
const lateReadsMax = 2

/** Counts reads that are late until they end, and asks for a restart. */
export class LateReads {
  #count = 0
  readonly #restart: (areStuck: () => boolean) => void

  constructor(restart: (areStuck: () => boolean) => void) {
    this.#restart = restart
  }

  /** One more is late. Call what this gives once, when it has ended. */
  begin(): () => void {
    this.#count += 1
    const areStuck = (): boolean => this.#count >= lateReadsMax
    if (areStuck()) this.#restart(areStuck)
    return () => {
      this.#count -= 1
    }
  }

  /** Why no file can be read, as a clause; null when one can. */
  get unreadyReason(): string | null {
    return this.#count >= fileReadsMax ? 'Parquet files that it cannot stop reading hold its threads for them' : null
  }
}
