// An INSERT of rows that are not in the log, such as those of an import, and the views that do not take it.

import type { AppendGate } from '../append-gate.ts'
import type { AppendKeeper, AppendRequest, KeptAppend, WrittenAppend } from '../store.types.ts'
import { isOfView, StoreError, storedError } from '../store-error.ts'

export interface PassingRequest extends AppendRequest {
  /** True passes over views that fail. */
  readonly passesViews?: boolean
}

export interface ViewsOfAppends {
  readonly gate: Pick<AppendGate, 'enter'>
  readonly keeper: AppendKeeper
}

/** Keeps nothing. */
export const noKeeper: AppendKeeper = {
  beforeAppend: (_append, before) => before,
  keepFailed: async (_append, _failure, before) => before,
  setAside: async () => false,
  notePassed: async () => undefined,
}

/** Views that are set aside one after the other at one INSERT, which is told of one at a time; any more are passed over together. */
const failuresMax = 100

/**
 * Inserts, while the gate is passed. A view that lacks the rows has them kept; one that fails is set aside with them, and the INSERT runs
 * once more under its token: so afterwards the rows are once in the table and in the other views, whatever was there when the view failed.
 *
 * @throws StoreError, that of the first view with `areRowsStored` where the append outlives its views.
 */
export async function appendForViews(
  append: WrittenAppend,
  views: ViewsOfAppends,
  insert: (request: PassingRequest) => Promise<void>,
): Promise<void> {
  const tries = new AppendTries(append, views, insert)
  const first = await tries.run({})
  if (first === null) return
  // Who waits may leave; what is begun is ended, as the table may have its rows.
  let failure: StoreError | null = first
  for (let count = 1; failure !== null && count <= failuresMax; count += 1) {
    if (!(await views.keeper.setAside(append, failure, tries.kept))) break
    failure = await tries.run({ leftBy: undefined })
  }
  if (failure !== null) await tries.runPast(failure)
  throw storedError(first)
}

class AppendTries {
  kept: KeptAppend | null = null
  readonly #append: WrittenAppend
  readonly #views: ViewsOfAppends
  readonly #insert: (request: PassingRequest) => Promise<void>
  #isBegun = false

  constructor(append: WrittenAppend, views: ViewsOfAppends, insert: (request: PassingRequest) => Promise<void>) {
    this.#append = append
    this.#views = views
    this.#insert = insert
  }

  /** Null when the rows are stored; else what a view failed with. @throws what it failed with otherwise. */
  async run(more: Partial<PassingRequest>): Promise<StoreError | null> {
    const { gate, keeper } = this.#views
    const leave = await gate.enter(this.#append.request.table)
    try {
      // Others may have been set aside since the last try.
      this.kept = await keeper.beforeAppend(this.#append, this.kept)
      const failure = await this.#runOnce(more)
      if (failure === null) await this.kept?.noteStored()
      else this.kept = await keeper.keepFailed(this.#append, failure, this.kept)
      return failure
    } finally {
      leave()
    }
  }

  /** Passes over all views that fail. */
  async runPast(failure: StoreError): Promise<void> {
    const { gate, keeper } = this.#views
    const leave = await gate.enter(this.#append.request.table)
    try {
      const again = await this.#runOnce({ passesViews: true, leftBy: undefined })
      if (again !== null) {
        await this.kept?.noteFailed(again, true)
        throw again
      }
      await keeper.notePassed(this.#append, failure, this.kept)
    } finally {
      leave()
    }
  }

  async #runOnce(more: Partial<PassingRequest>): Promise<StoreError | null> {
    const { request } = this.#append
    const onBegun = (): void => {
      this.#isBegun = true
      request.onBegun?.()
    }
    try {
      await this.#insert({ ...request, ...more, onBegun })
      return null
    } catch (thrown) {
      if (request.outlivesViews === true && thrown instanceof StoreError && isOfView(thrown)) return thrown
      await this.kept?.noteFailed(thrown, this.#isBegun)
      throw thrown
    }
  }
}
