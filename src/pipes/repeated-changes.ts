import { ApiError, errors } from '../shared/errors/errors.ts'
import { within } from '../shared/within.ts'

/** A rename of something that the pipe reads has changed it while a change of its own was judged, or what a name stands for may have. */
export class StalePipeError extends Error {
  override readonly name = 'StalePipeError'
}

/** How often a change is tried beside others, and then alone. */
const triesMax = { beside: 5, alone: 5 }
/** A change may wait for a job that works on what it reads, and others are not to wait for that. */
const waitMsMax = 2_000

/**
 * Changes of pipes. Those of different pipes run beside each other, and one is made again when it was judged by a pipe that is another one
 * by now. Where others come before it again and again, it runs alone in the end: they wait for it, for a while.
 */
export class RepeatedChanges {
  readonly #waitMsMax: number
  readonly #beside = new Set<Promise<unknown>>()
  /** Those that run alone, one after the other; null for none. */
  #alone: Promise<unknown> | null = null

  constructor(waitMs = waitMsMax) {
    this.#waitMsMax = waitMs
  }

  /** @throws CHANGES_TOO_MANY, CHANGE_OUTRUN (503) when it was outrun alone too, by changes of data sources; what `change` throws. */
  async run<Result>(change: () => Promise<Result>): Promise<Result> {
    const found = await repeated(triesMax.beside, () => this.#runBeside(change))
    if (!(found instanceof Outrun)) return found
    const last = await this.#runAlone(() => repeated(triesMax.alone, change))
    if (!(last instanceof Outrun)) return last
    throw last.cause instanceof ApiError ? last.cause : errors.CHANGES_TOO_MANY({ retryAfterSeconds: 1 })
  }

  async #runBeside<Result>(change: () => Promise<Result>): Promise<Result> {
    if (this.#alone !== null) await within(this.#waitMsMax, this.#alone)
    const running = change()
    const ended = running.then(nothing, nothing)
    this.#beside.add(ended)
    try {
      return await running
    } finally {
      this.#beside.delete(ended)
    }
  }

  async #runAlone<Result>(change: () => Promise<Result>): Promise<Result> {
    const others = [...(this.#alone === null ? [] : [this.#alone]), ...this.#beside]
    const running = within(this.#waitMsMax, Promise.all(others)).then(change)
    const ended = running.then(nothing, nothing)
    this.#alone = ended
    try {
      return await running
    } finally {
      if (this.#alone === ended) this.#alone = null
    }
  }
}

/** Each try was judged by something that was another one by then. */
class Outrun {
  /** Of the last try. */
  readonly cause: unknown

  constructor(cause: unknown) {
    this.cause = cause
  }
}

/** What the change gives. */
async function repeated<Result>(triesMax: number, change: () => Promise<Result>): Promise<Result | Outrun> {
  let last: unknown
  for (let count = 0; count < triesMax; count += 1) {
    try {
      return await change()
    } catch (thrown) {
      if (!isOfAnother(thrown)) throw thrown
      last = thrown
    }
  }
  return new Outrun(last)
}

/** Whether a change failed by what others have changed meanwhile: to judge it anew tells more. */
function isOfAnother(thrown: unknown): boolean {
  return thrown instanceof StalePipeError || (thrown instanceof ApiError && thrown.code === 'CHANGE_OUTRUN')
}

function nothing(): void {}

/** Runs a change of a pipe that is refused for what the pipe is now. @throws StalePipeError where it was refused for names that are others by now. */
export async function refusedAsItIs<Result>(change: () => Promise<Result>, isOther: () => boolean): Promise<Result> {
  try {
    return await change()
  } catch (thrown) {
    const isInvalid = thrown instanceof ApiError && thrown.status === 400
    if (isInvalid && isOther()) throw new StalePipeError(undefined, { cause: thrown })
    throw thrown
  }
}
