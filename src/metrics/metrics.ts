import { collectDefaultMetrics, type Gauge, Registry } from 'prom-client'
import type { Family } from './family.ts'
import { type RecordedNames, recordedFamilies } from './recorded-families.ts'
import type { Recorder } from './recorder.ts'
import type { EngineCounts, ServiceState } from './service-state.types.ts'
import { stateFamilies } from './state-families.ts'

export interface MetricsOptions {
  /** Data sources, and endpoints, that are told apart. */
  readonly metricsLabelsMax: number
}

export interface MetricsDeps extends RecordedNames {
  readonly recorder: Recorder
  readonly state: () => ServiceState
  /** Null while the engine does not answer. */
  readonly engineCounts: () => Promise<EngineCounts | null>
}

/** Gauges that end like counters, which `promtool check metrics` refuses. */
const misnamedDefaults = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** Makes the text of `/metrics` of what was counted and what is. What happens between two of them costs no more than counting. */
export class Metrics {
  readonly contentType: string
  readonly #options: MetricsOptions
  readonly #deps: MetricsDeps
  constructor(options: MetricsOptions, deps: MetricsDeps) {
    this.#options = options
    this.#deps = deps
    this.contentType = processRegistry().contentType
  }

  async text(): Promise<string> {
    const { recorder, state, engineCounts, dataSourceName, pipeName } = this.#deps
    const labelsMax = this.#options.metricsLabelsMax
    const own = new Registry()
    const families = [
      ...recordedFamilies(recorder, { dataSourceName, pipeName }),
      ...stateFamilies(state(), await engineCounts(), { dataSourceName, labelsMax }),
    ]
    for (const family of families) register(own, family)
    return `${await own.metrics()}\n${await processRegistry().metrics()}`
  }
}

/** Of the process, which prom-client looks after: once, as what watches the garbage collector and the event loop does not end. */
let ofProcess: Registry | null = null

function processRegistry(): Registry {
  if (ofProcess !== null) return ofProcess
  ofProcess = new Registry()
  collectDefaultMetrics({ register: ofProcess })
  for (const name of misnamedDefaults) ofProcess.removeSingleMetric(name)
  return ofProcess
}

function register(registry: Registry, { name, help, type, samples }: Family): void {
  const values = samples.map(({ suffix = '', labels, value }) => ({ metricName: name + suffix, labels, value }))
  const metric = { name, help, type, aggregator: 'sum', get: async () => ({ name, help, type, values }) }
  // A registry reads no more of a metric than this; prom-client's own classes would count, with a look-up by labels for each.
  registry.registerMetric(metric as unknown as Gauge)
}
