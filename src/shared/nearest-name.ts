/** Names with more letters wrong than this are no slips of the pen. */
const distanceMax = 3
/** Longer ones are not compared: the work grows with the length. */
const nameCharsMax = 100
/** Names that are looked at; a workspace of more has no advice about the others. */
const candidatesMax = 20_000
/** Pairs of letters that are compared in all, a few milliseconds: enough for thousands of names that have little in common. */
const comparisonsMax = 200_000

/**
 * The known name that was most likely meant, or undefined when none is near.
 *
 * Near is: at most a third of the letters, and at most three, are wrong, missing, too many, or swapped with the next one; or
 * nothing but the case differs. The work is bounded for any name and any list.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > nameCharsMax) return undefined
  const lower = name.toLowerCase()
  let nearest: string | undefined
  let bound = Math.min(distanceMax, Math.floor(name.length / 3)) + 1
  const left = { candidates: candidatesMax, comparisons: comparisonsMax }
  for (const candidate of known) {
    left.candidates -= 1
    if (left.candidates < 0 || left.comparisons < 0) break
    if (Math.abs(candidate.length - name.length) >= bound && bound > 0) continue
    if (candidate.toLowerCase() === lower) return candidate
    const distance = editDistance(name, candidate, { bound, left })
    if (distance >= bound) continue
    nearest = candidate
    bound = distance
  }
  return nearest
}

/** `Did you mean 'visits'?`, or undefined where nothing near is known. A name itself is no advice. */
export function didYouMean(name: string, known: Iterable<string>): string | undefined {
  const nearest = nearestName(name, known)
  return nearest === undefined || nearest === name ? undefined : `Did you mean '${nearest}'?`
}

interface Search {
  /** As many edits or more are of no interest. */
  readonly bound: number
  /** What may still be done. */
  readonly left: { comparisons: number }
}

/**
 * Edits of one letter that make `right` of `left`, or `bound` when it takes as many or more; two letters that are swapped are
 * one edit (optimal string alignment).
 *
 * Only the cells beside the diagonal are computed, as those further off cost `bound` or more.
 */
function editDistance(left: string, right: string, { bound, left: budget }: Search): number {
  const width = right.length + 1
  let beforeLast = new Uint8Array(width).fill(bound)
  let last = new Uint8Array(width).map((_, column) => Math.min(column, bound))
  let current = new Uint8Array(width)
  for (let row = 1; row <= left.length; row += 1) {
    current.fill(bound)
    const from = Math.max(1, row - bound)
    const to = Math.min(right.length, row + bound)
    if (row <= bound) current[0] = row
    budget.comparisons -= to - from + 1
    let least = at(current, 0)
    for (let column = from; column <= to; column += 1) {
      const isSame = left[row - 1] === right[column - 1]
      const isSwapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1))
      if (isSwapped && row > 1 && column > 1) cost = Math.min(cost, at(beforeLast, column - 2) + 1)
      current[column] = Math.min(cost, bound)
      least = Math.min(least, cost)
    }
    if (least >= bound && Math.min(...last.subarray(Math.max(0, from - 1), to + 1)) >= bound) return bound
    ;[beforeLast, last, current] = [last, current, beforeLast]
  }
  return at(last, right.length)
}

function at(row: Uint8Array, column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
