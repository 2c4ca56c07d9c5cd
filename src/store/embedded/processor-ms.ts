import { readFileSync } from 'node:fs'

/** Linux tells times of processes in hundredths of a second, on every machine. */
const tickMs = 10
/** Places of `utime` and `stime` behind the name, which is in brackets and may have any characters (proc_pid_stat(5)). */
const userPlace = 11
const systemPlace = 12

/** Processor time that a process has used with all of its threads; null where the system does not tell, or the process is gone. */
export function processorMs(pid: number): number | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = Number(fields[userPlace]) + Number(fields[systemPlace])
    return Number.isNaN(ticks) ? null : ticks * tickMs
  } catch {
    // Neither is a fault: not every system has these files, and a process may end at any time.
    return null
  }
}
