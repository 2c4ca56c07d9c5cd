import { ApiError, errors } from '../shared/errors/errors.ts'

/** A rename of something that the pipe reads has changed it while a change of its own was judged, or what a name stands for may have. */
export class StalePipeError extends Error {
  override readonly name = 'StalePipeError'
}

const triesMax = 10

/** Makes a change again when it was judged by a pipe that is another one by now. @throws CHANGES_TOO_MANY (503) */
export async function repeated<Result>(change: () => Promise<Result>): Promise<Result> {
  for (let count = 0; count < triesMax; count += 1) {
    try {
      return await change()
    } catch (thrown) {
      if (!(thrown instanceof StalePipeError)) throw thrown
    }
  }
  throw errors.CHANGES_TOO_MANY({ retryAfterSeconds: 1 })
}

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
