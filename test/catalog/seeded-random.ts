/** A seed out of SEED=, or a new one. */
export function readSeed(): number {
  return Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))
}

/** Integers from 0 to below `limit`, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) % limit
  }
}
