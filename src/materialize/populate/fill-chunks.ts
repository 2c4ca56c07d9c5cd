import { isOfItsMemory, isOfMemory, StoreError } from '../../store/store-error.ts'

export interface ChunksToFill {
  /** The number of the first one that is not filled, and how many there are. */
  readonly from: number
  readonly total: number
  /** How many are filled beside each other. */
  readonly atOnce: number
  /** @param isAgain whether a try before may have stored it. */
  readonly fill: (index: number, isAgain: boolean) => Promise<void>
  readonly isStopped: () => boolean
}

export interface Failed {
  readonly thrown: unknown
}

/**
 * Fills chunks in their order, several beside each other. Where the engine as a whole lacks memory for one of these, that one is filled again
 * by itself, when the others have ended, and so are all behind it. Resolves when nothing is under way any more, with the first failure, or null.
 */
export async function fillChunks({ from, total, atOnce, fill, isStopped }: ChunksToFill): Promise<Failed | null> {
  let next = from
  let failure: Failed | null = null
  const lacking: number[] = []
  const goesOn = (): boolean => failure === null && !isStopped()
  const beside = async (): Promise<void> => {
    while (goesOn() && lacking.length === 0 && next < total) {
      const index = next
      next += 1
      try {
        await fill(index, false)
      } catch (thrown) {
        if (isOfMemoryOfAll(thrown)) lacking.push(index)
        else failure ??= { thrown }
      }
    }
  }
  const alone = async (index: number, isAgain: boolean): Promise<void> => {
    try {
      await fill(index, isAgain)
    } catch (thrown) {
      failure = { thrown }
    }
  }
  if (atOnce > 1) await Promise.all(Array.from({ length: atOnce }, beside))
  for (const index of lacking.sort((one, other) => one - other)) if (goesOn()) await alone(index, true)
  for (; goesOn() && next < total; next += 1) await alone(next, false)
  return failure
}

/** One that needs more than a statement may have would need it by itself too. */
function isOfMemoryOfAll(thrown: unknown): boolean {
  return thrown instanceof StoreError && isOfMemory(thrown) && !isOfItsMemory(thrown)
}
