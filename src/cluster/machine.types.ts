/** What the service may use, and how much of it is used: of its container where that has limits, else of the machine. */
export interface Machine {
  readonly reading: MachineReading
}

export interface MachineReading {
  readonly memory: {
    /** Without the page cache, which gives way. */
    readonly usedBytes: number
    readonly capacityBytes: number
    readonly of: 'container' | 'machine'
  }
  readonly processor: {
    /** Threads that run or want to, averaged over one minute. */
    readonly load: number
    /** A container may have a part of one. */
    readonly coreCount: number
    readonly of: 'container' | 'machine'
  }
}
