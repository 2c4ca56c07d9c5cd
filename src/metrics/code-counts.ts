const codesMin = 100
const codesMax = 600
/** More statuses than the service has; others are counted in the last place. */
const placesMax = 48

/** The place of each status in all arrays of counts, in the order in which they came first. */
const places = new Uint8Array(codesMax - codesMin)
const codes: number[] = []

/** Answers counted by their status, in plain numbers. */
export class CodeCounts {
  readonly #counts = new Float64Array(placesMax)

  add(code: number): void {
    const place = placeOf(code)
    this.#counts[place] = (this.#counts[place] ?? 0) + 1
  }

  get total(): number {
    return this.#counts.reduce((total, count) => total + count, 0)
  }

  /** Those that were counted at all. */
  *entries(): Generator<readonly [code: number, count: number]> {
    for (const [place, code] of codes.entries()) {
      const count = this.#counts[place] ?? 0
      if (count > 0) yield [code, count]
    }
  }
}

function placeOf(code: number): number {
  const at = code - codesMin
  // Places are kept from 1 on, as 0 is a status that has none yet.
  const kept = places[at]
  if (kept !== undefined && kept > 0) return kept - 1
  if (codes.length >= placesMax) return placesMax - 1
  codes.push(code)
  if (at >= 0 && at < places.length) places[at] = codes.length
  return codes.length - 1
}
