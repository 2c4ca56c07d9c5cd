/** What the service is at one moment, as the modules tell it when they are asked. Times are milliseconds. */
export interface ServiceState {
  /** Why the engine takes neither queries nor rows, and why the disk takes nothing, as clauses; null where they do. */
  readonly engineFault: string | null
  readonly diskFault: string | null
  readonly dataSourceCount: number
  readonly pipeCount: number
  readonly log: LogState
  /** Events that wait, by data source; those without any are left out. */
  readonly waiting: readonly WaitingEvents[]
  readonly engine: EngineState
  readonly views: ViewsState
  readonly jobs: readonly JobsInState[]
  /** Rows of service data sources that were dropped since the start. */
  readonly droppedServiceRows: number
  readonly cluster: ClusterCounts
  /** Null where traces are not sent. */
  readonly spans: SpansState | null
  /** By channel; none where nobody is told. */
  readonly notifications: readonly NotificationsState[]
}

/** Notifications of one channel since the start. */
export interface NotificationsState {
  readonly channel: string
  readonly sentCount: number
  readonly failedCount: number
  readonly droppedCount: number
  readonly waitingCount: number
}

/** Traced requests since the start. */
export interface SpansState {
  readonly sentCount: number
  readonly droppedCount: number
  readonly waitingCount: number
}

export interface LogState {
  readonly isWell: boolean
  /** Whether it refuses events for want of room, and has for a while. */
  readonly isFull: boolean
  readonly bytes: number
  readonly bytesMax: number
  readonly segmentCount: number
  /** Syncs and entries since the start. */
  readonly syncCount: number
  readonly entryCount: number
  /** Bytes of bodies that are in memory, on their way to the log or to the engine, and how many may be. */
  readonly heldBytes: number
  readonly heldBytesMax: number
}

export interface WaitingEvents {
  readonly dataSourceId: string
  readonly rows: number
  readonly bytes: number
  readonly isFailing: boolean
}

/** Materialized Views that lack blocks of what they read, and what is kept for them. */
export interface ViewsState {
  readonly behind: readonly ViewBehindState[]
  /** What is kept of events in the log, and of imports as files, whoever needs it. */
  readonly backlogs: readonly BacklogState[]
}

export interface ViewBehindState {
  /** Names. */
  readonly pipe: string
  readonly node: string
  /** Whether it lacks blocks that nobody keeps. */
  readonly isIncomplete: boolean
  /** What is kept for it. */
  readonly blockCount: number
  readonly byteCount: number
}

export interface BacklogState {
  readonly of: 'events' | 'imports'
  readonly bytes: number
  /** Beyond it, the view that needs the most is given up. */
  readonly bytesMax: number
}

export interface EngineState {
  readonly isReady: boolean
  readonly restartCount: number
  /** Of its process; null while there is none. */
  readonly residentBytes: number | null
  readonly memoryBytesMax: number
  readonly sessions: readonly SessionsState[]
}

/** The sessions for one purpose. */
export interface SessionsState {
  readonly purpose: string
  readonly count: number
  readonly busyCount: number
  /** Held by statements that do not end. */
  readonly lostCount: number
  /** Statements that wait for one. */
  readonly waitingCount: number
}

export interface EngineCounts {
  /** Parts that are read, of all tables; the most of one partition; their rows and bytes on disk. */
  readonly partCount: number
  readonly partsOfPartitionMax: number
  readonly rowCount: number
  readonly diskBytes: number
  readonly mergeCount: number
  readonly mutationCount: number
  readonly trackedBytes: number
  /** Since the engine was started. */
  readonly mergesEnded: number
  readonly rowsMerged: number
  readonly queryCount: number
  readonly rowsRead: number
}

export interface JobsInState {
  readonly kind: string
  readonly status: string
  readonly count: number
}

/** What cluster control goes by, and what it does. */
export interface ClusterCounts {
  readonly memory: { readonly usedBytes: number; readonly capacityBytes: number; readonly isOver: boolean }
  readonly processor: { readonly load: number; readonly coreCount: number; readonly isOver: boolean }
  /** Endpoints that are limited now. */
  readonly limited: readonly { readonly name: string; readonly concurrencyMax: number }[]
  readonly limitedCount: number
}
