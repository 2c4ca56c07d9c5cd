import { decodeBarrier } from './entry-payloads.ts'

/** The last barrier of a stream. */
export interface Generation {
  readonly generation: number
  readonly isFinal: boolean
  /** The barrier's place in the log. */
  readonly sequence: number
}

/** The generation of each stream that ever had a barrier and still exists. */
export class Generations {
  readonly #byStream: Map<string, Generation>

  constructor(known: ReadonlyMap<string, Generation> = new Map()) {
    this.#byStream = new Map(known)
  }

  /** 0 for a stream without a barrier. */
  of(stream: string): number {
    return this.#byStream.get(stream)?.generation ?? 0
  }

  /** Whether one more barrier of `stream` keeps to a maximum of streams. */
  hasRoomFor(stream: string, streamsMax: number): boolean {
    return this.#byStream.has(stream) || this.#byStream.size < streamsMax
  }

  /** Takes a barrier out of the log; one that is known already, or is older than the one that is known, changes nothing. */
  apply(stream: string, sequence: number, payload: Uint8Array): void {
    const { generation, isFinal } = decodeBarrier(payload)
    if (generation <= this.of(stream)) return
    this.#byStream.set(stream, { generation, isFinal, sequence })
  }

  /** Drops streams that are gone for good and of which the log needs nothing from `sequence` on. */
  forgetBelow(sequence: number): void {
    for (const [stream, known] of this.#byStream) {
      if (known.isFinal && known.sequence < sequence) this.#byStream.delete(stream)
    }
  }

  entries(): ReadonlyMap<string, Generation> {
    return this.#byStream
  }
}
