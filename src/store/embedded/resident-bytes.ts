import { readFileSync } from 'node:fs'
import { kibibyte } from '../../shared/bytes.ts'

/** The memory of a process; null where the system does not tell, or the process is gone. */
export function residentBytes(pid: number): number | null {
  try {
    const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    return kibibytes === undefined ? null : Number(kibibytes) * kibibyte
  } catch {
    // Neither is a fault: not every system has these files, and a process may end at any time.
    return null
  }
}
