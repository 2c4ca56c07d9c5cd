import { readFileSync, statSync } from 'node:fs'
import type { MixedLoadCounts } from './mixed-load.ts'
import { type ProcessMemory, processMemory, processTree } from './process-memory.ts'

/** A service at one moment of a long run, its processes summed. */
export interface MemorySample {
  readonly atMinute: number
  readonly processes: readonly ProcessMemory[]
  readonly logBytes: number
  readonly logLines: number
  readonly load: MixedLoadCounts
}

export interface SampleSource {
  readonly pid: number
  readonly dataDirectory: string
  readonly probeDirectory: string
  readonly logPath: string
}

export async function memorySample(
  source: SampleSource,
  at: { readonly minute: number; readonly load: MixedLoadCounts },
): Promise<MemorySample> {
  const processes: ProcessMemory[] = []
  for (const pid of await processTree(source.pid)) {
    // A child may have ended meanwhile.
    const memory = await processMemory(pid, source).catch(() => null)
    if (memory !== null) processes.push(memory)
  }
  const log = readFileSync(source.logPath)
  let logLines = 0
  for (let place = log.indexOf(10); place !== -1; place = log.indexOf(10, place + 1)) logLines += 1
  return {
    atMinute: at.minute,
    processes,
    logBytes: statSync(source.logPath).size,
    logLines,
    load: { ...at.load },
  }
}

/** What the tables and plots show of a sample: memory in megabytes, and counts. */
export interface MemoryFigures {
  readonly minute: number
  readonly resident: number
  readonly proportional: number
  readonly anonymous: number
  readonly engineAllocated: number
  readonly engineResident: number
  readonly libc: number
  readonly heap: number
  readonly external: number
  readonly kernel: number
  readonly threads: number
  readonly descriptors: number
  readonly tableDescriptors: number
  readonly activeParts: number
  readonly inactiveParts: number
  readonly columnsAdded: number
  readonly logLines: number
}

export function figuresOf({ atMinute, processes, load, logLines }: MemorySample): MemoryFigures {
  const sum = (value: (process: ProcessMemory) => number) =>
    processes.reduce((total, process) => total + value(process), 0)
  const megabytes = (value: (process: ProcessMemory) => number) => sum(value) / 1e6
  return {
    minute: atMinute,
    resident: megabytes(({ residentBytes }) => residentBytes),
    proportional: megabytes(({ proportionalBytes }) => proportionalBytes),
    anonymous: megabytes(({ anonymousBytes }) => anonymousBytes),
    engineAllocated: megabytes(({ probe }) => probe?.engine?.allocator.allocatedBytes ?? 0),
    engineResident: megabytes(({ probe }) => probe?.engine?.allocator.residentBytes ?? 0),
    libc: megabytes(({ libcBytes }) => libcBytes),
    heap: megabytes(({ probe }) => probe?.heapTotalBytes ?? 0),
    external: megabytes(({ probe }) => probe?.externalBytes ?? 0),
    kernel: megabytes(({ kernelBytes }) => kernelBytes),
    threads: sum(({ threads }) => threads),
    descriptors: sum(({ descriptors }) => Object.values(descriptors).reduce((total, count) => total + count, 0)),
    tableDescriptors: sum(({ descriptors }) => descriptors['tables'] ?? 0),
    activeParts: sum(({ probe }) => probe?.engine?.activeParts ?? 0),
    inactiveParts: sum(({ probe }) => probe?.engine?.inactiveParts ?? 0),
    columnsAdded: load.columnsAdded,
    logLines,
  }
}

const columns: readonly (readonly [string, keyof MemoryFigures])[] = [
  ['min', 'minute'],
  ['RSS', 'resident'],
  ['PSS', 'proportional'],
  ['anon', 'anonymous'],
  ['engine used', 'engineAllocated'],
  ['engine RSS', 'engineResident'],
  ['libc', 'libc'],
  ['JS heap', 'heap'],
  ['external', 'external'],
  ['kernel', 'kernel'],
  ['threads', 'threads'],
  ['descriptors', 'descriptors'],
  ['of tables', 'tableDescriptors'],
  ['parts', 'activeParts'],
  ['inactive', 'inactiveParts'],
  ['columns added', 'columnsAdded'],
  ['log lines', 'logLines'],
]

export const figureTitles: readonly string[] = columns.map(([title]) => title)

export function figureCells(figures: MemoryFigures): readonly string[] {
  return columns.map(([, key]) => figures[key].toFixed(key === 'kernel' ? 1 : 0))
}
