import { otherLabel } from './bounded-counts.ts'
import { clusterFamilies } from './cluster-families.ts'
import { type Family, family, type Sample, single } from './family.ts'
import type {
  EngineCounts,
  EngineState,
  LogState,
  NotificationsState,
  ServiceState,
  SpansState,
  WaitingEvents,
} from './service-state.types.ts'
import { viewFamilies } from './view-families.ts'

export interface StateLabels {
  readonly dataSourceName: (id: string) => string | undefined
  /** Data sources that are told apart. */
  readonly labelsMax: number
}

/** The families of what the service is now; those of the engine's own counts are left out while it does not answer. */
export function stateFamilies(
  state: ServiceState,
  engineCounts: EngineCounts | null,
  labels: StateLabels,
): readonly Family[] {
  const { dataSourceCount, pipeCount, log, waiting, engine, views, jobs, cluster, spans } = state
  return [
    single('millrace_ready', 'Whether the service takes requests, as /health/ready says: 1 or 0.', bit(isReady(state))),
    single('millrace_datasources', 'Data sources that there are.', dataSourceCount),
    single('millrace_pipes', 'Pipes that there are.', pipeCount),
    ...logFamilies(log),
    ...waitingFamilies(waiting, labels),
    ...viewFamilies(views, labels.labelsMax),
    ...engineFamilies(engine),
    ...(engineCounts === null ? [] : countedFamilies(engineCounts)),
    ...clusterFamilies(cluster, labels.labelsMax),
    family(
      'millrace_jobs',
      'Jobs that wait, work or are being cancelled, by kind and status.',
      jobs.map(({ kind, status, count: value }) => ({ labels: { kind, status }, value })),
    ),
    single(
      'millrace_service_rows_dropped_total',
      'Rows of service data sources that were dropped: there was no room for them, or they could not be stored.',
      state.droppedServiceRows,
    ),
    ...(spans === null ? [] : spanFamilies(spans)),
    ...(state.notifications.length === 0 ? [] : notificationFamilies(state.notifications)),
  ]
}

function isReady({ diskFault, engineFault, log }: ServiceState): boolean {
  return diskFault === null && engineFault === null && !log.isFull
}

function logFamilies(log: LogState): readonly Family[] {
  return [
    single('millrace_log_up', 'Whether the log of events takes entries: 1 or 0.', bit(log.isWell)),
    single('millrace_log_full', 'Whether the log of events refuses events for want of room: 1 or 0.', bit(log.isFull)),
    single('millrace_log_bytes', 'Bytes of the log of events.', log.bytes),
    single(
      'millrace_log_limit_bytes',
      'Bytes that the log of events may have; beyond them events are refused.',
      log.bytesMax,
    ),
    single('millrace_log_segments', 'Files of the log of events.', log.segmentCount),
    single('millrace_log_syncs_total', 'Syncs of the log of events since the start.', log.syncCount),
    single(
      'millrace_log_entries_total',
      'Entries that were written into the log of events since the start.',
      log.entryCount,
    ),
    single(
      'millrace_events_held_bytes',
      'Bytes of events in memory, on their way to the log or to the engine.',
      log.heldBytes,
    ),
    single(
      'millrace_events_held_limit_bytes',
      'Bytes of events that may be in memory; beyond them senders get 503.',
      log.heldBytesMax,
    ),
  ]
}

/** Those that have most waiting are told apart: they are what somebody looks for. */
function waitingFamilies(waiting: readonly WaitingEvents[], { dataSourceName, labelsMax }: StateLabels) {
  const known = waiting
    .flatMap((events) => {
      const datasource = dataSourceName(events.dataSourceId)
      return datasource === undefined ? [] : [{ ...events, datasource }]
    })
    .sort((one, other) => other.rows - one.rows)
  const others = known.slice(labelsMax)
  const samplesOf = (count: (events: WaitingEvents) => number): readonly Sample[] => {
    const own = known.slice(0, labelsMax).map((events) => {
      return { labels: { datasource: events.datasource }, value: count(events) }
    })
    if (others.length === 0) return own
    const value = others.reduce((total, events) => total + count(events), 0)
    return [...own, { labels: { datasource: otherLabel }, value }]
  }
  return [
    family(
      'millrace_events_waiting_rows',
      'Rows of events that are acknowledged and not stored yet.',
      samplesOf(({ rows }) => rows),
    ),
    family(
      'millrace_events_waiting_bytes',
      'The same in bytes of the log.',
      samplesOf(({ bytes }) => bytes),
    ),
    family(
      'millrace_events_failing',
      'Whether the events of a data source cannot be stored, and are tried again: 1 or 0.',
      samplesOf(({ isFailing }) => bit(isFailing)),
    ),
  ]
}

function engineFamilies({
  isReady,
  restartCount,
  residentBytes,
  memoryBytesMax,
  sessions,
}: EngineState): readonly Family[] {
  const ofEach = (count: (one: EngineState['sessions'][number]) => number): readonly Sample[] =>
    sessions.map((one) => ({ labels: { purpose: one.purpose }, value: count(one) }))
  return [
    single('millrace_engine_up', 'Whether the engine takes queries and rows: 1 or 0.', bit(isReady)),
    single(
      'millrace_engine_restarts_total',
      'How often the engine ended by itself and was started again.',
      restartCount,
    ),
    single('millrace_engine_limit_bytes', 'Memory at which the engine refuses further work.', memoryBytesMax),
    ...(residentBytes === null
      ? []
      : [single('millrace_engine_resident_memory_bytes', 'Memory of the process of the engine.', residentBytes)]),
    family(
      'millrace_engine_sessions',
      'Sessions of the engine, by purpose.',
      ofEach(({ count }) => count),
    ),
    family(
      'millrace_engine_sessions_busy',
      'Sessions that run a statement, by purpose.',
      ofEach(({ busyCount }) => busyCount),
    ),
    family(
      'millrace_engine_sessions_lost',
      'Sessions held by statements that do not end, by purpose.',
      ofEach(({ lostCount }) => lostCount),
    ),
    family(
      'millrace_engine_statements_waiting',
      'Statements that wait for a session, by purpose.',
      ofEach(({ waitingCount }) => waitingCount),
    ),
  ]
}

function countedFamilies(counts: EngineCounts): readonly Family[] {
  return [
    single('millrace_engine_parts', 'Parts of all tables that are read.', counts.partCount),
    single(
      'millrace_engine_partition_parts_max',
      'The most parts that one partition of a table has.',
      counts.partsOfPartitionMax,
    ),
    single('millrace_engine_rows', 'Rows of all tables.', counts.rowCount),
    single('millrace_engine_disk_bytes', 'Bytes on disk of all tables.', counts.diskBytes),
    single('millrace_engine_merges', 'Merges that run.', counts.mergeCount),
    single('millrace_engine_mutations', 'Mutations that are not done.', counts.mutationCount),
    single('millrace_engine_tracked_memory_bytes', 'Memory that the engine counts as its own.', counts.trackedBytes),
    single('millrace_engine_merges_ended_total', 'Merges since the engine was started.', counts.mergesEnded),
    single(
      'millrace_engine_merged_rows_total',
      'Rows that merges have read since the engine was started.',
      counts.rowsMerged,
    ),
    single('millrace_engine_queries_total', 'Statements of all kinds since the engine was started.', counts.queryCount),
    single(
      'millrace_engine_read_rows_total',
      'Rows that statements have read since the engine was started.',
      counts.rowsRead,
    ),
  ]
}

function spanFamilies({ sentCount, droppedCount, waitingCount }: SpansState): readonly Family[] {
  return [
    single('millrace_traces_sent_total', 'Traced requests that were sent to the collector of traces.', sentCount),
    single(
      'millrace_traces_dropped_total',
      'Traced requests that were dropped: their queue was full, or they could not be sent.',
      droppedCount,
    ),
    single('millrace_traces_waiting', 'Traced requests that wait to be sent.', waitingCount),
  ]
}

function notificationFamilies(notifications: readonly NotificationsState[]): readonly Family[] {
  const ofEach = (count: (one: NotificationsState) => number): readonly Sample[] =>
    notifications.map((one) => ({ labels: { channel: one.channel }, value: count(one) }))
  return [
    family(
      'millrace_notifications_sent_total',
      'Notifications that were taken, by channel.',
      ofEach(({ sentCount }) => sentCount),
    ),
    family(
      'millrace_notifications_failed_total',
      'Attempts to send a notification that were not taken, by channel.',
      ofEach(({ failedCount }) => failedCount),
    ),
    family(
      'millrace_notifications_dropped_total',
      'Notifications that were given up, by channel: too many waited, or no attempt was left.',
      ofEach(({ droppedCount }) => droppedCount),
    ),
    family(
      'millrace_notifications_waiting',
      'Notifications that wait to be sent, by channel.',
      ofEach(({ waitingCount }) => waitingCount),
    ),
  ]
}

function bit(isTrue: boolean): number {
  return isTrue ? 1 : 0
}
