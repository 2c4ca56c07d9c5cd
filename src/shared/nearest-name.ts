/** Names with more letters wrong than this are no slips of the pen. */
const distanceMax = 3
/** Longer ones are not compared: the work grows with the square. */
const nameCharsMax = 100

/**
 * The known name that was most likely meant, or undefined when none is near.
 *
 * Near is: at most a third of the letters, and at most three, are wrong, missing, too many, or swapped with the next one.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > nameCharsMax) return undefined
  let nearest: string | undefined
  let bound = Math.min(distanceMax, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= bound) continue
    const distance = editDistance(name, candidate)
    if (distance >= bound) continue
    nearest = candidate
    bound = distance
  }
  return nearest
}

/** Edits of one letter that make `right` of `left`; two letters that are swapped are one edit (optimal string alignment). */
function editDistance(left: string, right: string): number {
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1]
      const isSwapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      const costs = [at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1)]
      if (isSwapped && row > 1 && column > 1) costs.push(at(beforeLast, column - 2) + 1)
      current.push(Math.min(...costs))
    }
    beforeLast = last
    last = current
  }
  return at(last, right.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
