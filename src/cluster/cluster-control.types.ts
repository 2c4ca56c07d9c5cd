import type { ApiError } from '../shared/errors/errors.ts'
import type { EndpointLoad, Pressure } from './endpoint-load.ts'
import type { MachineReading } from './machine.types.ts'

export interface ClusterControlOptions {
  /** Percent of the memory beyond which there is pressure; 0 does not look at it. */
  readonly clusterMemoryPercentMax: number
  /** Load average over one minute, for each core, beyond which there is pressure; 0 does not look at it. */
  readonly clusterLoadPerCoreMax: number
  /** Answers with 408 and 500 for each hundred successful ones, beyond which an endpoint fails. */
  readonly clusterErrorPercentMax: number
  /** Percent of the processors' load from which on an endpoint uses a large share of it. */
  readonly clusterProcessorPercentMin: number
  readonly clusterWindowMs: number
  /** Endpoints that are counted at one time; further ones are not limited. */
  readonly endpointsMax: number
}

/** Limits the concurrency of endpoints that fail while the service is under pressure. */
export interface ClusterControl {
  /**
   * Takes a request to an endpoint in, and gives what counts its end: `leave` is to be called once. Null where the endpoint is not
   * counted; ENDPOINT_LIMITED (429) where the request is refused.
   */
  take(pipe: ControlledPipe): EndpointLoad | ApiError | null
  /** Resolves when the failure of a request may be told: refusals of callers who do not wait as they are told are held back for a second. */
  untilTold(failure: unknown, signal: AbortSignal): Promise<void>
  /** For `GET /v0/limits` and metrics. */
  state(): ClusterState
}

export interface ControlledPipe {
  readonly id: string
  readonly name: string
}

export interface ClusterState {
  /** What was read last, and what counts as pressure. */
  readonly memory: MachineReading['memory'] & PressureState
  readonly processor: MachineReading['processor'] & PressureState
  readonly windowMs: number
  /** Endpoints whose concurrency is limited now. */
  readonly limited: readonly LimitedEndpoint[]
  /** Requests that were refused since the start of the service. */
  readonly refusedCount: number
  /** How often an endpoint was limited that was not before, since the start of the service. */
  readonly limitedCount: number
}

export interface PressureState {
  /** What counts as pressure beyond it: a percentage of the memory, a load average. Null where it is not looked at. */
  readonly limit: number | null
  readonly isOver: boolean
}

export interface LimitedEndpoint {
  readonly pipeId: string
  /** The name under which it was asked for last. */
  readonly name: string
  readonly reason: Pressure
  /** Requests that may be under way at once. */
  readonly concurrencyMax: number
  readonly concurrency: number
  /** Answers of the last window: 408 and 500, and successful ones. */
  readonly errorCount: number
  readonly successCount: number
  /** Requests refused since it is limited. */
  readonly refusedCount: number
}
