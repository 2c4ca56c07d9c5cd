// What the modules count while they work, in plain numbers: nothing here allocates, looks a label up or makes a text for what
// happens often. `recorded-families.ts` makes series of it when somebody asks.

import { BoundedCounts, NamedCounts } from './bounded-counts.ts'
import { CodeCounts } from './code-counts.ts'
import { jobBoundsMs, lagBoundsMs, requestBoundsMs, syncBoundsMs, TimeHistogram } from './time-histogram.ts'

/** Requests of one route. */
export class RouteCounts {
  readonly method: string
  /** The pattern of its path. */
  readonly route: string
  readonly codes = new CodeCounts()
  readonly times = new TimeHistogram(requestBoundsMs)

  constructor(method: string, route: string) {
    this.method = method
    this.route = route
  }

  note(code: number, durationMs: number): void {
    this.codes.add(code)
    this.times.note(durationMs)
  }
}

/** Requests for the data of one published node. */
export class EndpointCounts {
  /** Of answers without an error. */
  readonly times = new TimeHistogram(requestBoundsMs)
  readonly errorCodes = new CodeCounts()

  note(code: number, durationMs: number): void {
    if (code < 400) this.times.note(durationMs)
    else this.errorCodes.add(code)
  }
}

/** Rows that came in one way: as events, or by imports. */
export class RowsIn {
  rows = 0
  quarantinedRows = 0
  bytes = 0
}

/** What came into one data source. */
export class SourceCounts {
  readonly events = new RowsIn()
  readonly imports = new RowsIn()
  /** From the acknowledgement of the oldest event of a block to the moment from which queries see it. */
  readonly lag = new TimeHistogram(lagBoundsMs)
}

/** Jobs of one kind that have ended. */
export class EndedJobs {
  readonly statuses = new NamedCounts()
  /** From the beginning of the work to its end. */
  readonly times = new TimeHistogram(jobBoundsMs)
}

/** What all modules are handed to count in. */
export class Recorder {
  readonly routes: RouteCounts[] = []
  /** Requests without a route. */
  readonly unmatched = new RouteCounts('other', '(none)')
  /** By id of the pipe. */
  readonly endpoints: BoundedCounts<EndpointCounts>
  /** By id of the data source. */
  readonly sources: BoundedCounts<SourceCounts>
  readonly logSyncs = new TimeHistogram(syncBoundsMs)
  /** By the code of the error. */
  readonly errors = new NamedCounts()
  /** Limits that refused something. */
  readonly limits = new NamedCounts()
  readonly #endedJobs = new Map<string, EndedJobs>()

  /** @param labelsMax of data sources, and of endpoints, that are told apart. */
  constructor(labelsMax: number) {
    this.endpoints = new BoundedCounts(labelsMax, () => new EndpointCounts())
    this.sources = new BoundedCounts(labelsMax, () => new SourceCounts())
  }

  /** For the routes, once each. */
  addRoute(method: string, route: string): RouteCounts {
    const counts = new RouteCounts(method, route)
    this.routes.push(counts)
    return counts
  }

  /** Kinds are registered, so there are few. */
  jobEnded(kind: string, status: string, durationMs: number): void {
    const counts = this.#endedJobs.get(kind) ?? new EndedJobs()
    this.#endedJobs.set(kind, counts)
    counts.statuses.add(status)
    counts.times.note(durationMs)
  }

  get endedJobs(): Iterable<readonly [kind: string, counts: EndedJobs]> {
    return this.#endedJobs
  }
}
