import { setImmediate } from 'node:timers/promises'

/** How long the event loop may be held by work that is done piece by piece, by all such work together. */
const sliceMs = 10

/** When this turn of the event loop began, as far as such work knows. */
let startMs = performance.now()
let nextTurn: Promise<void> | null = null

/**
 * Gives others their turn while many pieces of work are done. Call it between two pieces: it waits for the next turn of the
 * event loop when this one has taken long enough. Eight bodies that are unpacked at once hold the loop no longer than one.
 */
export async function giveWay(): Promise<void> {
  if (performance.now() - startMs < sliceMs) return
  nextTurn ??= beginTurn()
  await nextTurn
}

/** Work that is done piece by piece: it pauses between two of them. */
export type Pieces<Result = void> = Generator<undefined, Result, undefined>

/** Does such work to its end, and gives others their turn. */
export async function inTimeSlices<Result>(pieces: Pieces<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = pieces.next()
    if (done === true) return value
    await giveWay()
  }
}

async function beginTurn(): Promise<void> {
  await setImmediate()
  nextTurn = null
  startMs = performance.now()
}
