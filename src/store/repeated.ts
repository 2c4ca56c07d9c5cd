import { isStopped } from './store-error.ts'

/** Does once more what the engine ended in the middle of. Precondition: done twice it does no more. Raises `StoreError`. */
export async function repeated<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (thrown) {
    if (!isStopped(thrown)) throw thrown
    return await run()
  }
}
