// What the service counts while it works, and what it tells of itself.

import type { Catalog } from './catalog/catalog.ts'
import type { ClusterControl } from './cluster/cluster-control.types.ts'
import type { Options } from './config.ts'
import type { HttpDeps } from './http/http.types.ts'
import type { Ingest } from './ingest/ingest.types.ts'
import type { JobStatus, Jobs } from './jobs/jobs.types.ts'
import type { ViewsBehind } from './materialize/behind/views-behind.ts'
import { Metrics } from './metrics/metrics.ts'
import type { Recorder } from './metrics/recorder.ts'
import type { EngineCounts, JobsInState, ServiceState } from './metrics/service-state.types.ts'
import type { Notifications } from './notifications/notifications.ts'
import type { Logger } from './observe/logger.ts'
import { openOtlpExporter } from './observe/traces/otlp-exporter.ts'
import { SpanQueue } from './observe/traces/span-queue.ts'
import type { WorkRecorder } from './observe/work-recorder.types.ts'
import { within } from './shared/within.ts'
import type { SupervisedStore } from './store/store.types.ts'

interface ObservedModules {
  readonly recorder: Recorder | undefined
  readonly store: Pick<SupervisedStore, 'engineCounts' | 'engineState' | 'unreadyReason'>
  readonly ingest: Pick<Ingest, 'logState' | 'waitingEvents'>
  readonly behind: Pick<ViewsBehind, 'state'>
  readonly jobs: Pick<Jobs, 'list'>
  readonly catalog: Pick<Catalog, 'find' | 'findPipe' | 'list' | 'listPipes'>
  readonly disk: { readonly reason: string | null }
  readonly clusterControl: Pick<ClusterControl, 'state'>
  readonly workRecorder: Pick<WorkRecorder, 'droppedCount'>
  readonly notifications: Pick<Notifications, 'counts'> | null
  readonly logger: Logger
}

type TraceOptions = Pick<Options, 'traceSpansMax' | 'tracesHeaders' | 'tracesUrl'>

/** Null where traces are not sent. */
async function openTraces(options: TraceOptions, logger: Logger): Promise<SpanQueue | null> {
  if (options.tracesUrl === '') return null
  return new SpanQueue(options, { exporter: await openOtlpExporter(options), logger })
}

/** What is told of the service, and to whom; `metrics` is null where nothing is counted, `spans` where no traces are sent. */
export async function openObserved(
  options: Pick<Options, 'metricsLabelsMax'> & TraceOptions,
  modules: ObservedModules,
): Promise<Pick<HttpDeps, 'state'> & { readonly metrics: Metrics | null; readonly spans: SpanQueue | null }> {
  const { recorder, catalog, logger } = modules
  const spans = await openTraces(options, logger)
  const state = (): ServiceState => stateOf(modules, spans)
  if (recorder === undefined) return { state, spans, metrics: null }
  const asked = new AskedEngine(modules)
  const metrics = new Metrics(options, {
    recorder,
    state,
    engineCounts: () => asked.counts(),
    dataSourceName: (id) => catalog.find(id)?.name,
    pipeName: (id) => catalog.findPipe(id)?.name,
  })
  return { state, spans, metrics }
}

function stateOf(
  { store, ingest, behind, jobs, catalog, disk, clusterControl, workRecorder, notifications }: ObservedModules,
  spans: SpanQueue | null,
): ServiceState {
  return {
    engineFault: store.unreadyReason,
    diskFault: disk.reason,
    dataSourceCount: catalog.list().length,
    pipeCount: catalog.listPipes().length,
    log: ingest.logState(),
    waiting: ingest.waitingEvents(),
    engine: store.engineState(),
    views: behind.state(),
    jobs: jobsInState(jobs),
    droppedServiceRows: workRecorder.droppedCount,
    cluster: clusterControl.state(),
    spans: spans?.counts ?? null,
    notifications: notifications?.counts ?? [],
  }
}

const unended: readonly JobStatus[] = ['waiting', 'working', 'cancelling']

function jobsInState(jobs: Pick<Jobs, 'list'>): readonly JobsInState[] {
  const counts = new Map<string, Map<string, number>>()
  for (const { kind, status } of jobs.list({ statuses: unended })) {
    const ofKind = counts.get(kind) ?? new Map<string, number>()
    counts.set(kind, ofKind.set(status, (ofKind.get(status) ?? 0) + 1))
  }
  return [...counts].flatMap(([kind, ofKind]) => [...ofKind].map(([status, count]) => ({ kind, status, count })))
}

/** Whoever asks gets an answer in this time, whatever the engine does. */
const askTimeMaxMs = 2_000
/** The engine looks at each of its parts, and several may ask. */
const keptMs = 1_000

/** The engine's counts, asked for by one statement at a time; null while it does not answer. */
class AskedEngine {
  readonly #modules: Pick<ObservedModules, 'logger' | 'store'>
  #asking: Promise<void> | null = null
  #counts: EngineCounts | null = null
  #atMs = Number.NEGATIVE_INFINITY

  constructor(modules: Pick<ObservedModules, 'logger' | 'store'>) {
    this.#modules = modules
  }

  async counts(): Promise<EngineCounts | null> {
    if (performance.now() - this.#atMs < keptMs) return this.#counts
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null
    })
    return (await within(askTimeMaxMs, this.#asking)) ? this.#counts : null
  }

  async #ask(): Promise<void> {
    const { store, logger } = this.#modules
    this.#counts = null
    // It would wait for an engine that is started again.
    if (store.unreadyReason !== null) return
    try {
      this.#counts = await store.engineCounts()
      this.#atMs = performance.now()
    } catch (err) {
      logger.debug({ err }, 'The engine did not tell its counts.')
    }
  }
}
