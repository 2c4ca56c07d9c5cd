import { errors } from '../shared/errors.ts'

/** Imports that are open at once: each holds a frame, or a sample, of what has come. */
const importsOpenMax = 128
const retryAfterSeconds = 5

/** Bounds how many imports are open; beyond it the next one is to come later. */
export class ImportPlaces {
  private free: number

  constructor(count = importsOpenMax) {
    this.free = count
  }

  /** Takes a place and gives what gives it back, once. @throws BODIES_TOO_MANY (503) when there is none. */
  take(): () => void {
    if (this.free === 0) throw errors.BODIES_TOO_MANY({ retryAfterSeconds })
    this.free -= 1
    let isTaken = true
    return () => {
      if (isTaken) this.free += 1
      isTaken = false
    }
  }
}
