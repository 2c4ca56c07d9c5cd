import { readFile } from 'node:fs/promises'
import { processTree } from './process-memory.ts'

/** Linux counts processor time in hundredths of a second for every program (`getconf CLK_TCK`). */
const ticksPerSecond = 100

/** Processor seconds, user and system, of a process with those that it started, and all their threads, since their start. */
export async function cpuSeconds(pid: number): Promise<number> {
  const seconds = await Promise.all((await processTree(pid)).map(ownSeconds))
  return seconds.reduce((total, one) => total + one, 0)
}

async function ownSeconds(pid: number): Promise<number> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The second field is the program's name in parentheses and may hold blanks; what follows is proc(5)'s field 3 on.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Seconds that the main thread of a process has run since its start. */
export async function mainThreadSeconds(pid: number): Promise<number> {
  // proc(5): the first number is nanoseconds on a processor; the ticks of `stat` are too coarse for a short run.
  const [nanoseconds] = (await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')).split(' ')
  return Number(nanoseconds) / 1e9
}

/** Resident memory of a process with those that it started, now and at the highest of each. */
export interface MemoryUsage {
  readonly residentBytes: number
  readonly peakBytes: number
}

export async function memoryUsage(pid: number): Promise<MemoryUsage> {
  const usages = await Promise.all((await processTree(pid)).map(ownUsage))
  return usages.reduce((total, one) => ({
    residentBytes: total.residentBytes + one.residentBytes,
    peakBytes: total.peakBytes + one.peakBytes,
  }))
}

async function ownUsage(pid: number): Promise<MemoryUsage> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return { residentBytes: kibibytes(status, 'VmRSS'), peakBytes: kibibytes(status, 'VmHWM') }
}

function kibibytes(status: string, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)
  if (found === null) throw new Error(`no ${field} in the status of the process`)
  return Number(found[1]) * 1024
}
