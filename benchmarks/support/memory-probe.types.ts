/** What a process of a watched service tells of itself. */
export interface ProbeAnswer {
  readonly heapTotalBytes: number
  readonly heapUsedBytes: number
  readonly externalBytes: number
  readonly arrayBufferBytes: number
  /** Null in a process without the engine. */
  readonly engine: EngineMemory | null
}

/** The engine's own counters. */
export interface EngineMemory {
  /** jemalloc's: what is in use, in pages in use, its own, what the system counts, and addresses that are kept. */
  readonly allocator: {
    readonly allocatedBytes: number
    readonly activeBytes: number
    readonly metadataBytes: number
    readonly residentBytes: number
    readonly retainedBytes: number
  }
  readonly metrics: Readonly<Record<string, number>>
  /** Allocations that are not freed, by their size class in bytes. */
  readonly liveBySize: Readonly<Record<string, number>>
  readonly activeParts: number
  readonly inactiveParts: number
  readonly primaryKeyBytes: number
}
