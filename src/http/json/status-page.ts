import type { ServiceState, SessionsState } from '../../metrics/service-state.types.ts'
import { kibibyte } from '../../shared/bytes.ts'
import type { ApiError } from '../../shared/errors/errors.ts'

export interface StatusParts {
  /** Why the service is not ready; null when it is. */
  readonly refusal: ApiError | null
  readonly state: ServiceState
  /** Epoch milliseconds. */
  readonly startedAtMs: number
  readonly nowMs: number
  /** Names of data sources, for who may know them; null for others. */
  readonly nameOf: ((id: string) => string | undefined) | null
}

/** The same for programs. Nothing of it is private without `nameOf`. */
export function statusShape({ refusal, state, startedAtMs, nowMs, nameOf }: StatusParts) {
  const { log, waiting, engine, views, diskFault, engineFault } = state
  return {
    status: refusal === null ? 'ready' : 'unready',
    reason: refusal?.message ?? null,
    started_at: new Date(startedAtMs).toISOString(),
    uptime_seconds: Math.floor((nowMs - startedAtMs) / 1000),
    reading: engineFault === null ? 'works' : engineFault,
    writing: writingOf(state),
    disk: diskFault ?? 'takes writes',
    log: {
      bytes: log.bytes,
      bytes_max: log.bytesMax,
      is_full: log.isFull,
      waiting_rows: waiting.reduce((total, { rows }) => total + rows, 0),
      waiting_bytes: waiting.reduce((total, { bytes }) => total + bytes, 0),
      failing_data_sources: waiting.filter(({ isFailing }) => isFailing).length,
    },
    engine: {
      restarts: engine.restartCount,
      memory_bytes: engine.residentBytes,
      memory_bytes_max: engine.memoryBytesMax,
      sessions: engine.sessions.map(({ purpose, count, busyCount, lostCount, waitingCount }) => {
        return { purpose, count, busy: busyCount, lost: lostCount, waiting: waitingCount }
      }),
    },
    views: {
      parked: views.behind.filter(({ isIncomplete }) => !isIncomplete).length,
      incomplete: views.behind.filter(({ isIncomplete }) => isIncomplete).length,
      backlog_bytes: views.backlogs.reduce((total, { bytes }) => total + bytes, 0),
    },
    ...(nameOf === null ? {} : ownPart(state, nameOf)),
  }
}

/** What whoever may watch the service is told beside it. */
function ownPart(
  { waiting, views, jobs, dataSourceCount, pipeCount }: ServiceState,
  nameOf: (id: string) => string | undefined,
) {
  return {
    data_sources: dataSourceCount,
    pipes: pipeCount,
    jobs: jobs.map(({ kind, status, count }) => ({ kind, status, count })),
    waiting: waiting
      .flatMap(({ dataSourceId, rows, bytes, isFailing }) => {
        const name = nameOf(dataSourceId)
        return name === undefined ? [] : [{ name, rows, bytes, is_failing: isFailing }]
      })
      .sort((one, other) => other.rows - one.rows)
      .slice(0, shownMax),
    views_behind: views.behind
      .map(({ pipe, node, isIncomplete, blockCount, byteCount }) => {
        return { pipe, node, state: stateOf(isIncomplete), blocks: blockCount, bytes: byteCount }
      })
      .sort((one, other) => other.bytes - one.bytes)
      .slice(0, shownMax),
  }
}

function stateOf(isIncomplete: boolean): string {
  return isIncomplete ? 'incomplete' : 'parked'
}

/** More would be no page that somebody reads. */
const shownMax = 100

function writingOf({ diskFault, log, engineFault }: ServiceState): string {
  if (diskFault !== null) return diskFault
  if (log.isFull) return 'the log of events is at its limit'
  return engineFault === null ? 'works' : `events are acknowledged and wait: ${engineFault}`
}

/** The same for people. */
export function statusText(parts: StatusParts): string {
  const {
    status,
    reason,
    uptime_seconds: uptime,
    reading,
    writing,
    disk,
    log,
    engine,
    views,
    ...own
  } = statusShape(parts)
  const { residentBytes } = parts.state.engine
  const fill = `${sizeText(log.bytes)} of ${sizeText(log.bytes_max)}`
  const lines = [
    ['status', reason === null ? status : `${status}: ${reason}`],
    ['up', durationText(uptime)],
    ['reading', reading],
    ['writing', writing],
    ['disk', disk],
    ['log', `${fill}, ${log.waiting_rows} rows wait, ${log.failing_data_sources} data sources cannot be stored`],
    [
      'engine',
      `${engine.restarts} restarts, ${residentBytes === null ? 'no process' : sizeText(residentBytes)} of ${sizeText(engine.memory_bytes_max)}`,
    ],
    ['views', `${views.parked} parked, ${views.incomplete} incomplete, ${sizeText(views.backlog_bytes)} kept for them`],
    ...parts.state.engine.sessions.map((sessions, index) => [index === 0 ? 'sessions' : '', sessionsText(sessions)]),
    ...('waiting' in own ? ownLines(own) : []),
  ]
  return `${lines.map(([name = '', text = '']) => `${name.padEnd(10)}${text}`).join('\n')}\n`
}

type OwnPart = ReturnType<typeof ownPart>

function ownLines({ data_sources, pipes, jobs = [], waiting = [], views_behind: behind = [] }: Partial<OwnPart>) {
  return [
    ['objects', `${data_sources} data sources, ${pipes} pipes`],
    ...jobs.map(({ kind, status, count }, index) => [index === 0 ? 'jobs' : '', `${kind}: ${count} ${status}`]),
    ...waiting.map(({ name, rows, bytes, is_failing }, index) => [
      index === 0 ? 'waiting' : '',
      `${name}: ${rows} rows, ${sizeText(bytes)}${is_failing ? ', cannot be stored' : ''}`,
    ]),
    ...behind.map(({ pipe, node, state, blocks, bytes }, index) => [
      index === 0 ? 'behind' : '',
      `${pipe}.${node}: ${state}, ${blocks} blocks, ${sizeText(bytes)}`,
    ]),
  ]
}

function sessionsText({ purpose, count, busyCount, lostCount, waitingCount }: SessionsState): string {
  const lost = lostCount === 0 ? '' : `, ${lostCount} lost`
  return `${purpose}: ${busyCount} of ${count} busy${lost}, ${waitingCount} statements wait`
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

function sizeText(byteCount: number): string {
  let size = byteCount
  let unit = 0
  for (; size >= kibibyte && unit < units.length - 1; unit += 1) size /= kibibyte
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`
}

function durationText(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min ${seconds % 60} s`
}
