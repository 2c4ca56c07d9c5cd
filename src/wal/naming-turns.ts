/**
 * One change or look-up of the log's file names at a time: a reader that has found a segment opens the very file that was
 * meant, and not what a compaction puts in its place.
 */
export class NamingTurns {
  #last: Promise<unknown> = Promise.resolve()

  /** Settles as `work` does; turns are taken in the order of asking. */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    // Whoever took the turn hears of its failure; the next one has nothing to do with it.
    this.#last = turn.catch(() => undefined)
    return turn
  }
}
