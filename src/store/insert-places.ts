/**
 * Places for INSERTs, given out so that a data source whose INSERTs are slow holds up nobody else.
 *
 * There are common places, given out in the order of asking, and a few for the slow. An INSERT that takes longer than
 * `slowAfterMs` gives its common place back and goes on in one of the slow; from then on those of its data source ask for a
 * slow place, one at a time, until one of them is quick again. So a common place is held for `slowAfterMs` at most, unless
 * more data sources than there are slow places have become slow at once: while those are all taken, the last common place is
 * kept for data sources whose INSERTs were quick, and for those without any INSERT yet whose tables compute next to nothing.
 */
import { StoreError } from './store-error.ts'

export interface InsertPlacesOptions {
  readonly placesMax: number
  /** Half of them are kept for INSERTs that become slow while they run. */
  readonly slowPlacesMax: number
  readonly slowAfterMs: number
  /** INSERTs that may wait for a place; absent sets no bound. */
  readonly waitingMax?: number
  /** Counts up steadily. */
  readonly nowMs?: () => number
}

/** Whose INSERT it is. */
export interface InsertOrigin {
  /** Of the data source. */
  readonly key: string
  /** Whether the table computes next to nothing of a row: such INSERTs take as long as their bytes, and the engine can stop them. */
  readonly isPlain?: boolean
}

/** More would be data sources that are gone. */
const keysMax = 10_000
/** Who was slow once is not trusted with the kept place for so long: some of its rows may be quick and others not. */
const trustAfterMs = 300_000

interface Place {
  readonly key: string
  isSlow: boolean
  /** It runs for too long, and has a common place as long as no slow one is free. */
  isToMove: boolean
}

interface Waiter {
  readonly origin: InsertOrigin
  readonly give: (place: Place) => void
}

export class InsertPlaces {
  readonly #options: InsertPlacesOptions
  readonly #slowKeys = new Set<string>()
  readonly #quickKeys = new Set<string>()
  /** When each was slow last. */
  readonly #slowAtMs = new Map<string, number>()
  readonly #nowMs: () => number
  readonly #running = new Set<Place>()
  readonly #waiting = new Set<Waiter>()

  constructor(options: InsertPlacesOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
  }

  /**
   * Runs an INSERT, once there is a place for it.
   *
   * @param onSlow told when it takes longer than it may in a common place.
   * @throws StoreError `busy` when too many wait already, and whatever `work` throws.
   */
  async use<Result>(
    origin: InsertOrigin,
    work: () => Promise<Result>,
    onSlow: () => void = () => undefined,
  ): Promise<Result> {
    const place = await this.#take(origin)
    let wasSlow = false
    const timer = setTimeout(() => {
      wasSlow = true
      this.#noteSlow(place)
      onSlow()
    }, this.#options.slowAfterMs)
    try {
      return await work()
    } finally {
      clearTimeout(timer)
      if (!wasSlow) this.#noteQuick(origin.key)
      this.#running.delete(place)
      this.#serve()
    }
  }

  #take(origin: InsertOrigin): Promise<Place> {
    const { waitingMax = Number.POSITIVE_INFINITY } = this.#options
    const given = new Promise<Place>((give) => {
      this.#waiting.add({ origin, give })
    })
    this.#serve()
    if (this.#waiting.size <= waitingMax) return given
    const last = [...this.#waiting].at(-1)
    if (last !== undefined) this.#waiting.delete(last)
    const message = 'Too many statements wait for a free insert session; repeat it later'
    return Promise.reject(new StoreError({ kind: 'busy', message }))
  }

  #noteSlow(place: Place): void {
    this.#quickKeys.delete(place.key)
    addKey(this.#slowKeys, place.key)
    this.#slowAtMs.delete(place.key)
    this.#slowAtMs.set(place.key, this.#nowMs())
    const [oldest] = this.#slowAtMs.keys()
    if (this.#slowAtMs.size > keysMax && oldest !== undefined) this.#slowAtMs.delete(oldest)
    place.isToMove = !place.isSlow
    this.#serve()
  }

  #noteQuick(key: string): void {
    this.#slowKeys.delete(key)
    addKey(this.#quickKeys, key)
  }

  #serve(): void {
    for (const place of this.#running) {
      if (!place.isToMove || this.#count(true) >= this.#options.slowPlacesMax) continue
      place.isToMove = false
      place.isSlow = true
    }
    for (const waiter of this.#waiting) {
      const { key } = waiter.origin
      const isSlow = this.#slowKeys.has(key)
      if (!this.#isFree(waiter.origin, isSlow)) continue
      const place = { key, isSlow, isToMove: false }
      this.#running.add(place)
      this.#waiting.delete(waiter)
      waiter.give(place)
    }
  }

  #isFree(origin: InsertOrigin, isSlow: boolean): boolean {
    const { placesMax, slowPlacesMax } = this.#options
    if (!isSlow) {
      const isLastKept = this.#count(true) >= slowPlacesMax && placesMax > 1 && !this.#isTrusted(origin)
      return this.#count(false) < (isLastKept ? placesMax - 1 : placesMax)
    }
    const isOfKey = [...this.#running].some((place) => place.isSlow && place.key === origin.key)
    return !isOfKey && this.#count(true) < Math.ceil(slowPlacesMax / 2)
  }

  #isTrusted({ key, isPlain = false }: InsertOrigin): boolean {
    const slowAtMs = this.#slowAtMs.get(key)
    if (slowAtMs !== undefined && this.#nowMs() - slowAtMs < trustAfterMs) return false
    return isPlain || this.#quickKeys.has(key)
  }

  #count(isSlow: boolean): number {
    let count = 0
    for (const place of this.#running) if (place.isSlow === isSlow) count += 1
    return count
  }
}

/** The oldest goes when there are too many. */
function addKey(keys: Set<string>, key: string): void {
  const [oldest] = keys
  if (keys.size >= keysMax && oldest !== undefined) keys.delete(oldest)
  keys.add(key)
}
