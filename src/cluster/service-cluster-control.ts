/**
 * Keeps endpoints that fail from taking what the others need.
 *
 * Requests are counted in windows. At the end of each, an endpoint is limited for the next one when both hold: memory or processors
 * are under pressure, and its answers with 408 and 500 are more than a share of its successful ones. It may then have as many
 * requests under way as it had at its peak, less the share of errors among them. Under pressure on the processors alone this is
 * so only for an endpoint that uses much of them.
 *
 * An endpoint is free again with the first window at whose end one of the two does not hold: a window in which it failed may still
 * be running when it begins to work again, so that takes two at most. A limit takes the pressure away that it is for, so while it
 * refuses requests, what the endpoint used without it counts as if it were used: else the endpoint would be free every other window.
 * Beyond its limit a request is refused.
 *
 * The load average of a minute tells of pressure late. So the queries of an endpoint that fails and uses much of the processors leave
 * them to others from its first error on, limited or not.
 */
import type { Logger } from '../observe/logger.ts'
import { type ApiError, errors } from '../shared/errors/errors.ts'
import type {
  ClusterControl,
  ClusterControlOptions,
  ClusterState,
  ControlledPipe,
  LimitedEndpoint,
} from './cluster-control.types.ts'
import { type EndpointLimit, EndpointLoad, type EndpointWindow, type Pressure } from './endpoint-load.ts'
import { HeldRefusals, heldMs } from './held-refusals.ts'
import type { Machine, MachineReading } from './machine.types.ts'

export interface ClusterControlDeps {
  readonly machine: Machine
  readonly logger: Pick<Logger, 'info' | 'warn'>
  /** Milliseconds of a clock that is never set back. */
  readonly now: () => number
  /** Resolves after so many milliseconds, or when it is aborted. */
  readonly delay: (ms: number, signal: AbortSignal) => Promise<void>
}

export class ServiceClusterControl implements ClusterControl {
  readonly #options: ClusterControlOptions
  readonly #deps: ClusterControlDeps
  readonly #loads = new Map<string, EndpointLoad>()
  readonly #held: HeldRefusals
  #windowBeganMs: number
  #refusedCount = 0
  #limitedCount = 0

  constructor(options: ClusterControlOptions, deps: ClusterControlDeps) {
    this.#options = options
    this.#deps = deps
    this.#held = new HeldRefusals(deps.delay)
    this.#windowBeganMs = deps.now()
  }

  take(pipe: ControlledPipe): EndpointLoad | ApiError | null {
    const load = this.#loads.get(pipe.id) ?? this.#add(pipe)
    if (load === null) return null
    load.name = pipe.name
    if (load.limit !== null && load.concurrency >= load.limit.concurrencyMax) return this.#refuse(load, load.limit)
    load.enter()
    return load
  }

  async untilTold(refusal: unknown, signal: AbortSignal): Promise<void> {
    await this.#held.untilTold(refusal, signal)
  }

  /** To be called when a window has passed. */
  turnWindow(): void {
    const { machine, now } = this.#deps
    const { reading } = machine
    const nowMs = now()
    const windowMs = nowMs - this.#windowBeganMs
    this.#windowBeganMs = nowMs
    for (const load of this.#loads.values()) {
      const window = load.turn()
      const judged = { load, reading, windowMs }
      const limit = this.#limitAfter(window, judged)
      this.#tell(load, limit, window)
      this.#set(load, limit)
      load.yields = limit !== null || this.#yieldsAfter(window, judged)
      if (limit === null && load.concurrency === 0 && window.peak === 0) this.#loads.delete(load.pipeId)
    }
  }

  state(): ClusterState {
    const { reading } = this.#deps.machine
    const { clusterWindowMs: windowMs } = this.#options
    return {
      memory: { ...reading.memory, limit: this.#memoryPercentMax, isOver: this.#isMemoryOver(reading) },
      processor: { ...reading.processor, limit: this.#loadMax(reading), isOver: this.#isLoadOver(reading) },
      windowMs,
      limited: [...this.#loads.values()].flatMap(limitedEndpoint),
      refusedCount: this.#refusedCount,
      limitedCount: this.#limitedCount,
    }
  }

  #add(pipe: ControlledPipe): EndpointLoad | null {
    if (this.#loads.size >= this.#options.endpointsMax) return null
    const { now } = this.#deps
    const load = new EndpointLoad(pipe, { now, onError: (load) => this.#onError(load) })
    this.#loads.set(pipe.id, load)
    return load
  }

  #onError(load: EndpointLoad): void {
    if (load.yields) return
    const { machine, now } = this.#deps
    const windowMs = now() - this.#windowBeganMs
    load.yields = this.#yieldsAfter(load.soFar(), { load, reading: machine.reading, windowMs })
  }

  #refuse(load: EndpointLoad, { concurrencyMax, reason, freePeak }: EndpointLimit): ApiError {
    // Whoever comes again when he was told to comes once in a window.
    const isHeld = load.refuse() > freePeak
    this.#refusedCount += 1
    const toldAtMs = this.#deps.now() + (isHeld ? heldMs : 0)
    const leftMs = this.#windowBeganMs + this.#options.clusterWindowMs - toldAtMs
    const retryAfterSeconds = Math.max(1, Math.ceil(leftMs / 1_000))
    const refusal = errors.ENDPOINT_LIMITED({ name: load.name, concurrencyMax, reason, retryAfterSeconds })
    if (isHeld) this.#held.hold(refusal)
    return refusal
  }

  #limitAfter(window: EndpointWindow, judged: Judged): EndpointLimit | null {
    const { errorCount, successCount, peak } = window
    const { limit } = judged.load
    const threads = threadsIn(window, judged)
    const reason = this.#reasonFor(threads, window, judged)
    if (reason === null) return null
    if (isUnknown(window, judged)) return limit
    if (!this.#fails(window)) return null
    const concurrencyMax = Math.max(1, Math.floor((peak * successCount) / (errorCount + successCount)))
    const { freeThreads, freePeak } = limit ?? { freeThreads: threads, freePeak: peak }
    return { reason, concurrencyMax, freeThreads, freePeak, window }
  }

  /** Where the processors have nothing else to do, it is not slower for that. */
  #yieldsAfter(window: EndpointWindow, judged: Judged): boolean {
    const { reading, load } = judged
    if (this.#loadMax(reading) === null) return false
    if (isUnknown(window, judged)) return load.yields
    return this.#fails(window) && this.#usesMuch(threadsIn(window, judged), reading)
  }

  #fails({ errorCount, successCount }: EndpointWindow): boolean {
    return errorCount * 100 > successCount * this.#options.clusterErrorPercentMax
  }

  #usesMuch(threads: number, { processor }: MachineReading): boolean {
    return threads * 100 >= Math.max(processor.load, processor.coreCount) * this.#options.clusterProcessorPercentMin
  }

  /** What the endpoint is to be limited for, if it fails; null where there is no reason. */
  #reasonFor(threads: number, { refusedCount }: EndpointWindow, { load, reading }: Judged): Pressure | null {
    if (this.#isMemoryOver(reading)) return 'memory'
    const { limit } = load
    if (limit === null) return this.#isLoadOver(reading) && this.#usesMuch(threads, reading) ? 'processor' : null
    // What the limit keeps away would be back at once without it.
    const keptAway = refusedCount > 0 ? Math.max(0, limit.freeThreads - threads) : 0
    return this.#isLoadOver(reading, keptAway) ? 'processor' : null
  }

  get #memoryPercentMax(): number | null {
    return this.#options.clusterMemoryPercentMax || null
  }

  #isMemoryOver({ memory }: MachineReading): boolean {
    const percentMax = this.#memoryPercentMax
    return percentMax !== null && memory.usedBytes * 100 > memory.capacityBytes * percentMax
  }

  #loadMax({ processor }: MachineReading): number | null {
    const { clusterLoadPerCoreMax } = this.#options
    return clusterLoadPerCoreMax === 0 ? null : clusterLoadPerCoreMax * processor.coreCount
  }

  #isLoadOver(reading: MachineReading, keptAway = 0): boolean {
    const loadMax = this.#loadMax(reading)
    return loadMax !== null && reading.processor.load + keptAway > loadMax
  }

  #set(load: EndpointLoad, limit: EndpointLimit | null): void {
    if (load.limit === null && limit !== null) this.#limitedCount += 1
    load.limit = limit
  }

  #tell(
    { pipeId, name, limit: last, refusedCount }: EndpointLoad,
    limit: EndpointLimit | null,
    window: EndpointWindow,
  ) {
    const { logger, machine } = this.#deps
    if (limit === null) {
      if (last !== null)
        logger.info({ pipeId, name, refusedCount }, 'The concurrency of an endpoint is not limited any more.')
      return
    }
    if (last?.concurrencyMax === limit.concurrencyMax) return
    const { peak, errorCount, successCount } = window
    const { reason, concurrencyMax } = limit
    const { memory, processor } = machine.reading
    const fields = {
      pipeId,
      name,
      reason,
      concurrencyMax,
      peak,
      errorCount,
      successCount,
      refusedCount,
      memory,
      processor,
    }
    logger.warn(fields, 'The concurrency of an endpoint that fails is limited, as the service is under pressure.')
  }
}

interface Judged {
  readonly load: EndpointLoad
  readonly reading: MachineReading
  readonly windowMs: number
}

/** Threads that worked for an endpoint, on the average of a window. */
function threadsIn({ workMs }: EndpointWindow, { windowMs }: Judged): number {
  return windowMs > 0 ? workMs / windowMs : 0
}

/** Whether nothing has ended in a window: queries of a slow endpoint may run longer. */
function isUnknown({ errorCount, successCount }: EndpointWindow, { load }: Judged): boolean {
  return errorCount + successCount === 0 && load.concurrency > 0
}

function limitedEndpoint({ pipeId, name, limit, concurrency, refusedCount }: EndpointLoad): readonly LimitedEndpoint[] {
  if (limit === null) return []
  const { reason, concurrencyMax, window } = limit
  const { errorCount, successCount } = window
  return [{ pipeId, name, reason, concurrencyMax, concurrency, errorCount, successCount, refusedCount }]
}
