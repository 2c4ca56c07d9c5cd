import type { EngineCounts, ServiceState } from '../../../src/metrics/service-state.types.ts'

/** A service at rest, with something of each kind. */
export const anyState: ServiceState = {
  engineFault: null,
  diskFault: null,
  dataSourceCount: 0,
  pipeCount: 0,
  log: {
    isWell: true,
    isFull: false,
    bytes: 0,
    bytesMax: 1,
    segmentCount: 1,
    syncCount: 0,
    entryCount: 0,
    heldBytes: 0,
    heldBytesMax: 1,
  },
  waiting: [],
  engine: { isReady: true, restartCount: 0, residentBytes: 1, memoryBytesMax: 1, sessions: [] },
  views: {
    behind: [],
    backlogs: [
      { of: 'events', bytes: 0, bytesMax: 1 },
      { of: 'imports', bytes: 0, bytesMax: 1 },
    ],
  },
  jobs: [],
  droppedServiceRows: 0,
  cluster: {
    memory: { usedBytes: 0, capacityBytes: 1, isOver: false },
    processor: { load: 0, coreCount: 1, isOver: false },
    limited: [],
    limitedCount: 0,
  },
  spans: { sentCount: 0, droppedCount: 0, waitingCount: 0 },
  notifications: [{ channel: 'email', sentCount: 0, failedCount: 0, droppedCount: 0, waitingCount: 0 }],
}

export const anyCounts: EngineCounts = {
  partCount: 0,
  partsOfPartitionMax: 0,
  rowCount: 0,
  diskBytes: 0,
  mergeCount: 0,
  mutationCount: 0,
  trackedBytes: 0,
  mergesEnded: 0,
  rowsMerged: 0,
  queryCount: 0,
  rowsRead: 0,
}
